"""Read position of an account, kept in our store for networks that do not track it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from sojourn.ports.store import Record, RecordStore
from sojourn.text.redaction import mark_identifiers

KIND = "platform_position"
_MAX_RECENT_IDS = 200  # ids and chats


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedCursor:
    """Position in a network's own time scale, and the ids received around it: chats may deliver out of order.
    Messages older than `started` are ignored."""

    started: int
    at: int
    recent_ids: tuple[str, ...] = ()
    places: tuple[str, ...] = ()  # chats with earlier messages, where the network does not list them

    def since(self, overlap: int) -> int:
        """Start of the backfill, `overlap` before the position."""
        return max(self.started, self.at - overlap)

    def advance(self, id: str, at: int) -> ReceivedCursor:
        """Returns the cursor after one more message."""
        return replace(self, at=max(self.at, at), recent_ids=(*self.recent_ids, id)[-_MAX_RECENT_IDS:])

    def with_place(self, place: str) -> ReceivedCursor:
        """Returns the cursor with a chat to backfill, newest last."""
        return replace(self, places=(*(one for one in self.places if one != place), place)[-_MAX_RECENT_IDS:])

    def contains(self, id: str) -> bool:
        return id in self.recent_ids


class CursorStore:
    """Loads and saves the cursor of one account; saved after each message, so a restart continues behind it."""

    def __init__(self, store: RecordStore, platform: str, account: str) -> None:
        self._store, self._key = store, f"{platform}:{account}"

    async def load(self) -> dict[str, Any]:
        """Empty if the account has never listened."""
        record = await self._store.get_record(KIND, self._key)
        return dict(record.value) if record is not None and isinstance(record.value, dict) else {}

    async def save(self, value: Mapping[str, Any]) -> None:
        await self._store.put_record(Record(kind=KIND, key=self._key, value=mark_identifiers(dict(value))))

    # for networks that number their messages by time
    async def load_cursor(self) -> ReceivedCursor | None:
        """None if the account has never listened; then `start` creates one."""
        saved = await self.load()
        if not saved:
            return None
        recent_ids, places = (tuple(map(str, saved.get(name, ()))) for name in ("heard", "places"))
        return ReceivedCursor(started=int(saved["began"]), at=int(saved["at"]), recent_ids=recent_ids, places=places)

    async def start(self, at: int) -> ReceivedCursor:
        return await self.save_cursor(ReceivedCursor(started=at, at=at))

    async def save_cursor(self, cursor: ReceivedCursor) -> ReceivedCursor:
        places = {"places": list(cursor.places)} if cursor.places else {}
        await self.save({"began": cursor.started, "at": cursor.at, "heard": list(cursor.recent_ids), **places})
        return cursor
