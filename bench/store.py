"""Our store against the peer's: the same rows, the same machine, the same run, turn by turn."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from bench import peer
from bench.report import Bar, bar, limit, save_result
from bench.sample_rows import CHINESE_WORD, COMMON

SIZE = 960
ROUNDS = 3
TURNS = 5  # of the quick part: a shared disk is not the same twice


def ours(**asked: Any) -> Any:
    done = subprocess.run(
        [sys.executable, "-m", "bench.sojourn_store", json.dumps(asked)],
        check=True,
        capture_output=True,
        text=True,
        cwd=peer.ROOT,
    )
    return json.loads(done.stdout.strip().splitlines()[-1])


def theirs(**asked: Any) -> Any:
    return peer.ask("peer_store.py", **asked)


def main() -> None:
    """About half an hour: filling the peer's store takes most of it."""
    folder = Path(tempfile.mkdtemp(prefix="sojourn-bench-"))
    try:
        save_result("store", big(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def fresh(folder: Path) -> list[Bar]:
    """Appends one by one to an empty store; median of turns taken one after the other."""
    rates: dict[str, list[float]] = {"ours": [], "theirs": [], "eight": [], "their eight": []}
    for turn in range(TURNS):
        for name, ask in (("ours", ours), ("theirs", theirs)):
            path = place(folder, f"fresh-{name}-{turn}")
            rates[name].append(ask(do="append", path=path, count=2000, size=SIZE)["per_second"])
        for name, ask in (("eight", ours), ("their eight", theirs)):
            path = place(folder, f"fresh-{name}-{turn}")
            rates[name].append(ask(do="append", path=path, count=4000, size=SIZE, together=8)["per_second"])
    middle = {name: statistics.median(values) for name, values in rates.items()}
    return [
        bar("appends, fresh store, one after the other", middle["ours"], middle["theirs"], "/s", at_least=2),
        bar("appends, fresh store, 8 sessions at once", middle["eight"], middle["their eight"], "/s", at_least=2),
    ]


def appends() -> None:
    """The quick part, two minutes: one by one on a fresh store."""
    folder = Path(tempfile.mkdtemp(prefix="sojourn-bench-"))
    try:
        save_result("appends", fresh(folder))
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def big(folder: Path) -> list[Bar]:
    """1,000 sessions of 120 messages: size, search, appends, four writers."""
    mine, other = place(folder, "big-ours"), place(folder, "big-theirs")
    filled = ours(do="fill", path=mine, sessions=1000, count=120, size=SIZE)
    their_fill = theirs(do="fill", path=other, sessions=1000, count=120, size=SIZE)
    per_byte, their_per_byte = filled["bytes"] / filled["text"], their_fill["bytes"] / their_fill["text"]
    words = [COMMON, CHINESE_WORD]
    found, their_found = (
        ours(do="search", path=mine, words=words, rounds=9),
        theirs(do="search", path=other, words=words, rounds=5),
    )
    # More than a thousand in a row: that is when the peer tidies its index, and everybody waits.
    rates = [ours(do="append", path=mine, count=2200, size=SIZE)["per_second"] for _ in range(ROUNDS)]
    their_rates = [theirs(do="append", path=other, count=2200, size=SIZE)["per_second"]]
    four, their_four = writers(ours, mine, 1050), writers(theirs, other, 1050)
    return [
        bar(
            "bytes on disk per byte of text, search included",
            per_byte,
            their_per_byte,
            "B/B",
            at_least=3,
            more_is_better=False,
        ),
        bar(
            f'search for a common word ("{COMMON}")',
            found[COMMON]["ms"],
            their_found[COMMON]["ms"],
            "ms",
            at_least=3,
            more_is_better=False,
        ),
        bar(
            f'search for a Chinese word ("{CHINESE_WORD}")',
            found[CHINESE_WORD]["ms"],
            their_found[CHINESE_WORD]["ms"],
            "ms",
            at_least=10,
            more_is_better=False,
        ),
        bar("appends, 120,000 messages", statistics.median(rates), statistics.median(their_rates), "/s", at_least=5),
        bar("appends, 4 writers, 120,000 messages", four["per_second"], their_four["per_second"], "/s", at_least=1),
        Bar("4 writers, theirs: lost rows", their_four["lost"], None, "", None, "–", True),
        Bar("4 writers, theirs: longest wait", their_four["stall"], None, "s", None, "–", True),
        limit("4 writers: errors", four["errors"], "", most=0),
        limit("4 writers: lost rows", four["lost"], "", most=0),
        limit("4 writers: longest wait", four["stall"], "s", most=1),
    ]


def writers(ask: Any, path: str, count: int) -> dict[str, float]:
    """Four processes append to one store at once."""
    with ThreadPoolExecutor(4) as pool:
        asked = [pool.submit(ask, do="append", path=path, count=count, size=SIZE, session=n) for n in range(4)]
        results = [one.result() for one in asked]
    return {
        "per_second": sum(one["per_second"] for one in results),
        "errors": sum(one["errors"] for one in results),
        "lost": sum(one["lost"] for one in results),
        "stall": max(one["stall"] for one in results),
    }


def million() -> None:
    """A million messages: no writer waits longer than a second."""
    folder = Path(tempfile.mkdtemp(prefix="sojourn-bench-"))
    try:
        path = place(folder, "million")
        ours(do="fill", path=path, sessions=100, count=120, size=SIZE)
        ours(do="multiply", path=path, times=84)
        four = writers(ours, path, 1050)
        save_result(
            "million",
            [
                Bar("appends, 4 writers, 1,000,000 messages", four["per_second"], None, "/s", None, "–", True),
                limit("errors", four["errors"], "", most=0),
                limit("lost rows", four["lost"], "", most=0),
                limit("longest wait", four["stall"], "s", most=1),
            ],
        )
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def place(folder: Path, name: str) -> str:
    (folder / name).mkdir()
    return str(folder / name / "state.db")


if __name__ == "__main__":
    million()
    main()
