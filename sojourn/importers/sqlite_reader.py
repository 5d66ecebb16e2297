"""Reads a SQLite file of another program while that program runs; never writes, and creates no files beside it.

A database that no process has open (there is no `-wal` file) is read without locks, and a query is repeated if the file
changed meanwhile. Otherwise it is opened read-only. If that is impossible (a write-ahead log in a folder without write
permission), a temporary copy is read.
"""

from __future__ import annotations

import math
import os
import shutil
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from sojourn.core.errors import SourceUnreadable
from sojourn.importers.regular_file import MAX_LINE_BYTES, open_descriptor

T = TypeVar("T")
_BUSY_SECONDS = 5.0
_MAX_ATTEMPTS = 5
MAX_QUERY_SECONDS = 30.0
_PROGRESS_STEPS = 10_000  # of the database, between two looks at the clock


class ForeignDb:
    """A foreign SQLite database. Picklable: only paths are pickled. `path` may be a symlink."""

    def __init__(self, path: Path, *, text_factory: Callable[[bytes], Any] = bytes) -> None:
        self.path, self._text_factory = path, text_factory
        self._copied_to: Path | None = None  # when the real file cannot be opened in place
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self.seen: tuple[int, ...] | None = None  # the file as it was when it was opened
        self._log: Path | None = None  # its write-ahead log, if the connection does not see new commits
        self._until = math.inf  # when a query has taken too long
        self.opened = 0  # number of times the file was opened; the schema may differ each time

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "_text_factory": self._text_factory, "_copied_to": self._copied_to}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset()

    @property
    def identity(self) -> tuple[int, ...] | None:
        """Device and inode of the file; None before it is opened."""
        return self.seen[:2] if self.seen else None

    def query(self, ask: Callable[[sqlite3.Connection], T]) -> T:
        """Runs `ask` until the file did not change meanwhile, so that the answer is consistent."""
        with self._lock:
            for _ in range(_MAX_ATTEMPTS):
                self._until = time.monotonic() + MAX_QUERY_SECONDS
                try:
                    answer = ask(self._connection())
                except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
                    if self._is_late():
                        raise SourceUnreadable(
                            f"{self.path} takes longer than {MAX_QUERY_SECONDS:g} seconds to read.",
                            hint="It may be damaged, or made to keep us busy.",
                        ) from error
                    if not self._is_unchanged():  # read without locks during a write: try again
                        continue
                    raise to_unreadable(error, self.path) from error
                if self._is_unchanged():
                    return answer
        raise SourceUnreadable(
            f"{self.path} keeps changing while it is read.", hint="Try again when its program is less busy."
        )

    def close(self) -> None:
        with self._lock:
            if self._db is not None:
                self._db.close()
            if self._copy is not None:
                self._copy.cleanup()
                self._copied_to = None
            self._db = self._copy = self.seen = self._log = None

    def _connection(self) -> sqlite3.Connection:
        if not self._is_unchanged():
            self.close()
        if self._db is None:
            self._db = self._open()
            self.opened += 1
        return self._db

    def _is_unchanged(self) -> bool:
        """Whether the file is still the one that was opened."""
        return self.seen is None or self.seen == _read_state(self.path, self._log)

    def _open(self) -> sqlite3.Connection:
        if self._copied_to is not None:  # made by the process that pickled this object
            return self._connect(self._copied_to, "mode=ro")
        real = Path(os.path.realpath(self.path))  # does not fail on a link to itself
        if not real.is_file():  # no pipe, no device
            raise SourceUnreadable(f"There is no database at {self.path}.", hint="Give the program's data folder.")
        log = real.with_name(real.name + "-wal")
        is_quiet = not log.exists() and _is_wal_database(real)
        self._log = log if is_quiet else None
        self.seen = _read_state(self.path, self._log)
        try:
            return self._connect(real, "mode=ro&immutable=1" if is_quiet else "mode=ro")
        except sqlite3.DatabaseError as error:
            if "unable to open" not in str(error) or not os.access(real, os.R_OK):
                raise to_unreadable(error, self.path) from error
        return self._open_copy(real, log)

    def _open_copy(self, real: Path, log: Path) -> sqlite3.Connection:
        self._log, self.seen = log, _read_state(self.path, log)
        self._copy = tempfile.TemporaryDirectory(prefix="sojourn-foreign-")
        copy = Path(self._copy.name) / real.name
        shutil.copyfile(real, copy)
        if log.exists():
            shutil.copyfile(log, copy.with_name(log.name))
        self._copied_to = copy
        return self._connect(copy, "mode=ro")

    def _connect(self, path: Path, how: str) -> sqlite3.Connection:
        db = sqlite3.connect(
            f"file:{quote(str(path))}?{how}",
            uri=True,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            db.execute("PRAGMA query_only=ON")
            db.execute("PRAGMA trusted_schema=OFF")
            db.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_LINE_BYTES)
            db.set_authorizer(_authorize)
            db.set_progress_handler(self._is_late, _PROGRESS_STEPS)
            db.execute("SELECT 1 FROM sqlite_master").fetchone()
        except UnicodeDecodeError as error:  # its message repeats a name from the damaged file
            db.close()
            raise sqlite3.DatabaseError("its schema is not text") from error
        except sqlite3.Error:
            db.close()
            raise
        db.text_factory = self._text_factory
        return db

    def _is_late(self) -> bool:
        return time.monotonic() > self._until


