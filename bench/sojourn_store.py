"""The measurements of our store, in a process of its own; prints JSON. Counterpart of `peer_store`."""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from bench.sample_rows import Row, messages, text_bytes
from sojourn.core.errors import SojournError
from sojourn.core.messages import Message
from sojourn.core.sessions import OWNER, SessionId
from sojourn.ports.importer import Transcript
from sojourn.ports.store import SearchQuery
from sojourn.stores.sqlite import index
from sojourn.stores.sqlite.connect import connect
from sojourn.stores.sqlite.db import SqliteDb
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.text.redaction import no_redaction
from sojourn.text.tokenizer import TOKENIZER_VERSION


def make_message(row: Row) -> Message:
    return Message(role=row[0], content=row[1], tool_calls=row[2], tool_call_id=row[3], tool_name=row[4])


async def fill(path: str, sessions: int, count: int, size: int, first: int = 0) -> dict[str, Any]:
    """Fills a store through the import door, and makes it searchable."""
    store, text, begun = SqliteStore(Path(path)), 0, time.perf_counter()
    for start in range(first, first + sessions, 50):
        batch = []
        for number in range(start, min(start + 50, first + sessions)):
            rows = list(messages(number, count, size))
            text += sum(map(text_bytes, rows))
            fields = {"source": "cli", "started_at": 1.0 + number}
            transcript = Transcript(
                native_id=f"bench_{number:06}", fields=fields, messages=[make_message(row) for row in rows]
            )
            batch.append(("1", transcript))
        await store.ingest("bench", "bench", batch, principal=OWNER)
    await store.index(lambda done, of: None)
    await store.close()
    return {
        "seconds": time.perf_counter() - begun,
        "text": text,
        "bytes": sum(file.stat().st_size for file in Path(path).parent.glob(Path(path).name + "*")),
    }


async def multiply(path: str, times: int) -> dict[str, Any]:
    """Copies every session so many times, index included: a big store in a minute."""
    store = SqliteStore(Path(path))
    await store.health()
    await store.close()
    db = connect(Path(path), read_only=False)
    dress, begun = SqliteDb(db, no_redaction), time.perf_counter()
    top = db.execute("SELECT max(id) FROM messages").fetchone()[0]
    terms = index.read_rows(dress, 0, limit=top)
    names = {table: [row[1] for row in db.execute(f"PRAGMA table_info({table})")] for table in ("sessions", "messages")}
    for copy in range(1, times):
        db.execute("BEGIN IMMEDIATE")
        shown = ", ".join(f"id || '_{copy}'" if n == "id" else "NULL" if n == "title" else n for n in names["sessions"])
        db.execute(f"INSERT INTO sessions SELECT {shown} FROM sessions WHERE instr(substr(id, 13), '_') = 0")
        change = {"id": f"id + {copy * top}", "session_id": f"session_id || '_{copy}'"}
        shown = ", ".join(change.get(n, n) for n in names["messages"])
        db.execute(f"INSERT INTO messages SELECT {shown} FROM messages WHERE id <= {top}")
        rows = ((number + copy * top, words) for number, words in terms)
        db.executemany("INSERT INTO search_index(rowid, terms) VALUES (?, ?)", rows)
        db.execute("UPDATE meta SET value = ? WHERE key = 'indexed_to'", (f"{TOKENIZER_VERSION}:{(copy + 1) * top}",))
        db.execute("COMMIT")
    count = db.execute("SELECT count(*) FROM messages").fetchone()[0]
    db.close()
    return {"seconds": time.perf_counter() - begun, "messages": count}


async def append(path: str, count: int, size: int, session: int = 990_000, together: int = 1) -> dict[str, Any]:
    """Appends one by one, each on disk before the next; the longest wait is the stall."""
    store = SqliteStore(Path(path))
    await store.health()
    names = [f"bench_{session:06}_{os.getpid()}_{number}" for number in range(together)]
    rows = [[make_message(row) for row in messages(session, count // together, size)] for _ in names]
    for name in names:
        await store.create(id=SessionId(name))
    begun = time.perf_counter()
    results = await asyncio.gather(*(_append(store, name, some) for name, some in zip(names, rows, strict=True)))
    seconds = time.perf_counter() - begun
    await store.close()
    lost = sum(result["lost"] for result in results)
    return {
        "per_second": count / seconds,
        "errors": sum(result["errors"] for result in results),
        "lost": lost,
        "stall": max(result["stall"] for result in results),
        "synchronous": 2,
    }


async def _append(store: SqliteStore, name: str, rows: list[Message]) -> dict[str, Any]:
    lease = await store.lease(SessionId(name), holder="bench", surface="cli", seconds=3600)
    waits, errors = [], 0
    for row in rows:
        at = time.perf_counter()
        try:
            await store.append(lease, [row])
        except SojournError:
            errors += 1
        waits.append(time.perf_counter() - at)
    kept = (await store.get(SessionId(name))).message_count
    return {"errors": errors, "lost": len(rows) - kept, "stall": max(waits)}


async def search(path: str, words: list[str], rounds: int) -> dict[str, Any]:
    store, found = SqliteStore(Path(path)), {}
    for word in words:
        times = []
        for _ in range(rounds):
            at = time.perf_counter()
            hits = await store.search(SearchQuery(text=word, limit=20))
            times.append(time.perf_counter() - at)
        found[word] = {"ms": statistics.median(times) * 1000, "hits": len(hits)}
    await store.close()
    return found


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    print(json.dumps(asyncio.run(globals()[asked.pop("do")](**asked))))
