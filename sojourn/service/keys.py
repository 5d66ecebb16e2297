"""The same request twice: a key that comes with it starts one turn in its session, however often it is sent."""

from __future__ import annotations

import asyncio
import hashlib
import time
from contextlib import aclosing

from sojourn.core.errors import Conflict
from sojourn.core.sessions import TurnId
from sojourn.ports.records import Record, RecordStore
from sojourn.ports.service import Turn
from sojourn.ports.store import Store
from sojourn.service.begun import PAUSE, Begun, on_record

_KIND = "idempotency"
_AT_ONCE = 3.0  # seconds within which a turn is on record once its key is taken


async def earlier(store: Store, begun: Begun) -> Turn | None:
    """The turn that was already started for this key. Conflict if that was for other words."""
    known = await store.get_record(_KIND, _key(begun)) if begun.said.key else None
    if known is None:
        return None
    if known.value["said"] != _print(begun):
        raise Conflict(
            f'The key "{begun.said.key}" was used for another request.', hint="Give each request a key of its own."
        )
    turn = Turn(id=TurnId(known.value["turn"]), session=begun.session, after=known.value["after"])
    if await _has_begun(store, turn, known):
        return turn
    await store.delete_record(_KIND, known.key, expect=known.revision)  # Conflict: somebody else has begun it
    return None


async def _has_begun(store: Store, turn: Turn, known: Record) -> bool:
    """Whether anything came of the claim. A process that died right after it left nothing behind but the key."""
    while True:
        if any(one.id == turn.id for one in await on_record(store, turn.session)):
            return True
        async with aclosing(store.read(turn.session, after=turn.after)) as log:
            async for kept in log:
                if kept.turn == turn.id:
                    return True
        if time.time() > known.updated_at + _AT_ONCE:
            return False
        await asyncio.sleep(PAUSE)


def claims(begun: Begun) -> tuple[Record, ...]:
    """Once this is kept, the key stands for this turn. It must be new. Nothing for a request without a key."""
    if not begun.said.key:
        return ()
    value = {"turn": begun.id, "after": begun.after, "said": _print(begun)}
    return (Record(kind=_KIND, key=_key(begun), value=value, session=begun.session),)


async def claim(store: RecordStore, begun: Begun) -> None:
    """From now on the key stands for this turn. Conflict if it stands for another."""
    for record in claims(begun):
        await store.put_record(record, expect=0)


async def let_go(store: RecordStore, begun: Begun) -> None:
    """The turn could not begin: the key is free again."""
    known = await store.get_record(_KIND, _key(begun)) if begun.said.key else None
    if known is not None and known.value["turn"] == begun.id:
        await store.delete_record(_KIND, _key(begun))


def _key(begun: Begun) -> str:
    return f"{begun.session}/{begun.said.key}"


def _print(begun: Begun) -> str:
    """Tells whether a request is the same. Our own announcements are by their key: they may name a title by now."""
    if begun.said.internal:
        return "internal"
    words = [begun.said.text, *(one.hash for one in begun.said.attachments)]
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()
