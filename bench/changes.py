"""Badges after one more message, at three sizes of history.

    python -m bench.changes

The same scans at three sizes in one run: of a Hermes home while Hermes runs, after it closed, and of our own store.
What Hermes' plugin takes for it is measured by `bench.achievements`.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench import bytecode_cache, peer
from bench.achievements import GENERATOR, json_of
from bench.report import Bar, limit, save_result

SESSIONS = (83, 1000, 8564)
KINDS = {
    "changed": "one message more while Hermes runs",
    "changed_100": "a hundred messages more while Hermes runs",
    "own": "one message more in our own store",
    "changed_closed": "one message more, then Hermes closed",
}
FLAT = ("own",)  # our own store has a feed of changes: its cost must not grow with the history
MOST_MS = {"changed": 150, "changed_closed": 150}  # a Hermes home is listed and compared; at the largest size


def measure(sessions: int, hermes_python: str, folder: Path) -> dict[str, Any]:
    home, environment = folder / "home", bytecode_cache.build_environment(folder)
    made = json_of(
        [
            *(hermes_python, str(GENERATOR), "--home", str(home), "--sessions", str(sessions), "--seed", "changes"),
            *("--bytes-per-message", "300"),
        ]
    )
    part = [sys.executable, "-m", "bench.achievements", "--part", "ours", "--out", str(folder / "out.json"), "--home"]
    shutil.copytree(home, folder / "first")
    json_of([*part, str(folder / "first")], environment)  # compiles
    found = json_of([*part, str(home)], environment)
    own = json_of([sys.executable, "-m", "bench.badge_rescan", str(sessions), str(folder / "own")], environment)
    return {"messages": made["messages"], **found, "own": own["changed"]}


def main() -> None:
    hermes_python, found = str(peer.python()), {}
    for sessions in SESSIONS:
        with tempfile.TemporaryDirectory() as folder:
            found[sessions] = measure(sessions, hermes_python, Path(folder))
    bars = list[Bar]()
    for kind, name in KINDS.items():
        bars += [
            Bar(f"{name}, {sessions:,} sessions", one[kind] * 1000, None, "ms", None, "–", True)
            for sessions, one in found.items()
        ]
        if kind in MOST_MS:
            largest = found[SESSIONS[-1]][kind] * 1000
            bars.append(limit(f"{name}, at most", largest, "ms", most=MOST_MS[kind]))
        if kind in FLAT:
            growth = found[SESSIONS[-1]][kind] / found[SESSIONS[0]][kind]
            bars.append(limit(f"{name}: a hundred times the history takes", growth, "times as long", most=2))
    save_result("changes", bars, {str(sessions): one for sessions, one in found.items()})


if __name__ == "__main__":
    main()
