"""Times a badge scan after one more message in our own store. `achievements` and `changes` run it as a process."""

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
    """The median time of a scan after one more message, with as many sessions of ten messages each."""
    folder.mkdir()
    store = SqliteStore(folder / "state.db")
    for first in range(0, sessions, 500):
        transcripts = [
            make_transcript(f"s{number}", *["word"] * 10) for number in range(first, min(first + 500, sessions))
        ]
        await ingest(store, *transcripts)
    await store.index()  # else it would run in the background while we measure
    scans, durations = ScanCoordinator(store.history(), FolderStore(folder / "scans")), []
    await asyncio.to_thread(scans.run_if_needed, force=True, wait=3600)
    session = await begin(store, "first")
    for _ in range(CHANGES):
        await say(store, session, "error")
        start = time.perf_counter()
        await asyncio.to_thread(scans.run_if_needed, force=True, wait=3600)
        durations.append(time.perf_counter() - start)
    scans.close()
    await store.close()
    return sorted(durations)[CHANGES // 2]


if __name__ == "__main__":
    print(json.dumps({"changed": asyncio.run(measure(int(sys.argv[1]), Path(sys.argv[2])))}))
