"""Achievements: Hermes' own plugin and ours, on the same generated history, in the same run.

    python -m bench.achievements --sessions 83 1000 8564

Makes the histories in a temporary folder, checks that every number is the same, and writes a table, the raw
results and a plot to `bench/results/`. The plugin of Hermes is run from its package as it is.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from math import log10
from pathlib import Path
from typing import Any

from bench import bytecode_cache, peer, report
from sojourn.achievements.coordinator import ScanCoordinator
from sojourn.achievements.document_store import FolderStore
from sojourn.achievements.snapshot import build_session_rows
from sojourn.importers.hermes_history import HermesHistory

ROOT = Path(__file__).resolve().parents[1]
GENERATOR = ROOT / "bench" / "hermes_history.py"
COMPARED = (
    *("state", "unlocked", "discovered", "tier", "next_tier", "progress", "next_threshold", "progress_pct"),
    "evidence",
)
ROUNDS = 5
CHANGES = 9  # more messages are said this often, and the middle is told
# Bytes per message that make the histories as large as the ones our bars were set on.
SIZES = {83: 2500.0, 1000: 1500.0, 8564: 1200.0}

THEIRS = """
import glob, importlib.util, json, os, resource, sqlite3, sys, time
home, out = sys.argv[1:3]
os.environ["HERMES_HOME"] = home
base = os.path.dirname(importlib.util.find_spec("hermes_state").origin)
path = glob.glob(base + "/**/hermes-achievements/dashboard/plugin_api.py", recursive=True)[0]
spec = importlib.util.spec_from_file_location("theirs", path)
plugin = importlib.util.module_from_spec(spec)
spec.loader.exec_module(plugin)
def timed():
    begin = time.perf_counter()
    found = plugin.evaluate_all(force=True)
    return time.perf_counter() - begin, found
