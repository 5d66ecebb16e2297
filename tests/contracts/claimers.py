"""A gateway in small, as a process of its own: claims, answers, finishes, and says what it did. Killed from outside.

    python claimers.py sqlite|postgres PLACE NAME

Lines on standard output: `claimed ID FENCE PLACE`, `done ID`, `sending ID FENCE`, `sent ID`.
"""

import asyncio
import sys
from pathlib import Path
from typing import Any

from sojourn.ports.gateway_store import OutgoingDraft

LEASE = 2.0


def open_store(kind: str, place: str) -> Any:
    if kind == "sqlite":
        from sojourn.stores.sqlite.store import SqliteStore

        return SqliteStore(Path(place))
    from sojourn.stores.postgres.store import PostgresStore

    return PostgresStore(place)


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


async def answer(store: Any, name: str) -> None:
    async for _ in store.watch_gateway("inbox", seconds=0.2):
        while claimed := await store.claim_incoming(name, limit=4, seconds=LEASE):
            for item in claimed:
                say("claimed", item.id, item.fence, item.place)
            for item in claimed:
                reply = OutgoingDraft(
                    key=f"reply to {item.id}", platform="local", account="a", place=item.place, payload=item.message_id
                )
                await store.put_outgoing([reply])
                await store.finish_incoming(item)
                say("done", item.id)


async def send(store: Any, name: str) -> None:
    async for _ in store.watch_gateway("outbox", seconds=0.2):
        while claimed := await store.claim_outgoing(name, limit=4, seconds=LEASE):
            for item in claimed:
                say("sending", item.id, item.fence)
                await asyncio.sleep(0)
                await store.finish_outgoing(item, message_id=f"by {name}")
                say("sent", item.id)


async def main(kind: str, place: str, name: str) -> None:
    store = open_store(kind, place)
    await asyncio.gather(answer(store, name), send(store, name))


asyncio.run(main(*sys.argv[1:4]))
