"""Replay memory: which requests were received, kept across restarts for as long as their signatures are valid."""

from __future__ import annotations

import hashlib
import time

from sojourn.ports.store import Record, RecordStore

KIND = "webhook_received"
_LASTING, _PASSING = "lasting", "passing"  # whether the signature ever expires
_RETENTION_SECONDS = 30 * 86_400.0  # of what expires in minutes or days: a clock may go back
_PAGE_ROWS = 500


class ReplayMemory:
    """The ids of requests whose messages are stored."""

    def __init__(self, store: RecordStore) -> None:
        self._store = store

    async def has(self, id: str) -> bool:
        return any([await self._store.get_record(KIND, _key(kind, id)) for kind in (_LASTING, _PASSING)])

    async def add(self, id: str, *, is_lasting: bool) -> None:
        key = _key(_LASTING if is_lasting else _PASSING, id)
        await self._store.put_record(Record(kind=KIND, key=key, value={"at": time.time()}))

    async def prune(self) -> None:
        """Forgets what can no longer be repeated."""
        before, after = time.time() - _RETENTION_SECONDS, ""
        while page := await self._store.list_records(KIND, prefix=f"{_PASSING}/", after=after, limit=_PAGE_ROWS):
            for record in page:
                if record.value["at"] < before:
                    await self._store.delete_record(KIND, record.key)
            after = page[-1].key


def _key(kind: str, id: str) -> str:
    return f"{kind}/{hashlib.sha256(id.encode(errors='surrogatepass')).hexdigest()}"
