"""Forgets a session: a badge keeps its date, but no longer says which session earned it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from sojourn.achievements import checkpoint, snapshot, unlocks
from sojourn.achievements.checkpoint import Checkpoint
from sojourn.achievements.document_store import DocumentStore, ScanLock
from sojourn.achievements.factory import store_shelf
from sojourn.achievements.rules import RuleBook
from sojourn.core.errors import StoreLocked
from sojourn.core.sessions import SessionId
from sojourn.ports.app import HasStore

_PATIENCE = 30.0  # seconds to wait for a running scan, which may be writing about that very session


def forget(kit: HasStore, session: SessionId) -> list[str]:
    """Removes every trace of a session from what scans of our own store have kept. Names what it changed."""
    return forget_in(store_shelf(kit), session)


def forget_in(shelf: DocumentStore, session: str, *, clock: Callable[[], float] = time.monotonic) -> list[str]:
    lock = _locked(shelf, clock)
    try:
        changed = []
        records = unlocks.load(shelf)
        told = {badge for badge, one in records.items() if one.evidence and one.evidence.get("session_id") == session}
        if told:
            kept = {badge: replace(one, evidence=None) if badge in told else one for badge, one in records.items()}
            unlocks.save(shelf, kept)
            changed.append(unlocks.NAME)
        if Checkpoint(shelf, RuleBook()).drop(session):
            changed.append(checkpoint.NAME)
        if _mentions(shelf, session):
            shelf.remove(snapshot.NAME)  # the next question has it made again
            changed.append(snapshot.NAME)
        return changed
    finally:
        lock.release()


def _mentions(shelf: DocumentStore, session: str) -> bool:
    data = shelf.read(snapshot.NAME, lambda raw: True)
    return data is not None and f'"{session}"'.encode() in data


def _locked(shelf: DocumentStore, clock: Callable[[], float]) -> ScanLock:
    until = clock() + _PATIENCE
    while (lock := shelf.try_lock()) is None:
        if clock() > until:
            raise StoreLocked("A scan for achievements is running.", hint="Try again when it is done.")
        time.sleep(0.05)
    return lock
