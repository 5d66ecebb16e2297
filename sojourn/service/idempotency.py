"""Idempotency keys: a key starts one turn in its session, however often the request is sent."""

from __future__ import annotations

import hashlib

from sojourn.core.errors import Conflict
from sojourn.core.sessions import TurnId
from sojourn.ports.service import Turn
from sojourn.ports.store import Record, Transaction
from sojourn.service.turn_record import TurnRecord, list_active_turns

_KIND = "idempotency"


def find_turn(store: Transaction, record: TurnRecord) -> Turn | None:
    """Finds the turn that this key has started, unless it was taken back. Conflict if the request was different."""
    known = store.get_record(_KIND, _key(record)) if record.said.key else None
    if known is None:
        return None
    if known.value["said"] != _fingerprint(record):
        raise Conflict(
            f'The key "{record.said.key}" was used for another request.', hint="Give each request a key of its own."
        )
    turn = Turn(id=TurnId(known.value["turn"]), session=record.session, after=known.value["after"])
    is_active = any(one.id == turn.id for one in list_active_turns(store, turn.session))
    return turn if is_active or any(one.turn == turn.id for one in store.read(turn.session, after=turn.after)) else None


def claim_key(store: Transaction, record: TurnRecord) -> None:
    """Claims the key for this turn, in the transaction that stores it."""
    if record.said.key:
        value = {"turn": record.id, "after": record.after, "said": _fingerprint(record)}
        store.put_record(Record(kind=_KIND, key=_key(record), value=value, session=record.session))


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
