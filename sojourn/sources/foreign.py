"""Another program's SQLite file: read while that program runs, never written, nothing left behind.

A database nobody has open (no `-wal` beside it) is read without any lock or side file, and every
answer is thrown away and asked again if the file changed meanwhile. Otherwise it is opened
read-only like any second reader. Where not even that is possible (a write-ahead log in a folder
we may not write to), a copy is read.
"""

from __future__ import annotations

import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from sojourn.core.errors import SourceUnreadable

T = TypeVar("T")
_BUSY_SECONDS = 5.0
_TRIES = 5


class ForeignDb:
    """Picklable: only paths travel. `path` may be a symlink."""

    def __init__(self, path: Path, *, text_factory: Callable[[bytes], Any] = bytes) -> None:
        self.path, self._text_factory = path, text_factory
        self._copied_to: Path | None = None  # when the real file cannot be opened in place
        self._fresh()

    def _fresh(self) -> None:
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._seen: tuple[int, ...] | None = None  # the file as it was when it was opened
        self._log: Path | None = None  # its write-ahead log, if what we read does not follow the file by itself
        self.opened = 0  # how often: an answer from another opening may differ

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "_text_factory": self._text_factory, "_copied_to": self._copied_to}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._fresh()

    @property
    def seen(self) -> tuple[int, ...] | None:
        return self._seen

    @property
    def identity(self) -> tuple[int, ...] | None:
        """Which file this is, however often it is opened; None when nothing is known about it."""
        return self._seen[:2] if self._seen else None

    def asked(self, ask: Callable[[sqlite3.Connection], T]) -> T:
        """Asks until the answer is known to be of one piece."""
        with self._lock:
            for _ in range(_TRIES):
                try:
                    answer = ask(self._connection())
                except sqlite3.DatabaseError as error:
                    if not self._is_still():  # read without locks while somebody wrote: ask again
                        continue
                    raise unreadable(error, self.path) from error
                if self._is_still():
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
            self._db = self._copy = self._seen = self._log = None

    def _connection(self) -> sqlite3.Connection:
        if not self._is_still():
            self.close()
        if self._db is None:
            self._db = self._open()
            self.opened += 1
        return self._db

    def _is_still(self) -> bool:
        """Whether the connection still shows the file that is there now."""
        return self._seen is None or self._seen == _state(self.path, self._log)

    def _open(self) -> sqlite3.Connection:
        if self._copied_to is not None:  # the copy of the process that sent us
            return self._connected(self._copied_to, "mode=ro")
        real = self.path.resolve()
        if not real.is_file():
            raise SourceUnreadable(f"There is no database at {self.path}.", hint="Give the program's data folder.")
        log = real.with_name(real.name + "-wal")
        is_quiet = not log.exists() and _is_wal_database(real)
        self._log = log if is_quiet else None
        self._seen = _state(self.path, self._log)
        try:
            return self._connected(real, "mode=ro&immutable=1" if is_quiet else "mode=ro")
        except sqlite3.DatabaseError as error:
            if "unable to open" not in str(error) or not os.access(real, os.R_OK):
                raise unreadable(error, self.path) from error
        return self._opened_copy(real, log)

    def _opened_copy(self, real: Path, log: Path) -> sqlite3.Connection:
        self._log, self._seen = log, _state(self.path, log)
        self._copy = tempfile.TemporaryDirectory(prefix="sojourn-foreign-")
        copy = Path(self._copy.name) / real.name
        shutil.copyfile(real, copy)
        if log.exists():
            shutil.copyfile(log, copy.with_name(log.name))
        self._copied_to = copy
        return self._connected(copy, "mode=ro")

    def _connected(self, path: Path, how: str) -> sqlite3.Connection:
        db = sqlite3.connect(
            f"file:{quote(str(path))}?{how}",
            uri=True,
            timeout=_BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            db.execute("PRAGMA query_only=ON")
            db.execute("SELECT 1 FROM sqlite_master").fetchone()
        except sqlite3.Error:
            db.close()
            raise
        db.text_factory = self._text_factory
        return db


class Damaged(SourceUnreadable):
    """The file is there and is a database, but not a whole one."""


def unreadable(error: sqlite3.Error, path: Path) -> SourceUnreadable:
    """A foreign file that is there but cannot be read, in our words."""
    if isinstance(error, sqlite3.OperationalError):
        return SourceUnreadable(f"{path} cannot be read: {error}.", hint="Is it the right file, and may you read it?")
    return Damaged(f"{path} is damaged: {error}.", hint="Let the program it belongs to repair it, or copy it.")


def columns(db: sqlite3.Connection, table: str) -> set[str]:
    """The names of a table's columns; none when there is no such table."""
    return {_name(row[1]) for row in db.execute(f"PRAGMA table_info({table})")}


def tables(db: sqlite3.Connection) -> set[str]:
    return {_name(row[0]) for row in db.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view')")}


def _name(raw: bytes | str) -> str:
    return raw.decode() if isinstance(raw, bytes) else raw


class OpenFiles:
    """Reads single bytes of database files and keeps each file open for as long as it exists.

    Closing *any* descriptor of a file releases all POSIX locks this process holds on it, including those of SQLite's
    own connections: another program could then checkpoint or truncate the log while they read.
    """

    def __init__(self) -> None:
        self._descriptors: dict[tuple[int, int], int] = {}

    def read(self, path: Path, size: int, offset: int) -> bytes:
        found = path.stat()
        descriptor = self._descriptors.get((found.st_dev, found.st_ino))
        return os.pread(self._open(path) if descriptor is None else descriptor, size, offset)

    def _open(self, path: Path) -> int:
        for identity, one in list(self._descriptors.items()):
            if not os.fstat(one).st_nlink and self._descriptors.pop(identity, None) is not None:
                os.close(one)  # the file was deleted: no lock on it matters
        descriptor = os.open(path, os.O_RDONLY)
        found = os.fstat(descriptor)
        self._descriptors[found.st_dev, found.st_ino] = descriptor
        return descriptor


open_files = OpenFiles()  # one per process, because POSIX locks belong to the process


def _is_wal_database(path: Path) -> bool:
    return open_files.read(path, 2, 18) == b"\x02\x02"


def _state(path: Path, log: Path | None) -> tuple[int, ...]:
    """Which file this is; with its write-ahead log, also how far it is."""
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
