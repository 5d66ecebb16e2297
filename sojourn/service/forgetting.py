"""Forgets a session everywhere under the home: the store, what plugins keep of it, and its copies."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from pathlib import Path

from sojourn.core.sessions import SessionId
from sojourn.ports.store import Removed, SessionStore

# Removes a plugin's own traces; returns the files it touched, now or after some waiting.
Eraser = Callable[[SessionId], Sequence[str] | Awaitable[Sequence[str]]]


async def forget(
    store: SessionStore, session: SessionId, *, erasers: Sequence[Eraser] = (), purge_backups: bool = False
) -> Removed:
    """What was removed, and which copies still hold it. With `purge_backups` those go too."""
    removed = await store.forget(session)
    for erase in erasers:
        done = erase(session)
        files = await done if isinstance(done, Awaitable) else done
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
