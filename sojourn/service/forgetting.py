"""Forgets a session everywhere under the home: the store, what plugins keep of it, and its copies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from sojourn.core.sessions import SessionId
from sojourn.ports.store import Removed, SessionStore

Eraser = Callable[[SessionId], Sequence[str]]  # removes a plugin's own traces; returns the files it touched


async def forget(
    store: SessionStore, session: SessionId, *, erasers: Sequence[Eraser] = (), purge_backups: bool = False
) -> Removed:
    """What was removed, and which copies still hold it. With `purge_backups` those go too."""
    removed = await store.forget(session)
    files = [file for erase in erasers for file in erase(session)]
    removed = replace(removed, files=(*removed.files, *files))
    return purge(removed) if purge_backups else removed


def purge(removed: Removed) -> Removed:
    """Deletes the copies that may still hold what was forgotten."""
    for backup in removed.backups:
        for ending in ("", "-wal", "-shm"):
            Path(backup + ending).unlink(missing_ok=True)
    return replace(removed, files=(*removed.files, *removed.backups), backups=())


def erase_logs(home: Path) -> list[str]:
    """Deletes the reports of bugs: a traceback may hold words of any session."""
    found = sorted((home / "logs").glob("*")) if (home / "logs").is_dir() else []
    for file in found:
        file.unlink(missing_ok=True)
    return [str(file) for file in found]
