"""Forgets a session everywhere under the home: the store, what plugins keep of it, and its copies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path

from sojourn.core.sessions import SessionId
from sojourn.ports.admin import SQLITE_APPLICATION_ID
from sojourn.ports.store import Removed, SessionStore

# Removes a plugin's own traces; returns the files it touched, now or after some waiting.
Eraser = Callable[[SessionId], Sequence[str] | Awaitable[Sequence[str]]]
STORE = "state.db"  # the store's own file, when it is a file
# To close any descriptor of these would give up the locks that this process has on them, in the middle of a write.
_LIVE = tuple(STORE + ending for ending in ("", "-wal", "-shm", "-journal"))


async def forget(
    store: SessionStore, session: SessionId, *, home: Path, erasers: Sequence[Eraser] = (), purge_backups: bool = False
) -> Removed:
    """What was removed, and which copies still hold it. With `purge_backups` those go too."""
    removed = await store.forget(session)
    files: dict[str, None] = {}
    for one, erase in product(removed.sessions, erasers):  # a sub-agent has left traces of its own
        done = erase(one)
        files |= dict.fromkeys(await done if isinstance(done, Awaitable) else done)
    removed = replace(removed, files=tuple(files), backups=tuple(sorted({*removed.backups, *copies_in(home)})))
    return purge(removed) if purge_backups else removed


def copies_in(home: Path) -> list[str]:
    """The copies under a home, wherever the store is kept: whole ones, and what a killed copying has left."""
    folders = (home, home / "backups", *home.glob("backups/.sojourn-copy-*"))
    files = (file for folder in folders if folder.is_dir() for file in folder.iterdir() if file.is_file())
    return [str(file) for file in files if file.name not in _LIVE and _is_copy(file)]


def _is_copy(file: Path) -> bool:
    if file.name.startswith(".") and file.suffix in (".part", ".restored"):
        return True
    with file.open("rb") as opened:
        header = opened.read(72)
    return header.startswith(b"SQLite format 3\0") and header[68:72] == SQLITE_APPLICATION_ID.to_bytes(4, "big")


def purge(removed: Removed) -> Removed:
    """Deletes the copies that may still hold what was forgotten."""
    for backup in removed.backups:
        for ending in ("", "-wal", "-shm", "-journal"):
            Path(backup + ending).unlink(missing_ok=True)
    return replace(removed, files=(*removed.files, *removed.backups), backups=())


def erase_logs(home: Path) -> list[str]:
    """Deletes the reports of bugs: a traceback may hold words of any session."""
    found = sorted((home / "logs").glob("*")) if (home / "logs").is_dir() else []
    for file in found:
        file.unlink(missing_ok=True)
    return [str(file) for file in found]
