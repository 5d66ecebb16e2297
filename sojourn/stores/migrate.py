"""Migrate: copies a whole store into another one and verifies that both hold the same rows."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import AsyncIterator
from typing import Any

from sojourn.core.errors import Conflict, StoreCorrupt
from sojourn.ports.app import MoveReport
from sojourn.ports.store_admin import Progress, StoreAdmin

_PAGE_ROWS = 1000
Row = tuple[Any, ...]


async def migrate(here: StoreAdmin, there: StoreAdmin, progress: Progress | None = None) -> MoveReport:
    """Copies every table by name in key order; counts and content hashes of both sides must agree."""
    begun = time.monotonic()
    if not await there.is_empty():
        raise Conflict(
            "The store to move to is not empty.", hint="Name an empty database, or a file that is not there."
        )
    stats = await here.stats()
    totals = {"sessions": stats.sessions, "messages": stats.messages, "events": stats.events}
    checksums: list[tuple[str, int, str]] = []
    for table, columns, key in here.tables():
        sent = _Checksum()
        async for rows in _pages(here, table, columns, key):
            sent.add(rows)
            await there.import_rows(table, rows)
            if progress:
                progress(f"moving {table}", sent.count, totals.get(table, 0))
        arrived = _Checksum()
        async for rows in _pages(there, table, columns, key):
            arrived.add(rows)
            if progress:
                progress(f"checking {table}", arrived.count, sent.count)
        if (sent.count, sent.digest) != (arrived.count, arrived.digest):
            raise StoreCorrupt(
                f"Table {table} differs after the move: {sent.count} rows sent, {arrived.count} arrived.",
                hint="The store you came from is untouched. Empty the new one and try again.",
            )
        checksums.append((table, sent.count, sent.digest))
    return MoveReport(rows=tuple(checksums), seconds=time.monotonic() - begun)


async def _pages(
    store: StoreAdmin, table: str, columns: tuple[str, ...], key: tuple[str, ...]
) -> AsyncIterator[list[Row]]:
    places = [columns.index(name) for name in key]
    after: Row | None = None
    while rows := await store.export_rows(table, after=after, limit=_PAGE_ROWS):
        yield rows
        after = tuple(rows[-1][place] for place in places)


class _Checksum:
    """Count and running hash of rows in order."""

    def __init__(self) -> None:
        self.count, self._hash = 0, hashlib.sha256()

    def add(self, rows: list[Row]) -> None:
        self.count += len(rows)
        for row in rows:
            self._hash.update(json.dumps([_normalise(value) for value in row], ensure_ascii=True).encode())

    @property
    def digest(self) -> str:
        return self._hash.hexdigest()[:32]


def _normalise(value: Any) -> Any:
    """Makes a value independent of the database driver."""
    if isinstance(value, (bytes, memoryview)):
        return hashlib.sha256(value).hexdigest()
    return float(value) if isinstance(value, float) else value
