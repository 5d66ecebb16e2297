"""Read position of an account, kept in our store for networks that do not track it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sojourn.ports.store import Record, RecordStore

KIND = "platform_position"
_MAX_REMEMBERED = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedCursor:
    """Position in a network's own time scale, and the ids received around it: chats may deliver out of order.
    Messages older than `began` are ignored."""

    began: int
    at: int
    heard: tuple[str, ...] = ()
    places: tuple[str, ...] = ()  # chats with earlier messages, where the network does not list them

    def since(self, around: int) -> int:
        """Start of the backfill, overlapping by `around`."""
        return max(self.began, self.at - around)

    def advance(self, id: str, at: int) -> ReceivedCursor:
        """Returns the cursor after one more message."""
        return replace(self, at=max(self.at, at), heard=(*self.heard, id)[-_MAX_REMEMBERED:])

    def with_place(self, place: str) -> ReceivedCursor:
        """Returns the cursor with a chat to backfill, newest last."""
        return replace(self, places=(*(one for one in self.places if one != place), place)[-_MAX_REMEMBERED:])

    def contains(self, id: str) -> bool:
        return id in self.heard


class CursorStore:
    """Loads and saves the cursor of one account; saved after each message, so a restart continues behind it."""

    def __init__(self, store: RecordStore, platform: str, account: str) -> None:
        self._store, self._key = store, f"{platform}:{account}"

    async def load(self) -> dict[str, Any]:
        """Empty if the account has never listened."""
        found = await self._store.get_record(KIND, self._key)
        return dict(found.value) if found is not None and isinstance(found.value, dict) else {}

    async def save(self, value: Mapping[str, Any]) -> None:
        await self._store.put_record(Record(kind=KIND, key=self._key, value=dict(value)))

    # for networks that number their messages by time
    async def load_cursor(self) -> ReceivedCursor | None:
        """None if the account has never listened; then `start` creates one."""
        kept = await self.load()
        if not kept:
            return None
        heard, places = (tuple(map(str, kept.get(name, ()))) for name in ("heard", "places"))
        return ReceivedCursor(began=int(kept["began"]), at=int(kept["at"]), heard=heard, places=places)

    async def start(self, at: int) -> ReceivedCursor:
        return await self.save_cursor(ReceivedCursor(began=at, at=at))

    async def save_cursor(self, now: ReceivedCursor) -> ReceivedCursor:
        places = {"places": list(now.places)} if now.places else {}
        await self.save({"began": now.began, "at": now.at, "heard": list(now.heard), **places})
        return now