class DamagedDatabase(SourceUnreadable):
    """The file is a database, but a damaged one."""


def _authorize(action: int, what: str | None, column: str | None, database: str | None, through: str | None) -> int:
    """Refuses to read through a view or a trigger: what it computes is chosen by who made the file."""
    return sqlite3.SQLITE_DENY if through is not None else sqlite3.SQLITE_OK


def to_unreadable(error: Exception, path: Path) -> SourceUnreadable:
    """Translates an error of SQLite."""
    if "prohibited" in str(error) or "not authorized" in str(error):
        return SourceUnreadable(
            f"{path} has a view where its program has a table ({error}).", hint="It was not made by that program."
        )
    if isinstance(error, sqlite3.OperationalError):
        return SourceUnreadable(f"{path} cannot be read: {error}.", hint="Check the file and its permissions.")
    return DamagedDatabase(f"{path} is damaged: {error}.", hint="Let the program it belongs to repair it, or copy it.")


def list_columns(db: sqlite3.Connection, table: str) -> set[str]:
    """The names of a table's columns; none when there is no such table."""
    return {_decode_name(row[1]) for row in db.execute(f"PRAGMA table_info({table})")}


def list_tables(db: sqlite3.Connection) -> set[str]:
    return {
        _decode_name(row[0]) for row in db.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")
    }


def query_rows(db: sqlite3.Connection, query: str, *values: Any) -> Iterator[dict[str, Any]]:
    """The rows of a query, each by column name."""
    cursor = db.execute(query, values)
    names = [str(column[0]) for column in cursor.description]
    for row in cursor:
        yield dict(zip(names, row, strict=True))


def _decode_name(raw: bytes | str) -> str:
    return raw.decode() if isinstance(raw, bytes) else raw


# The files opened by `_is_wal_database`, by device and inode; each stays open for as long as it exists. Closing *any*
# descriptor of a file releases all POSIX locks this process holds on it, including those of SQLite's own connections:
# another program could then checkpoint or truncate the log while they read.
_descriptors: dict[tuple[int, int], int] = {}


def _is_wal_database(path: Path) -> bool:
    found = path.stat()
    descriptor = _descriptors.get((found.st_dev, found.st_ino))
    return os.pread(_open_forever(path) if descriptor is None else descriptor, 2, 18) == b"\x02\x02"


def _open_forever(path: Path) -> int:
    for identity, one in list(_descriptors.items()):
        if not os.fstat(one).st_nlink and _descriptors.pop(identity, None) is not None:
            os.close(one)  # the file was deleted: no lock on it matters
    descriptor = open_descriptor(path)
    found = os.fstat(descriptor)
    _descriptors[found.st_dev, found.st_ino] = descriptor
    return descriptor


def _read_state(path: Path, log: Path | None) -> tuple[int, ...]:
    """The identity of the file; with `log`, also the sizes and times that a write changes."""
    try:
        stat = path.stat()
    except OSError:
        return ()
    if log is None:
        return stat.st_dev, stat.st_ino
    try:
        logged = log.stat()
        log_state = logged.st_mtime_ns, logged.st_size
    except OSError:
        log_state = -1, -1
    return stat.st_dev, stat.st_ino, stat.st_mtime_ns, stat.st_size, *log_state
