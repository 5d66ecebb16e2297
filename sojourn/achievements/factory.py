"""Which history is counted, and where its scans are kept."""

from __future__ import annotations

import hashlib
import logging
from pathlib import Path
from typing import Protocol, runtime_checkable

from sojourn.achievements.coordinator import ScanCoordinator
from sojourn.achievements.document_store import DocumentStore, FolderStore
from sojourn.achievements.rules import RuleBook
from sojourn.achievements.scan_job import ScanSettings
from sojourn.core.errors import BadInput
from sojourn.ports.app import HasSettings, HasStore, PluginAccess, PluginContext, ScanContext

logger = logging.getLogger(__name__)
FOLDER = Path("plugins") / "hermes-achievements"


@runtime_checkable
class CanKeepScans(Protocol):
    """A store that keeps the documents of scans itself, so that several servers share them."""

    def shelf(self, name: str) -> DocumentStore: ...


def of_store(kit: PluginContext, *, gentle: bool = False) -> ScanCoordinator:
    """The achievements of our own store. A server is `gentle`: its scans give way to its answers."""
    return ScanCoordinator(
        kit.store.history(), store_shelf(kit), book=book(kit), settings=_settings(kit, gentle=gentle)
    )


def book(kit: PluginAccess) -> RuleBook:
    """Our badges and those of plugins. A plugin whose badges make no sense loses them, and nothing else."""
    whole = RuleBook()
    for plugin in kit.plugins():
        if plugin.metrics or plugin.achievements:
            try:
                whole = whole.extended(plugin.metrics, plugin.achievements)
            except BadInput as error:
                logger.warning("the badges of plugin %s are left out: %s", plugin.name, error)
    return whole


def store_shelf(kit: HasStore) -> DocumentStore:
    """Where scans of our own store are kept: with the store if it can, else in a folder of the home."""
    store = kit.store
    if isinstance(store, CanKeepScans):
        return store.shelf("hermes-achievements")
    return FolderStore(kit.settings.home / FOLDER)


def of_hermes_home(
    kit: ScanContext, home: Path, *, folder: Path | None = None, gentle: bool = False
) -> ScanCoordinator:
    """The achievements of a Hermes home, which is only read. Its unlock dates count as ours."""
    real = home.resolve()
    base = real.parent if real.name == "state.db" else real
    kept = folder or kit.settings.home / "achievements" / f"hermes-{_short(str(base))}"
    inherited = base / FOLDER / "state.json" if folder is None else None
    settings = _settings(kit, inherited, gentle=gentle)
    return ScanCoordinator(kit.open_hermes_history(home), FolderStore(kept), book=book(kit), settings=settings)


def _settings(kit: HasSettings, inherited: Path | None = None, *, gentle: bool) -> ScanSettings:
    ttl = kit.settings["achievements.ttl_seconds"]
    return ScanSettings(ttl_seconds=ttl, inherited_state=inherited, gentle=gentle)


def _short(text: str) -> str:
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()
