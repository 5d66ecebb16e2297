"""Templates: mining a whole history, beside the achievements' cold scan of the same store, in the same run.

    python -m bench.templates [HERMES_HOME]

Without a home a history of 8,564 sessions is made first. Both sides start new processes, take turns, and the middle
run counts. A second mining reads only what changed: nothing, and one session.
"""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from bench import bytecode_cache, peer
from bench.report import Bar, limit, save_result
from sojourn.achievements.coordinator import ScanCoordinator
from sojourn.achievements.document_store import FolderStore
from sojourn.importers.hermes_history import HermesHistory
from sojourn.templates.miner import mine
from sojourn.templates.mining_cache import load_cache, save_cache
from sojourn.templates.verify import find_suggestions

ROUNDS = 5
SESSIONS = 8564
GENERATOR = Path(__file__).with_name("hermes_history.py")


def mining(home: Path, cache: Path) -> dict[str, Any]:
    """One process: everything from the rows to the suggestions."""
    history = HermesHistory(home)
    began = time.perf_counter()
    known = load_cache(cache)
    found = mine(history, known)
    read = time.perf_counter() - began
    if found.read:
        save_cache(cache, found.known)
    digests = {session: one for session, (_, one) in found.known.items()}
    made = find_suggestions(history, digests, [facts.id for facts in found.facts])
    whole = time.perf_counter() - began
    history.close()
    steps = sum(len(one.steps) for one in digests.values())
    return {
        "seconds": whole,
        "reading": read,
        "read": found.read,
        "sessions": len(found.facts),
        "steps": steps,
        "suggestions": len(made),
    }


def scanning(home: Path) -> dict[str, Any]:
    """One process: the achievements' cold scan."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        scans = ScanCoordinator(HermesHistory(home), FolderStore(Path(folder)))
        scans.run_if_needed(force=True, full=True, wait=3600)
        seconds = time.perf_counter() - began
        scans.close()
    return {"seconds": seconds}


def alone(what: str, home: Path, cache: Path) -> dict[str, Any]:
    """A measurement in a process of its own."""
    command = [sys.executable, "-m", "bench.templates", "--one", what, str(home), str(cache)]
    environment = bytecode_cache.build_environment(cache.parent)
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def main(given: Path | None) -> None:
    folder = Path(tempfile.mkdtemp(prefix="sojourn-bench-"))
    try:
        home = folder / "hermes"
        if given:
            home.mkdir()
            shutil.copyfile(given / "state.db", home / "state.db")
        else:
            made = ["--home", str(home), "--sessions", str(SESSIONS), "--seed", "1", "--bytes-per-message", "1200"]
            subprocess.run([peer.python(), GENERATOR, *made], check=True, capture_output=True)
        rounds = []
        alone("mine", home, folder / "first.json")  # compiles
        alone("scan", home, folder / "none")
        for number in range(ROUNDS):
            rounds.append((alone("mine", home, folder / f"{number}.json"), alone("scan", home, folder / "none")))
        cold = median(one["seconds"] for one, _ in rounds)
        scan = median(one["seconds"] for _, one in rounds)
        again = alone("mine", home, folder / "0.json")
        touch(home)
        one_more = alone("mine", home, folder / "0.json")
        assert again["read"] == 0
        assert one_more["read"] == 1
        first = rounds[0][0]
        bars = [
            Bar(
                "mining, cold; theirs: the achievements' cold scan",
                cold,
                scan,
                "s",
                scan / cold,
                "at most twice",
                cold <= 2 * scan,
            ),
            limit("mining again, nothing changed: sessions read", again["read"], "", most=0),
            limit("mining again, one session changed: sessions read", one_more["read"], "", most=1),
            Bar("mining again, nothing changed", again["seconds"], None, "s", None, "–", True),
        ]
        save_result("templates", bars, {"rounds": rounds, **first, "bytes": (home / "state.db").stat().st_size})
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def touch(home: Path) -> None:
    db = sqlite3.connect(home / "state.db")
    (session,) = db.execute("SELECT session_id FROM messages ORDER BY id DESC LIMIT 1").fetchone()
    insert = "INSERT INTO messages (session_id, role, content, timestamp) VALUES (?, 'user', 'more', ?)"
    db.execute(insert, (session, time.time()))
    db.commit()
    db.close()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        what, at, cached = sys.argv[2:5]
        print(json.dumps(mining(Path(at), Path(cached)) if what == "mine" else scanning(Path(at))))
    else:
        main(Path(sys.argv[1]) if len(sys.argv) > 1 else None)
