"""How far an account has heard, kept in our own store: for networks that do not remember it themselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sojourn.ports.records import Record, RecordStore

KIND = "platform_position"


class Position:
    """What one account has safely heard. Kept after each message, so the next listener begins behind it."""

    def __init__(self, store: RecordStore, platform: str, account: str) -> None:
        self._store, self._key = store, f"{platform}:{account}"

    async def load(self) -> dict[str, Any]:
        """Empty when the account has never listened."""
        found = await self._store.get_record(KIND, self._key)
        return dict(found.value) if found is not None and isinstance(found.value, dict) else {}

    async def keep(self, value: Mapping[str, Any]) -> None:
        await self._store.put_record(Record(kind=KIND, key=self._key, value=dict(value)))
