"""Opens a history on disk for scanners: that of a Sojourn home or of a Hermes home, always read-only."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from sojourn.core.errors import NotFound, SourceUnreadable
from sojourn.importers.hermes_history import HermesHistory
from sojourn.ports.history import History
from sojourn.stores.sqlite.history import SqliteHistory


def open_hermes_history(home: Path) -> History:
    """The history of a Hermes home, or of its `state.db`."""
    return HermesHistory(home)


def open_history(home: Path) -> History:
    """The history of a home folder, or of its `state.db`. Raises NotFound, SourceUnreadable."""
    file = home if home.name == "state.db" else home / "state.db"
    if not file.exists():
        raise NotFound(f"There is no history at {home}.", hint="Name the folder that holds a state.db.")
    return SqliteHistory(file) if _is_our_store(file) else HermesHistory(file)


def _is_our_store(file: Path) -> bool:
    """Only our sessions have a principal."""
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as db:
            return any(row[1] == "principal" for row in db.execute("PRAGMA table_info(sessions)"))
    except sqlite3.Error as error:
        raise SourceUnreadable(f"{file} cannot be read: {error}.", hint="Is it a state.db?") from error
