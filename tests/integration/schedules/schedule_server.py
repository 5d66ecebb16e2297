"""A server's schedules as a process of their own, whose clock is told: one look for each line `TIME` on standard input.

python schedule_server.py HOME [POSTGRES_URL]
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from sojourn.schedules.runner import ScheduleRunner
from sojourn.service.local import LocalService
from sojourn.stores.postgres.store import PostgresStore
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.testing.app import FakeApp, make_settings
from sojourn.testing.scripted_runtime import ScriptedRuntime


async def serve(home: Path, url: str = "") -> None:
    app = FakeApp(
        store=PostgresStore(url) if url else SqliteStore(home / "state.db"),
        settings=make_settings(home, agent_titles=False),
        runtimes=[ScriptedRuntime()],
        make_service=LocalService,
    )
    clock = 0.0
    runner = ScheduleRunner(app.service, app.store, now=lambda: clock)
    await runner.book.list_schedules()  # opens the store
    print("ready", flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        clock = float(line)
        await runner.tick()
        await runner.settle()
        print("looked", flush=True)
    await app.close()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1]), *sys.argv[2:]))
