"""A process that appends as fast as it can and says, after each one, what was acknowledged.

    python writers.py sqlite|postgres PLACE NAME

One line per acknowledged append on standard output: `<seq> <number>`. It is killed from outside.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

from sojourn.core.errors import SojournError
from sojourn.core.messages import user
from sojourn.core.sessions import SessionId


def open_store(kind: str, place: str) -> Any:
    if kind == "sqlite":
        from sojourn.stores.sqlite.store import SqliteStore

        return SqliteStore(Path(place))
    from sojourn.stores.postgres.store import PostgresStore

    return PostgresStore(place)


async def main(kind: str, place: str, name: str) -> None:
    store, session = open_store(kind, place), SessionId(name)
    number = 0
    while True:  # the database may be down: an append that fails is not acknowledged, and tried no more
        try:
            lease = await store.lease(session, holder=f"writer {name}", surface="test", seconds=0.05)
            while True:
                number += 1
                kept = await store.append(lease, [user(f"{name} wrote {number} " + "x" * (number % 700))])
                sys.stdout.write(f"{kept[0].seq} {number}\n")
                sys.stdout.flush()
        except SojournError:
            await asyncio.sleep(0.02)


asyncio.run(main(*sys.argv[1:4]))
