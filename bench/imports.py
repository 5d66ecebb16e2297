"""Bringing in a Hermes history of about a gigabyte, twice; and while Hermes goes on writing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench import peer
from bench.report import Bar, limit, save_result

SESSIONS = 1150


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
        size = (hermes / "state.db").stat().st_size
        first, second = bring_in(folder, hermes), bring_in(folder, hermes)
        bars = [
            Bar("first import", first, None, "s", None, "–", True),
            limit("second import, share of the first", second / first * 100, "%", most=3),
            *while_writing(folder, hermes),
        ]
        save_result("imports", bars, {"bytes": size, "second": second})
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
