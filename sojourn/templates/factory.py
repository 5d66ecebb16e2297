"""Chooses the library and the history of the application."""

from __future__ import annotations

from pathlib import Path

from sojourn.core.errors import NotFound
from sojourn.ports.app import HasStore, ScanContext
from sojourn.ports.history import History
from sojourn.templates.file_library import FOLDER, FolderLibrary
from sojourn.templates.library import Library
from sojourn.templates.record_library import RecordLibrary


def library_of(app: HasStore) -> Library:
    """Templates lie where the sessions lie: in a shared database, or as files in the home."""
    if app.settings["database_url"]:
        return RecordLibrary(app.store)
    return FolderLibrary(app.settings.home / FOLDER)


def history_of(app: ScanContext, home: Path | None = None) -> History:
    """Our own store's past, or that of a Hermes home, which is only read."""
    if home is None:
        return app.store.history()
    if not has_history(home):
        raise NotFound(f"There is no Hermes history at {home}.", hint="Name the folder that holds its state.db.")
    return app.open_hermes_history(home)


def has_history(home: Path) -> bool:
    """Whether a folder, or the file itself, is a home with a `state.db`."""
    return (home if home.name == "state.db" else home / "state.db").exists()
