"""Bringing in a Hermes history of most of a gigabyte, twice; and while Hermes goes on writing."""

from __future__ import annotations

import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path
from typing import Any

from bench import peer
from bench.report import Bar, at_least, limit, save_result

SESSIONS = 1000
MB_PER_CPU_SECOND = 12


def main(given: Path | None) -> None:
    """On a history made here (ten minutes), or on a copy of the one in a given Hermes home."""
    folder = Path(tempfile.mkdtemp(prefix="sojourn-bench-"))
    try:
        hermes = folder / "hermes"
        hermes.mkdir()
        if given:
            shutil.copyfile(given / "state.db", hermes / "state.db")
        else:
            rows = {"sessions": SESSIONS, "count": 120, "size": 960}
            peer.ask("peer_store.py", do="fill", path=str(hermes / "state.db"), **rows)
        size, text = (hermes / "state.db").stat().st_size, count_text(hermes / "state.db")
        with closing(sqlite3.connect(hermes / "state.db")) as connection:
            sessions = connection.execute("SELECT count(*) FROM sessions").fetchone()[0]
        begun = measure_cpu()
        first = bring_in(folder, hermes)
        between = measure_cpu()
        second = bring_in(folder, hermes)
        cpu, cpu_again = between - begun, measure_cpu() - between
        bars = [
            Bar(f"first import of {sessions:,} sessions", first, None, "s", None, "–", True),
            at_least("text in a second of CPU, all processes", text / 1e6 / cpu, "MB", least=MB_PER_CPU_SECOND),
            limit("second import: CPU, share of the first", cpu_again / cpu * 100, "%", most=3),
            *while_writing(folder, hermes),
        ]
        save_result("imports", bars, {"bytes": size, "text": text, "second": second, "cpu": cpu, "again": cpu_again})
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure_cpu() -> float:
    """Seconds of all child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def count_text(path: Path) -> int:
    """Bytes of what the messages say and call."""
    parts = " + ".join(f"COALESCE(length(CAST({name} AS BLOB)), 0)" for name in ("content", "tool_calls", "tool_name"))
    with closing(sqlite3.connect(path)) as connection:
        return int(connection.execute(f"SELECT sum({parts}) FROM messages").fetchone()[0])


def bring_in(folder: Path, hermes: Path) -> float:
    sojourn = Path(sys.executable).with_name("sojourn")
    environment = os.environ | {"SOJOURN_HOME": str(folder / "home"), "HOME": str(folder)}
    begun = time.perf_counter()
    subprocess.run([sojourn, "import", hermes, "--yes"], check=True, capture_output=True, env=environment)
    return time.perf_counter() - begun


def while_writing(folder: Path, hermes: Path) -> list[Bar]:
    """Hermes' own longest wait while we read all of its store."""
    alone = _append(hermes)
    shutil.rmtree(folder / "home")
    reading = subprocess.Popen(
        [
            sys.executable,
            "-c",
            f"from bench.imports import bring_in; from pathlib import Path; "
            f"bring_in(Path({str(folder)!r}), Path({str(hermes)!r}))",
        ],
        cwd=peer.ROOT,
    )
    waits: list[Any] = []
    while reading.poll() is None:
        waits.append(_append(hermes))
    return [
        limit("Hermes while we import: errors and lost rows", sum(w["errors"] + w["lost"] for w in waits), "", most=0),
        Bar("Hermes alone: longest wait", alone["stall"], None, "s", None, "–", True),
        limit("Hermes while we import: longest wait", max(w["stall"] for w in waits), "s", most=1.0 + alone["stall"]),
    ]


def _append(hermes: Path) -> Any:
    return peer.ask("peer_store.py", do="append", path=str(hermes / "state.db"), count=300, size=960)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
