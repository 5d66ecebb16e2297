"""SQLite connections, and the translation of their errors.

The database file itself is never opened by anything but SQLite: closing any other descriptor of
it would drop the locks this process holds on it (that is how POSIX locks work), and a second
writer could then corrupt it.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sojourn.core.errors import (
    SojournError,
    StoreCorrupt,
    StoreForeign,
    StoreFull,
    StoreLocked,
    StoreReadOnly,
    StoreUnavailable,
)
from sojourn.ports.store_admin import SQLITE_APPLICATION_ID
from sojourn.stores.sql.migrations import check_not_newer
from sojourn.text.escape import from_bytes

BUSY_SECONDS = 30.0
_MIN_FREE_BYTES = 65_536
_MAX_LOG_BYTES = 4_194_304  # of the write-ahead log, after a checkpoint

RESTORE = "Restore a backup with `sojourn store restore`; your file is not changed."


def connect(path: Path, *, read_only: bool, timeout: float = BUSY_SECONDS) -> sqlite3.Connection:
    """Opens a connection in autocommit mode with rows by name. Threads may pass it on, but not share it."""
    with translate_errors(path):
        if not read_only:
            opened = _open(path, "mode=rw", timeout)
            opened.execute("PRAGMA synchronous = FULL")
            opened.execute("PRAGMA foreign_keys = ON")
            opened.execute("PRAGMA secure_delete = ON")
            opened.execute("PRAGMA wal_autocheckpoint = 1000")
            opened.execute(f"PRAGMA journal_size_limit = {_MAX_LOG_BYTES}")
            opened.text_factory = from_bytes  # invalid UTF-8 in a row must not stop the writer
            return opened
        try:
            opened = _open(path, "mode=ro", timeout)
        except sqlite3.OperationalError:
            if not _has_empty_log(path):
                raise
            opened = _open(path, "immutable=1", timeout)
        opened.execute("PRAGMA query_only = ON")
        return opened


def _open(path: Path, mode: str, timeout: float) -> sqlite3.Connection:
    opened = sqlite3.connect(
        f"{path.absolute().as_uri()}?{mode}", uri=True, timeout=timeout, isolation_level=None, check_same_thread=False
    )
    opened.row_factory = sqlite3.Row
    try:
        opened.execute("PRAGMA schema_version").fetchone()
    except sqlite3.Error:
        opened.close()
        raise
    return opened


def _has_empty_log(path: Path) -> bool:
    """Whether the write-ahead log is empty or missing, so the file alone holds all data."""
    wal = path.with_name(path.name + "-wal")
    return not wal.exists() or wal.stat().st_size == 0


def is_writable(path: Path) -> bool:
    """Whether this process may write the file and its folder (a read-only mount says no to root too)."""
    return os.access(path, os.W_OK) and os.access(path.parent, os.W_OK)


def check_ours(connection: sqlite3.Connection, path: Path, newest: int) -> int:
    """Returns the schema number of a Sojourn store; raises for files of other programs and newer versions."""
    with translate_errors(path):
        application_id = connection.execute("PRAGMA application_id").fetchone()[0]
        schema = int(connection.execute("PRAGMA user_version").fetchone()[0])
        tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    if application_id != SQLITE_APPLICATION_ID:
        if {"sessions", "messages", "schema_version"} <= tables:
            raise StoreForeign(
                f"{path} was made by Hermes.",
                hint=f"Bring its sessions in with `sojourn import {path.parent}`, and give Sojourn a home of its own.",
            )
        raise StoreForeign(f"{path} is a database of another program.", hint="Choose another home with SOJOURN_HOME.")
    check_not_newer(str(path), schema, newest)
    return schema


def disk_full(path: Path) -> StoreFull:
    return StoreFull(f"The disk that holds {path} is full.", hint="Free some space; nothing that was stored is lost.")


def is_full(path: Path) -> bool:
    """Whether the disk has no room for even the smallest files that SQLite creates beside a database."""
    try:
        return shutil.disk_usage(path.parent).free < _MIN_FREE_BYTES
    except OSError:
        return False


@contextmanager
def translate_errors(path: Path) -> Iterator[None]:
    """Raises the errors of SQLite as ours."""
    try:
        yield
    except sqlite3.Error as error:
        raise translate(error, path) from error


def translate(error: sqlite3.Error, path: Path) -> SojournError:
    """Returns our error for one of SQLite; the only place where they are translated."""
    text = str(error)
    kind = getattr(error, "sqlite_errorname", "") or ""
    if kind.startswith(("SQLITE_CORRUPT", "SQLITE_NOTADB")) or "malformed" in text or "not a database" in text:
        return StoreCorrupt(f"{path} is damaged: {text}.", hint=RESTORE)
    if kind.startswith("SQLITE_FULL") or "disk is full" in text or (kind.startswith("SQLITE_IOERR") and is_full(path)):
        return disk_full(path)
    if kind.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
        return StoreLocked(f"{path} is locked by another program: {text}.", hint="Wait, or stop the other program.")
    if kind.startswith("SQLITE_READONLY"):
        return StoreReadOnly(f"{path} can only be read.", hint="Make the file and its folder writable.")
    if kind.startswith("SQLITE_CANTOPEN"):
        return StoreUnavailable(f"{path} cannot be opened: {text}.", hint="Check that it exists and may be read.")
    return StoreUnavailable(f"{path} cannot be used: {text}.", hint="`sojourn doctor` shows more.")
