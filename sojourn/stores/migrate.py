"""Migrate: copies a whole store into another one and verifies that both hold the same rows.

A server's store is backed up in the same way: into a store in one SQLite file, and back.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from sojourn.core.errors import BadInput, Conflict, StoreCorrupt
from sojourn.ports.app import MoveReport
from sojourn.ports.store import Store
from sojourn.ports.store_admin import Progress, StoreAdmin
from sojourn.stores.sql.admin import choose_backup_file, unwritable

_PAGE_ROWS = 1000
Row = tuple[Any, ...]
OpenAt = Callable[[Path], Store]  # the file store of a home folder


async def migrate(
    here: StoreAdmin, there: StoreAdmin, progress: Progress | None = None, *, dry_run: bool = False
) -> MoveReport:
    """Copies every table by name in key order; counts and content hashes of both sides must agree."""
    begun = time.monotonic()
    if not await there.is_empty():
        raise Conflict(
            "The store to move to is not empty.", hint="Name an empty database, or a file that does not exist yet."
        )
    if dry_run:
        return MoveReport(rows=(), seconds=time.monotonic() - begun)
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
                hint="The original store is unchanged. Empty the new one and try again.",
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
    """Replaces bytes, which JSON cannot hold and drivers return as different types, by their hash."""
    return hashlib.sha256(value).hexdigest() if isinstance(value, (bytes, memoryview)) else value


async def save_backup(here: StoreAdmin, open_at: OpenAt, target: Path, progress: Progress | None = None) -> Path:
    """Writes a verified backup file; it appears complete or not at all."""
    target = choose_backup_file(target)
    with _make_work_folder(target.parent) as folder:
        store = open_at(Path(folder))
        try:
            await migrate(here, store, progress)
            written = await store.backup(Path(folder) / "whole.db")
        finally:
            await store.close()
        written.replace(target)
    return target


def _make_work_folder(place: Path) -> tempfile.TemporaryDirectory[str]:
    """A temporary folder on the target's file system. BadInput if it cannot be created."""
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        return tempfile.TemporaryDirectory(prefix=".sojourn-copy-", dir=place)
    except OSError as error:
        raise unwritable(place, error) from error


async def load_backup(here: StoreAdmin, open_at: OpenAt, source: Path, progress: Progress | None = None) -> None:
    """Restores a backup into a server's empty database."""
    if not source.is_file():
        raise BadInput(f"There is no backup at {source}.", hint="`sojourn store backup` makes one.")
    with tempfile.TemporaryDirectory(prefix="sojourn-copy-") as folder:
        shutil.copyfile(source, Path(folder) / "state.db")
        store = open_at(Path(folder))
        try:
            await migrate(store, here, progress)
        finally:
            await store.close()
