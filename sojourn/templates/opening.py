"""Which history is read and which library is used. Other packages are known by their dotted names only."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from sojourn.core.errors import NotFound, SourceUnreadable
from sojourn.ports.app import AppContext
from sojourn.ports.history import History
from sojourn.templates.folder import FOLDER, FolderLibrary
from sojourn.templates.library import Library
from sojourn.templates.records import RecordLibrary

HERMES = "sojourn.sources.hermes_history:HermesHistory"
_OURS = "sojourn.stores.sqlite.history:SqliteHistory"
_PROGRAM = "sojourn.app:build"


def library_of(kit: AppContext) -> Library:
    """Templates lie where the sessions lie: in a shared database, or as files in the home."""
    if kit.settings["database_url"]:
        return RecordLibrary(kit.store)
    return FolderLibrary(kit.settings.home / FOLDER)


def history_of(kit: AppContext, home: Path | None = None) -> History:
    """Our own store's past, or that of a Hermes home, which is only read."""
    if home is None:
        return kit.store.history()
    make = cast("Callable[[Path], History]", kit.load(HERMES))
    return make(_hermes(home))


def _hermes(home: Path) -> Path:
    file = home if home.name == "state.db" else home / "state.db"
    if not file.exists():
        raise NotFound(f"There is no Hermes history at {home}.", hint="Name the folder that holds its state.db.")
    return home


# -- for plain Python, where nobody has wired anything -------------------------------


def load(dotted: str) -> Any:
    module, _, name = dotted.partition(":")
    return getattr(import_module(module), name)


def program() -> AppContext:
    """The whole program, as its settings say."""
    kit: AppContext = load(_PROGRAM)()
    return kit


def _file_in(home: Path) -> Path:
    return home if home.name == "state.db" else home / "state.db"


def has_history(home: Path) -> bool:
    return _file_in(home).exists()


def history_at(home: Path) -> History:
    """The history in a home folder, ours or Hermes'."""
    file = _file_in(home)
    if not has_history(home):
        raise NotFound(f"There is no history at {home}.", hint="Name the folder that holds a state.db.")
    made: History = load(_OURS)(file) if _is_ours(file) else load(HERMES)(file)
    return made


def _is_ours(file: Path) -> bool:
    try:
        with closing(sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)) as db:
            return any(row[1] == "principal" for row in db.execute("PRAGMA table_info(sessions)"))
    except sqlite3.Error as error:
        raise SourceUnreadable(f"{file} cannot be read: {error}.", hint="Is it a state.db?") from error
