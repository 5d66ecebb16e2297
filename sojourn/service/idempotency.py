"""Idempotency keys: a key starts one turn in its session, however often the request is sent."""

from __future__ import annotations

import asyncio
import hashlib
import time
from contextlib import aclosing

from sojourn.core.errors import Conflict
from sojourn.core.sessions import TurnId
from sojourn.ports.service import Turn
from sojourn.ports.store import Record, RecordStore, Store
from sojourn.service.turn_record import RETRY_SECONDS, TurnRecord, list_active_turns

_KIND = "idempotency"
_CLAIM_GRACE_SECONDS = 3.0  # between claiming a key and storing the turn


async def find_turn(store: Store, record: TurnRecord) -> Turn | None:
    """Finds the turn that this key has started. Conflict if the key belongs to a different request."""
    known = await store.get_record(_KIND, _key(record)) if record.said.key else None
    if known is None:
        return None
    if known.value["said"] != _fingerprint(record):
        raise Conflict(
            f'The key "{record.said.key}" was used for another request.', hint="Give each request a key of its own."
        )
    turn = Turn(id=TurnId(known.value["turn"]), session=record.session, after=known.value["after"])
    if await _has_begun(store, turn, known):
        return turn
    await store.delete_record(_KIND, known.key, expect=known.revision)  # Conflict if another process has started it
    return None


async def _has_begun(store: Store, turn: Turn, known: Record) -> bool:
    """Whether the claimed turn exists. A process that died right after the claim left only the key."""
    while True:
        if any(one.id == turn.id for one in await list_active_turns(store, turn.session)):
            return True
        async with aclosing(store.read(turn.session, after=turn.after)) as log:
            async for kept in log:
                if kept.turn == turn.id:
                    return True
        if time.time() > known.updated_at + _CLAIM_GRACE_SECONDS:
            return False
        await asyncio.sleep(RETRY_SECONDS)


def claim_records(record: TurnRecord) -> tuple[Record, ...]:
    """The record that claims the key for this turn; none for a request without a key."""
    if not record.said.key:
        return ()
    value = {"turn": record.id, "after": record.after, "said": _fingerprint(record)}
    return (Record(kind=_KIND, key=_key(record), value=value, session=record.session),)


async def claim(store: RecordStore, record: TurnRecord) -> None:
    """Claims the key for this turn. Conflict if another turn has it."""
    for claimed in claim_records(record):
        await store.put_record(claimed, expect=0)


async def release(store: RecordStore, record: TurnRecord) -> None:
    """Frees the key of a turn that could not start."""
    known = await store.get_record(_KIND, _key(record)) if record.said.key else None
    if known is not None and known.value["turn"] == record.id:
        await store.delete_record(_KIND, _key(record))


def _key(record: TurnRecord) -> str:
    """The key is a client's own text, which may be a secret: its hash is stored."""
    digest = hashlib.sha256(record.said.key.encode("utf-8", "surrogatepass")).hexdigest()
    return f"{record.session}/{digest}"


def _fingerprint(record: TurnRecord) -> str:
    """Identifies a request. Internal messages are compared by key only; their text may contain a changed title."""
    if record.said.internal:
        return "internal"
    words = [record.said.text, *(one.hash for one in record.said.attachments)]
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()
