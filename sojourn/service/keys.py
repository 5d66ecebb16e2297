"""The same request twice: a key that comes with it starts one turn in its session, however often it is sent."""

from __future__ import annotations

import hashlib

from sojourn.core.errors import Conflict
from sojourn.core.sessions import TurnId
from sojourn.ports.records import Record, RecordStore
from sojourn.ports.service import Turn
from sojourn.service.begun import Begun

_KIND = "idempotency"


async def earlier(store: RecordStore, begun: Begun) -> Turn | None:
    """The turn that was already started for this key. Conflict if that was for other words."""
    known = await store.get_record(_KIND, _key(begun)) if begun.said.key else None
    if known is None:
        return None
    if known.value["said"] != _print(begun):
        raise Conflict(
            f'The key "{begun.said.key}" was used for another request.', hint="Give each request a key of its own."
        )
    return Turn(id=TurnId(known.value["turn"]), session=begun.session, after=known.value["after"])


async def claim(store: RecordStore, begun: Begun) -> None:
    """From now on the key stands for this turn. Conflict if it stands for another."""
    if begun.said.key:
        value = {"turn": begun.id, "after": begun.after, "said": _print(begun)}
        await store.put_record(Record(kind=_KIND, key=_key(begun), value=value, session=begun.session), expect=0)


async def let_go(store: RecordStore, begun: Begun) -> None:
    """The turn could not begin: the key is free again."""
    known = await store.get_record(_KIND, _key(begun)) if begun.said.key else None
    if known is not None and known.value["turn"] == begun.id:
        await store.delete_record(_KIND, _key(begun))


def _key(begun: Begun) -> str:
    return f"{begun.session}/{begun.said.key}"


def _print(begun: Begun) -> str:
    """Tells whether a request is the same."""
    words = [begun.said.text, *(one.hash for one in begun.said.attachments)]
    return hashlib.sha256("\0".join(words).encode("utf-8", "surrogatepass")).hexdigest()
