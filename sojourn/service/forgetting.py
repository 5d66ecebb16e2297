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
    if not purge_backups:
        return replace(removed, files=(*removed.files, *files))
    for backup in removed.backups:
        for ending in ("", "-wal", "-shm"):
            Path(backup + ending).unlink(missing_ok=True)
    return replace(removed, files=(*removed.files, *files, *removed.backups), backups=())
