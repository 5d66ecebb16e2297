"""Runs inside the peer's venv: the same rows through its own store. Answers in JSON."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from rows import messages, text_bytes

os.environ.setdefault("HERMES_HOME", "/nonexistent")
from hermes_state import SessionDB  # type: ignore[import-not-found]


def put(db: Any, session: str, row: Any) -> None:
    role, content, calls, call_id, tool = row
    db.append_message(
        session, role, content, tool_calls=json.loads(calls) if calls else None, tool_call_id=call_id, tool_name=tool
    )


def fill(path: str, sessions: int, count: int, size: int, first: int = 0) -> dict[str, Any]:
    """Fills a store without waiting for the disk; what is measured later waits."""
    db, text, begun = SessionDB(Path(path)), 0, time.perf_counter()
    db._conn.execute("PRAGMA synchronous = OFF")
    for number in range(first, first + sessions):
        name = f"bench_{number:06}"
        db.create_session(name, "cli")
        for row in messages(number, count, size):
            put(db, name, row)
            text += text_bytes(row)
    db.close()
    return {
        "seconds": time.perf_counter() - begun,
        "text": text,
        "bytes": sum(f.stat().st_size for f in Path(path).parent.glob(Path(path).name + "*")),
    }


def append(path: str, count: int, size: int, session: int = 990_000) -> dict[str, Any]:
    """Appends one by one, each committed; the longest wait is the stall."""
    db = SessionDB(Path(path))
    name = f"bench_{session:06}_{os.getpid()}"
    db.create_session(name, "cli")
    rows = list(messages(session, count, size))
    waits, errors = [], 0
    begun = time.perf_counter()
    for row in rows:
        at = time.perf_counter()
        try:
            put(db, name, row)
        except Exception:  # noqa: BLE001  it is counted
            errors += 1
        waits.append(time.perf_counter() - at)
    seconds = time.perf_counter() - begun
    mode = db._conn.execute("PRAGMA synchronous").fetchone()[0]
    kept = db._conn.execute("SELECT count(*) FROM messages WHERE session_id = ?", (name,)).fetchone()[0]
    db.close()
    return {
        "per_second": count / seconds,
        "errors": errors,
        "lost": count - kept,
        "stall": max(waits),
        "synchronous": mode,
    }


def search(path: str, words: list[str], rounds: int) -> dict[str, Any]:
    db, found = SessionDB(Path(path)), {}
    for word in words:
        times = []
        for _ in range(rounds):
            at = time.perf_counter()
            hits = db.search_messages(word, limit=20)
            times.append(time.perf_counter() - at)
        found[word] = {"ms": statistics.median(times) * 1000, "hits": len(hits)}
    db.close()
    return found


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    print(json.dumps(globals()[asked.pop("do")](**asked)))
