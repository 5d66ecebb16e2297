"""How soon another process sees what was kept, and what waiting costs."""

from __future__ import annotations

import asyncio
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.peer import ROOT
from bench.report import limit, save_result
from sojourn.core.messages import Message, user
from sojourn.core.sessions import SessionId
from sojourn.stores.sqlite.store import SqliteStore

COUNT = 500


async def watcher(place: str, session: str, count: int) -> None:
    """The other process: waits idle for a while, then notes when each message arrives."""
    store = SqliteStore(Path(place))
    seen = store.watch(SessionId(session))
    print("ready", flush=True)
    first = asyncio.ensure_future(anext(seen))
    await asyncio.sleep(1.0)
    cpu, begun = time.process_time(), time.monotonic()
    await asyncio.sleep(5.0)
    idle = (time.process_time() - cpu) / (time.monotonic() - begun)
    print("idle", flush=True)
    delays = []
    item = await first
    for _ in range(count):
        assert isinstance(item.item, Message)
        delays.append(time.time() - float(item.item.content or 0))
        if len(delays) < count:
            item = await anext(seen)
    await seen.aclose()
    await store.close()
    print(json.dumps({"delays": delays, "idle": idle}), flush=True)


async def main() -> None:
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as folder:
        place = Path(folder) / "state.db"
        store = SqliteStore(place)
        session = await store.create()
        lease = await store.lease(session.id, holder="bench", surface="cli", seconds=600)
        command = [sys.executable, "-m", "bench.watch", str(place), session.id, str(COUNT)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)  # noqa: ASYNC220
        assert process.stdout
        for _ in ("ready", "idle"):
            await asyncio.to_thread(process.stdout.readline)
        for _ in range(COUNT):
            await store.append(lease, [user(repr(time.time()))])
            await asyncio.sleep(0.02)
        said = json.loads(await asyncio.to_thread(process.stdout.readline))
        process.wait()
        await store.close()
    delays = sorted(delay * 1000 for delay in said["delays"])
    save_result(
        "watch",
        [
            limit("seen by another process, median", statistics.median(delays), "ms", most=20),
            limit("seen by another process, 99 of 100", delays[int(len(delays) * 0.99)], "ms", most=100),
            limit("CPU while waiting", said["idle"] * 100, "%", most=1),
        ],
        {"messages": COUNT, "includes": "the commit itself: the clock starts before the append"},
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        asyncio.run(watcher(sys.argv[1], sys.argv[2], int(sys.argv[3])))
    else:
        asyncio.run(main())
