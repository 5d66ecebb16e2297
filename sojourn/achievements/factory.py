"""Builds scan coordinators for our store and for Hermes homes, and erases a session from their documents."""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Protocol, runtime_checkable

from sojourn.achievements import session_cache, snapshot, unlocks
from sojourn.achievements.coordinator import ScanCoordinator
from sojourn.achievements.document_store import DocumentStore, FolderStore, ScanLock
from sojourn.achievements.rules import RuleBook
from sojourn.achievements.scan_job import ScanSettings
from sojourn.achievements.session_cache import SessionCache
from sojourn.core.errors import BadInput, StoreLocked
from sojourn.core.sessions import SessionId
from sojourn.ports.app import HasSettings, HasStore, PluginAccess, PluginContext, ScanContext

logger = logging.getLogger(__name__)
FOLDER = Path("plugins") / "hermes-achievements"


@runtime_checkable
class CanKeepScans(Protocol):
    """A store that keeps scan documents itself, so that several servers share them."""

    def shelf(self, name: str) -> DocumentStore: ...


def of_store(kit: PluginContext, *, gentle: bool = False) -> ScanCoordinator:
    """The coordinator for our own store. A server sets `gentle`, so that scans run at low priority."""
    return ScanCoordinator(
        kit.store.history(), open_store_shelf(kit), book=build_rule_book(kit), settings=_settings(kit, gentle=gentle)
    )


def build_rule_book(kit: PluginAccess) -> RuleBook:
    """The built-in badges and those of plugins. Invalid badges of a plugin are left out with a warning."""
    whole = RuleBook()
    for plugin in kit.plugins():
        if plugin.metrics or plugin.achievements:
            try:
                whole = whole.extended(plugin.metrics, plugin.achievements)
            except BadInput as error:
                logger.warning("the badges of plugin %s are left out: %s", plugin.name, error)
    return whole


def open_store_shelf(kit: HasStore) -> DocumentStore:
    """The shelf for scans of our own store: the store itself if it can, else a folder of the home."""
    store = kit.store
    if isinstance(store, CanKeepScans):
        return store.shelf("hermes-achievements")
    return FolderStore(kit.settings.home / FOLDER)


def of_hermes_home(
    kit: ScanContext, home: Path, *, folder: Path | None = None, gentle: bool = False
) -> ScanCoordinator:
    """The coordinator for a Hermes home, which is only read; its unlock dates are adopted."""
    real = home.resolve()
    base = real.parent if real.name == "state.db" else real
    kept = folder or kit.settings.home / "achievements" / f"hermes-{_short_hash(str(base))}"
    inherited = base / FOLDER / "state.json" if folder is None else None
    settings = _settings(kit, inherited, gentle=gentle)
    return ScanCoordinator(
        kit.open_hermes_history(home), FolderStore(kept), book=build_rule_book(kit), settings=settings
    )


def _settings(kit: HasSettings, inherited: Path | None = None, *, gentle: bool) -> ScanSettings:
    ttl = kit.settings["achievements.ttl_seconds"]
    return ScanSettings(ttl_seconds=ttl, inherited_state=inherited, gentle=gentle)


def _short_hash(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


_LOCK_WAIT_SECONDS = 30.0  # a running scan may be writing about that very session


def forget(kit: HasStore, session: SessionId) -> list[str]:
    """Removes a session from the scan documents of our own store; returns the names of the changed ones."""
    return forget_in_shelf(open_store_shelf(kit), session)


def forget_in_shelf(shelf: DocumentStore, session: str, *, clock: Callable[[], float] = time.monotonic) -> list[str]:
    lock = _acquire_lock(shelf, clock)
    try:
        changed = []
        records = unlocks.load(shelf)
        told = {badge for badge, one in records.items() if one.evidence and one.evidence.get("session_id") == session}
        if told:
            kept = {badge: replace(one, evidence=None) if badge in told else one for badge, one in records.items()}
            unlocks.save(shelf, kept)
            changed.append(unlocks.NAME)
        if SessionCache(shelf, RuleBook()).remove(session):
            changed.append(session_cache.NAME)
        if _mentions_session(shelf, session):
            shelf.remove(snapshot.NAME)  # the next request builds it again
            changed.append(snapshot.NAME)
        return changed
    finally:
        lock.release()


def _mentions_session(shelf: DocumentStore, session: str) -> bool:
    data = shelf.read(snapshot.NAME, lambda raw: True)
    return data is not None and f'"{session}"'.encode() in data


def _acquire_lock(shelf: DocumentStore, clock: Callable[[], float]) -> ScanLock:
    until = clock() + _LOCK_WAIT_SECONDS
    while (lock := shelf.try_lock()) is None:
        if clock() > until:
            raise StoreLocked("A scan for achievements is running.", hint="Try again when it is done.")
        time.sleep(0.05)
    return lock
