"""How far an account has heard, kept in our own store: for networks that do not remember it themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sojourn.ports.records import Record, RecordStore

KIND = "platform_position"
_MAX_REMEMBERED = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedCursor:
    """Up to which moment, and what around it: messages of several chats may be told out of order. Moments are numbers
    of the network's own that grow with time. What was said before `began` is not for us."""

    began: int
    at: int
    heard: tuple[str, ...] = ()
    places: tuple[str, ...] = ()  # where something was heard, if the network would not tell us of it

    def since(self, around: int) -> int:
        """From when on to ask for what was missed."""
        return max(self.began, self.at - around)

    def plus(self, id: str, at: int) -> ReceivedCursor:
        """One message more."""
        return replace(self, at=max(self.at, at), heard=(*self.heard, id)[-_MAX_REMEMBERED:])

    def there(self, place: str) -> ReceivedCursor:
        """Somewhere to look next time, the newest last."""
        return replace(self, places=(*(one for one in self.places if one != place), place)[-_MAX_REMEMBERED:])

    def has(self, id: str) -> bool:
        return id in self.heard


class CursorStore:
    """What one account has safely heard. Kept after each message, so the next listener begins behind it."""

    def __init__(self, store: RecordStore, platform: str, account: str) -> None:
        self._store, self._key = store, f"{platform}:{account}"

    async def load(self) -> dict[str, Any]:
        """Empty when the account has never listened."""
        found = await self._store.get_record(KIND, self._key)
        return dict(found.value) if found is not None and isinstance(found.value, dict) else {}

    async def keep(self, value: Mapping[str, Any]) -> None:
        await self._store.put_record(Record(kind=KIND, key=self._key, value=dict(value)))

    # for networks that number their messages by time
    async def heard(self) -> ReceivedCursor | None:
        """None when the account has never listened: then it begins with `begin`."""
        kept = await self.load()
        if not kept:
            return None
        heard, places = (tuple(map(str, kept.get(name, ()))) for name in ("heard", "places"))
        return ReceivedCursor(began=int(kept["began"]), at=int(kept["at"]), heard=heard, places=places)

    async def begin(self, at: int) -> ReceivedCursor:
        return await self.save_cursor(ReceivedCursor(began=at, at=at))

    async def save_cursor(self, now: ReceivedCursor) -> ReceivedCursor:
        places = {"places": list(now.places)} if now.places else {}
        await self.keep({"began": now.began, "at": now.at, "heard": list(now.heard), **places})
        return now
