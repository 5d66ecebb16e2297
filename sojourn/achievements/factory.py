"""Builds scan coordinators for our store and for Hermes homes, and erases a session from their documents."""

from __future__ import annotations

import hashlib
import logging
import time
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
class HasDocuments(Protocol):
    """A store that has a document store in its database, so that several servers share them."""

    def documents(self, name: str) -> DocumentStore: ...


def open_store_scans(app: PluginContext, *, gentle: bool = False) -> ScanCoordinator:
    """The coordinator for our own store. A server sets `gentle`, so that scans run at low priority."""
    return ScanCoordinator(
        app.store.history(),
        open_store_documents(app),
        book=build_rule_book(app),
        settings=replace(_build_settings(app, gentle=gentle), is_ours=True),
    )


def build_rule_book(app: PluginAccess) -> RuleBook:
    """The built-in badges and those of plugins. Invalid badges of a plugin are left out with a warning."""
    whole = RuleBook()
    for plugin in app.plugins():
        if plugin.metrics or plugin.achievements:
            try:
                whole = whole.extend(plugin.metrics, plugin.achievements)
            except BadInput as error:
                logger.warning("the badges of plugin %s are left out: %s", plugin.name, error)
    return whole


def open_store_documents(app: HasStore) -> DocumentStore:
    """The document store for scans of our own store: in the database if it offers one, else a folder of the home."""
    store = app.store
    if isinstance(store, HasDocuments):
        return store.documents("hermes-achievements")
    return FolderStore(app.settings.home / FOLDER)


def open_hermes_scans(
    app: ScanContext, home: Path, *, folder: Path | None = None, gentle: bool = False
) -> ScanCoordinator:
    """The coordinator for a Hermes home, which is only read; its unlock dates are adopted."""
    real = home.resolve()
    base = real.parent if real.name == "state.db" else real
    digest = hashlib.blake2b(str(base).encode(), digest_size=6).hexdigest()
    documents = folder or app.settings.home / "achievements" / f"hermes-{digest}"
    inherited = base / FOLDER / "state.json" if folder is None else None
    settings = _build_settings(app, inherited, gentle=gentle)
    return ScanCoordinator(
        app.open_hermes_history(home), FolderStore(documents), book=build_rule_book(app), settings=settings
    )


def _build_settings(app: HasSettings, inherited: Path | None = None, *, gentle: bool) -> ScanSettings:
    ttl = app.settings["achievements.ttl_seconds"]
    return ScanSettings(ttl_seconds=ttl, inherited_state=inherited, gentle=gentle)


_LOCK_WAIT_SECONDS = 30.0  # a running scan may be writing about that very session


def erase_session(app: PluginContext, session: SessionId) -> list[str]:
    """Removes a session from the scan documents of our own store; returns the names of the changed ones."""
    return erase_from_documents(open_store_documents(app), build_rule_book(app), session)


def erase_from_documents(documents: DocumentStore, book: RuleBook, session: str) -> list[str]:
    lock = _acquire_lock(documents)
    try:
        changed = []
        records = unlocks.load(documents)
        without_session = {
            badge: replace(one, evidence=None) if one.evidence and one.evidence.get("session_id") == session else one
            for badge, one in records.items()
        }
        if without_session != records:
            unlocks.save(documents, without_session)
            changed.append(unlocks.NAME)
        if SessionCache(documents, book).remove(session):
            changed.append(session_cache.NAME)
        saved = documents.read(snapshot.NAME, lambda raw: True)
        if saved is not None and f'"{session}"'.encode() in saved:
            documents.remove(snapshot.NAME)  # the next request builds it again
            changed.append(snapshot.NAME)
        return changed
    finally:
        lock.release()


def _acquire_lock(documents: DocumentStore) -> ScanLock:
    until = time.monotonic() + _LOCK_WAIT_SECONDS
    while (lock := documents.try_lock()) is None:
        if time.monotonic() > until:
            raise StoreLocked("A scan for achievements is running.", hint="Try again when the scan has finished.")
        time.sleep(0.05)
    return lock
