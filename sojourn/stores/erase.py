"""Erase: removes a session from the store, from the files of plugins and from backups under the home."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from sojourn.core.sessions import SessionId
from sojourn.ports.store import Removed, SessionStore
from sojourn.ports.store_admin import SQLITE_APPLICATION_ID

# Removes a plugin's own files of a session; returns those it touched.
Eraser = Callable[[SessionId], Sequence[str] | Awaitable[Sequence[str]]]
STORE = "state.db"  # the store's own file, when it is a file
# Closing any descriptor of these would release the POSIX locks of this process, even during a write.
_LIVE = tuple(STORE + ending for ending in ("", "-wal", "-shm", "-journal"))


async def forget(
    store: SessionStore, session: SessionId, *, home: Path, erasers: Sequence[Eraser] = (), purge_backups: bool = False
) -> Removed:
    """Removes a session; reports what was removed and which backups still hold it. `purge_backups` deletes those."""
    removed = await erase_files(await store.forget(session), erasers)
    removed = replace(removed, backups=tuple(sorted({*removed.backups, *find_backups(home)})))
    return purge(removed) if purge_backups else removed


async def erase_files(removed: Removed, erasers: Sequence[Eraser]) -> Removed:
    """Removes the files of sessions whose rows are gone; reports them."""
    files: dict[str, None] = {}
    for one, erase in product(removed.sessions, erasers):  # sub-agents have files of their own
        done = erase(one)
        files |= dict.fromkeys(await done if isinstance(done, Awaitable) else done)
    return replace(removed, files=tuple(files))


def find_backups(home: Path) -> list[str]:
    """Lists backups under a home, and the partial files of interrupted ones."""
    folders = (home, home / "backups", *home.glob("backups/.sojourn-copy-*"))
    files = (file for folder in folders if folder.is_dir() for file in folder.iterdir() if file.is_file())
    return [str(file) for file in files if file.name not in _LIVE and _is_backup(file)]


def _is_backup(file: Path) -> bool:
    if file.name.startswith(".") and file.suffix in (".part", ".restored"):
        return True
    with file.open("rb") as opened:
        header = opened.read(72)
    return header.startswith(b"SQLite format 3\0") and header[68:72] == SQLITE_APPLICATION_ID.to_bytes(4, "big")


def purge(removed: Removed) -> Removed:
    """Deletes the backups that may still hold an erased session."""
    for backup in removed.backups:
        for ending in ("", "-wal", "-shm", "-journal"):
            Path(backup + ending).unlink(missing_ok=True)
    return replace(removed, files=(*removed.files, *removed.backups), backups=())


def erase_logs(home: Path) -> list[str]:
    """Deletes crash reports: a traceback may contain text of any session."""
    found = sorted((home / "logs").glob("*")) if (home / "logs").is_dir() else []
    for file in found:
        file.unlink(missing_ok=True)
    return [str(file) for file in found]