cold, found = timed()
memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
warm = min(timed()[0] for _ in range(3))
db = sqlite3.connect(home + "/state.db")
session, = db.execute("SELECT session_id FROM messages ORDER BY id DESC LIMIT 1").fetchone()
insert = "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, 'user', 'error', ?)"
db.execute(insert, (session, time.time()))
db.commit()
db.close()
changed = timed()[0]
json.dump(found, open(out, "w"), default=sorted)
print(json.dumps({"cold": cold, "warm": warm, "changed": changed, "memory": memory}))
"""


def ours(home: Path, out: Path) -> dict[str, float]:
    """One fresh process of ours: cold, nothing changed, and more messages, while Hermes runs and after it closed."""

    def timed() -> float:
        begin = time.perf_counter()
        scans.run_if_needed(force=True, wait=3600)
        return time.perf_counter() - begin

    with tempfile.TemporaryDirectory() as folder, _MemoryWatch() as memory:
        scans = ScanCoordinator(HermesHistory(home), FolderStore(Path(folder)))
        askers = [threading.Thread(target=scans.run_if_needed, kwargs={"wait": 3600}) for _ in range(20)]
        begin = time.perf_counter()
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join()
        cold = time.perf_counter() - begin
        peak = memory.peak
        status = scans.get_status()
        warm = min(timed() for _ in range(5))
        found = dict(scans.snapshots.get() or {})
        found["sessions"] = build_session_rows(scans.book, scans.records, scans.history.previews)
        out.write_text(json.dumps(found))
        with _Hermes(home) as hermes:
            more = {"settled": timed()}  # the first look since it is open
            for name, messages in {"changed": 1, "changed_100": 100}.items():
                more[name] = _middle([timed() for _ in range(CHANGES) if hermes.says(messages)])
        after = []
        for _ in range(CHANGES):
            with _Hermes(home) as hermes:
                hermes.says(1)
            after.append(timed())
        scans.close()
    return {
        "cold": cold,
        "warm": warm,
        **more,
        "changed_closed": _middle(after),
        "memory": peak,
        "joined": status["dedupe_hits"],
        "scans": status["run_count"],
    }


def reading(home: Path) -> dict[str, float]:
    """The floor: the same rows, read session by session and thrown away."""
    db = sqlite3.connect(f"file:{home}/state.db?mode=ro", uri=True)
    sessions = [row[0] for row in db.execute("SELECT id FROM sessions WHERE archived = 0")]
    question = (
        "SELECT role, content, tool_calls, tool_name FROM messages WHERE session_id = ? AND active = 1 ORDER BY id"
    )
    begin = time.perf_counter()
    for session in sessions:
        db.execute(question, (session,)).fetchall()
    seconds = time.perf_counter() - begin
    text = db.execute("SELECT SUM(LENGTH(CAST(content AS BLOB))) FROM messages").fetchone()[0]
    return {"seconds": seconds, "text_mb": text / 1e6}


class _Hermes:
    """Keeps its database open while it runs, as Hermes does, and says something in its newest session."""

    def __init__(self, home: Path) -> None:
        self._path = home / "state.db"

    def __enter__(self) -> _Hermes:
        self._db = sqlite3.connect(self._path)
        self._db.execute("SELECT COUNT(*) FROM sessions").fetchone()
        return self

    def __exit__(self, *_: object) -> None:
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        self._db.close()

    def says(self, messages: int) -> bool:
        (session,) = self._db.execute("SELECT session_id FROM messages ORDER BY id DESC LIMIT 1").fetchone()
        insert = "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, 'user', 'error', ?)"
        for _ in range(messages):
            self._db.execute(insert, (session, time.time()))
            self._db.execute("UPDATE sessions SET message_count = message_count + 1 WHERE id = ?", (session,))
            self._db.commit()
        return True


def _middle(values: list[float]) -> float:
    return sorted(values)[len(values) // 2]


class _MemoryWatch:
    """The largest sum of resident memory of this process and its children, in MB."""

    def __init__(self) -> None:
        self.peak = 0.0
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> _MemoryWatch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(0.05):
            self.peak = max(self.peak, sum(_resident(pid) for pid in _family(os.getpid())))


def _family(pid: int) -> list[int]:
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += [one for child in task.read_text().split() for one in _family(int(child))]
        except OSError:
            continue
    return found


def _resident(pid: int) -> float:
    try:
        for line in Path(f"/proc/{pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    return 0.0


# -- one size --------------------------------------------------------------------


def measure(sessions: int, hermes_python: str, seed: str, folder: Path) -> dict[str, Any]:
    home = folder / "home"
    made = json_of(
        [
            *(hermes_python, str(GENERATOR), "--home", str(home), "--sessions", str(sessions), "--seed", seed),
            *("--bytes-per-message", str(SIZES.get(sessions, 1500.0))),
        ]
    )
    theirs_home = folder / "theirs"
    shutil.copytree(home, theirs_home, dirs_exist_ok=True)
    part = [sys.executable, "-m", "bench.achievements", "--out", str(folder / "ours.json"), "--part"]
    environment = bytecode_cache.build_environment(folder)
    json_of([*part, "ours", "--home", str(_copy(home, folder / "first"))], environment)  # compiles
    floors, mine = list[dict[str, Any]](), list[dict[str, Any]]()
    for number in range(ROUNDS):  # turn by turn: this machine is not the same twice
        place = _copy(home, folder / f"ours{number}")
        floors.append(json_of([*part, "reading", "--home", str(place)], environment))
        mine.append(json_of([*part, "ours", "--home", str(place)], environment))
        shutil.rmtree(place)
    floor = sorted(floors, key=lambda one: one["seconds"])[ROUNDS // 2]
    middle = sorted(mine, key=lambda one: one["cold"])[ROUNDS // 2]
    theirs = json_of([hermes_python, "-c", THEIRS, str(theirs_home), str(folder / "theirs.json")], environment)
    differences = compare(folder / "theirs.json", folder / "ours.json")
    in_ours = json_of([sys.executable, "-m", "bench.badge_rescan", str(sessions), str(folder / "own")], environment)
    return {
        "sessions": made["sessions"],
        "messages": made["messages"],
        "tool_calls": made["tool_calls"],
        "text_mb": floor["text_mb"],
        "reading": floor["seconds"],
        "theirs": theirs,
        "ours": middle,
        "own": in_ours,
        "differences": differences,
        "rows_blake2b": made["rows_blake2b"],
    }


def _copy(home: Path, to: Path) -> Path:
    shutil.copytree(home, to, dirs_exist_ok=True)
    return to


def json_of(command: list[str], environment: dict[str, str] | None = None) -> dict[str, Any]:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:3])} failed:\n{done.stderr[-2000:]}")
    found: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return found


def compare(theirs_file: Path, ours_file: Path) -> int:
    """In how many numbers the two differ."""
    theirs, mine = json.loads(theirs_file.read_text()), json.loads(ours_file.read_text())
    rows = {row["session_id"]: row for row in mine["sessions"]}
    count: int = 0
    for row in theirs["sessions"]:
        ours_row = rows.get(row["session_id"], {})
        count += sum(ours_row.get(key) != value for key, value in row.items())
    count += sum(mine["aggregate"].get(key) != value for key, value in theirs["aggregate"].items())
    badges = {badge["id"]: badge for badge in mine["achievements"]}
    for badge in theirs["achievements"]:
        count += sum(badge.get(key) != badges[badge["id"]].get(key) for key in COMPARED)
    return count


# -- the report --------------------------------------------------------------------


def table(results: list[dict[str, Any]]) -> str:
    lines = [
        "| | " + " | ".join(f"{one['sessions']:,} sessions" for one in results) + " |",
        "|---|" + "---:|" * len(results),
    ]

    def line(name: str, value: Any) -> None:
        lines.append(f"| {name} | " + " | ".join(value(one) for one in results) + " |")

    line("messages", lambda one: f"{one['messages']:,}")
    line("tool calls", lambda one: f"{one['tool_calls']:,}")
    line("text", lambda one: f"{one['text_mb']:.0f} MB")
    line("cold, Hermes' plugin", lambda one: f"{one['theirs']['cold']:.1f} s")
    line("cold, ours", lambda one: f"{one['ours']['cold']:.2f} s")
    line("**cold, how much faster**", lambda one: f"**{one['theirs']['cold'] / one['ours']['cold']:.0f}×**")
    line("merely reading the rows", lambda one: f"{one['reading']:.2f} s")
    line("cold, ours in readings", lambda one: f"{one['ours']['cold'] / one['reading']:.1f}×")
    line("nothing changed, Hermes' plugin", lambda one: f"{one['theirs']['warm'] * 1000:.0f} ms")
    line("nothing changed, ours", lambda one: f"{one['ours']['warm'] * 1000:.1f} ms")
    line("**nothing changed, how much faster**", lambda one: f"**{one['theirs']['warm'] / one['ours']['warm']:.0f}×**")
    line("one message more, Hermes' plugin", lambda one: f"{one['theirs']['changed'] * 1000:.0f} ms")
    line("**one message more, ours**", lambda one: f"**{one['ours']['changed'] * 1000:.1f} ms**")
    line("a hundred messages more, ours", lambda one: f"{one['ours']['changed_100'] * 1000:.1f} ms")
    line(
        "one message more, Hermes closed meanwhile, ours", lambda one: f"{one['ours']['changed_closed'] * 1000:.0f} ms"
    )
    line("one message more, in our own store", lambda one: f"{one['own']['changed'] * 1000:.1f} ms")
    line("peak memory, Hermes' plugin", lambda one: f"{one['theirs']['memory']:.0f} MB")
    line("peak memory, ours (all processes)", lambda one: f"{one['ours']['memory']:.0f} MB")
    line("20 callers at once: scans made", lambda one: f"{one['ours']['scans']}")
    line("20 callers at once: callers that joined", lambda one: f"{one['ours']['joined']}")
    line("numbers that differ (fields, totals, badges)", lambda one: str(one["differences"]))
    return "\n".join(lines)


def plot(results: list[dict[str, Any]]) -> str:
    """The growth curve as SVG: seconds over sessions, both logarithmic."""
    series: dict[str, tuple[str, Callable[[dict[str, Any]], float]]] = {
        "Hermes' plugin": ("#d9534f", lambda one: one["theirs"]["cold"]),
        "Sojourn": ("#2a9d8f", lambda one: one["ours"]["cold"]),
        "merely reading": ("#888888", lambda one: one["reading"]),
    }
    values = [get(one) for _, get in series.values() for one in results]
    left, right = log10(min(one["sessions"] for one in results)), log10(max(one["sessions"] for one in results))
    low, high = log10(min(values)), log10(max(values))

    def place(sessions: float, seconds: float) -> tuple[float, float]:
        x = 70 + 520 * (log10(sessions) - left) / max(right - left, 1e-9)
        return x, 330 - 280 * (log10(seconds) - low) / max(high - low, 1e-9)

    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 380" font-family="sans-serif" font-size="12">']
    parts.append('<rect width="760" height="380" fill="white"/>')
    for one in results:
        x, _ = place(one["sessions"], min(values))
        parts.append(f'<text x="{x:.0f}" y="360" text-anchor="middle">{one["sessions"]:,} sessions</text>')
    for name, (colour, get) in series.items():
        points = [place(one["sessions"], get(one)) for one in results]
        line = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2"/>')
        for (x, y), one in zip(points, results, strict=True):
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>')
            label = f"{get(one):.2f} s"
            parts.append(f'<text x="{x:.1f}" y="{y - 8:.1f}" text-anchor="middle" fill="{colour}">{label}</text>')
        x, y = points[-1]
        parts.append(f'<text x="{x + 24:.0f}" y="{y + 4:.0f}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--hermes-python", help="a Python that has hermes-agent 0.19 (else scripts/peer makes one)")
    asked.add_argument("--sessions", type=int, nargs="+", default=[83, 1000])
    asked.add_argument("--seed", default="bench")
    asked.add_argument("--results", type=Path, default=ROOT / "bench" / "results")
    asked.add_argument("--part", choices=["ours", "reading"], help=argparse.SUPPRESS)
    asked.add_argument("--home", type=Path, help=argparse.SUPPRESS)
    asked.add_argument("--out", type=Path, help=argparse.SUPPRESS)
    args = asked.parse_args()
    if args.part == "reading":
        print(json.dumps(reading(args.home)))
        return
    if args.part == "ours":
        print(json.dumps(ours(args.home, args.out)))
        return
    hermes_python = args.hermes_python or str(peer.python())
    results = []
    for sessions in args.sessions:
        with tempfile.TemporaryDirectory() as folder:
            results.append(measure(sessions, hermes_python, args.seed, Path(folder)))
        print(table(results), flush=True)
    text = f"Cold and reading: the middle of {ROUNDS} runs of ours, one of theirs.\n\n{table(results)}"
    report.save_files("achievements", {"results": results}, text, args.results)
    (args.results / "achievements.svg").write_text(plot(results))
    self_memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"written to {args.results} ({self_memory:.0f} MB used by this script)")


if __name__ == "__main__":
    main()
