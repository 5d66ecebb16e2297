"""The same measurements of the peer's store, run by the peer's interpreter; prints JSON."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))
from sample_rows import messages, text_bytes  # type: ignore[import-not-found]

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


def append(path: str, count: int, size: int, session: int = 990_000, together: int = 1) -> dict[str, Any]:
    """Appends one by one, each committed; the longest wait is the stall."""
    db = SessionDB(Path(path))
    names = [f"bench_{session:06}_{os.getpid()}_{number}" for number in range(together)]
    for name in names:
        db.create_session(name, "cli")
    rows = [list(messages(session, count // together, size)) for _ in names]
    begun = time.perf_counter()
    with ThreadPoolExecutor(together) as pool:
        done = list(pool.map(lambda name, some: _append(db, name, some), names, rows))
    seconds = time.perf_counter() - begun
    mode = db._conn.execute("PRAGMA synchronous").fetchone()[0]
    db.close()
    return {
        "per_second": count / seconds,
        "errors": sum(one["errors"] for one in done),
        "synchronous": mode,
        "lost": sum(one["lost"] for one in done),
        "stall": max(one["stall"] for one in done),
    }


def _append(db: Any, name: str, rows: list[Any]) -> dict[str, Any]:
    waits, errors = [], 0
    for row in rows:
        at = time.perf_counter()
        try:
            put(db, name, row)
        except Exception:  # noqa: BLE001  it is counted
            errors += 1
        waits.append(time.perf_counter() - at)
    return {"errors": errors, "lost": len(rows) - len(db.get_messages(name)), "stall": max(waits)}


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
