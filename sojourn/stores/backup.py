"""Backup of a server's store: one portable SQLite file, written and read with `migrate`."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

from sojourn.core.errors import BadInput
from sojourn.ports.store import Store
from sojourn.ports.store_admin import Progress, StoreAdmin
from sojourn.stores.migrate import migrate
from sojourn.stores.sql.admin import choose_backup_file, unwritable

OpenAt = Callable[[Path], Store]  # the file store of a home folder


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
