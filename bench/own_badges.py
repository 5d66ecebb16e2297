"""Achievements: one message more in our own store. A part of `bench.achievements`, in a process of its own."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from pathlib import Path

from sojourn.achievements.coordinator import ScanCoordinator
from sojourn.achievements.document_store import FolderStore
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.testing.store_steps import begin, ingest, make_transcript, say

CHANGES = 9


async def measure(sessions: int, folder: Path) -> float:
    """The middle of some scans, each after one message more, among as many sessions of ten messages each."""
    folder.mkdir()
    store = SqliteStore(folder / "state.db")
    for first in range(0, sessions, 500):
        some = [make_transcript(f"s{number}", *["word"] * 10) for number in range(first, min(first + 500, sessions))]
        await ingest(store, *some)
    await store.index()  # which would go on in the background
    scans, taken = ScanCoordinator(store.history(), FolderStore(folder / "scans")), []
    await asyncio.to_thread(scans.run_if_needed, force=True, wait=3600)
    session = await begin(store, "first")
    for _ in range(CHANGES):
        await say(store, session, "error")
        start = time.perf_counter()
        await asyncio.to_thread(scans.run_if_needed, force=True, wait=3600)
        taken.append(time.perf_counter() - start)
    scans.close()
    await store.close()
    return sorted(taken)[CHANGES // 2]


if __name__ == "__main__":
    print(json.dumps({"changed": asyncio.run(measure(int(sys.argv[1]), Path(sys.argv[2])))}))
