"""The base of importers: finds homes, lists sessions with parents first, and reports what cannot be read.

A program's importer says where its homes are (`list_places`), which sessions a home has (`list_sessions`), and how one
is read (`read_session`). `FileImporter` is for programs with files, `DatabaseImporter` for those with a database.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from sqlite3 import Connection
from typing import Any, ClassVar, TypeVar

from sojourn.core.errors import SourceUnreadable
from sojourn.importers.jsonl import parse_object
from sojourn.importers.regular_file import MAX_FILE_BYTES, read_head, read_regular
from sojourn.importers.sqlite_reader import ForeignDb, list_columns
from sojourn.importers.transcript_builder import to_seconds
from sojourn.ports.importer import FoundHistory, SessionEntry, Transcript
from sojourn.text.escape import from_bytes

T = TypeVar("T")
_HEAD_BYTES = 16_384
_TIME = re.compile(rb'"(?:timestamp|startTime|created_at|createdAt)":\s*"([^"]{10,40})"')
# What malformed records raise where nobody expected them.
MALFORMED = (TypeError, ValueError, LookupError, AttributeError, ArithmeticError, RecursionError)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredSession:
    """A session before it is read: its file, and the id of its parent."""

    native_id: str
    path: Path
    fingerprint: str = ""
    began: float = 0.0
    parent: str = ""
    size: int = 0
    problem: str = ""


def inspect_file(native_id: str, path: Path, *beside: Path, parent: str = "") -> StoredSession:
    """A session that is a file. The files beside it, as far as they exist, change its fingerprint too."""
    try:
        stat = path.stat()
        marks = [f"{stat.st_size}:{stat.st_mtime_ns}", *map(_mark, beside)]
    except OSError as error:
        why = f"{path} cannot be read: {error.strerror or error}"
        return StoredSession(native_id=native_id, path=path, parent=parent, problem=why)
    return StoredSession(
        native_id=native_id,
        path=path,
        fingerprint=":".join(marks),
        began=to_seconds(read_start(path, _TIME)) or stat.st_mtime,
        parent=parent,
        size=stat.st_size,
    )


def _mark(path: Path) -> str:
    try:
        return str(path.stat().st_mtime_ns)
    except OSError:
        return "-"


def order_sessions(found: Iterable[StoredSession]) -> list[StoredSession]:
    """Oldest first, each once, and behind its parent."""
    known: dict[str, StoredSession] = {}
    for one in found:
        known.setdefault(one.native_id, one)
    ordered: dict[str, StoredSession] = {}
    for one in sorted(known.values(), key=lambda one: (one.began, one.native_id)):
        chain: dict[str, StoredSession] = {}
        at: StoredSession | None = one
        while at is not None and at.native_id not in ordered and at.native_id not in chain:
            chain[at.native_id] = at
            at = known.get(at.parent)
        ordered |= dict(reversed(chain.items()))
    return list(ordered.values())


class StoredSessionReader:
    """Reads a home; lists its sessions once."""

    def __init__(self, listed: Callable[[], list[StoredSession]], read: Callable[[StoredSession], Transcript]) -> None:
        self._list, self._read = listed, read

    @cached_property
    def _sessions(self) -> dict[str, StoredSession]:
        return {one.native_id: one for one in self._list()}

    def sessions(self) -> Iterator[SessionEntry]:
        for one in self._sessions.values():
            yield SessionEntry(native_id=one.native_id, fingerprint=one.fingerprint, problem=one.problem)

    def read(self, native_id: str) -> Transcript:
        one = self._sessions.get(native_id)
        if one is None:
            raise SourceUnreadable(f"Session {native_id} is gone from the history.", hint="It was deleted meanwhile.")
        return understand(lambda: self._read(one), one.path)


def understand(read: Callable[[], T], path: Path) -> T:
    """What `read` returns; SourceUnreadable also for records of a form that the importer does not know."""
    try:
        return read()
    except SourceUnreadable:
        raise
    except OSError as error:
        raise SourceUnreadable(
            f"{path} cannot be read: {error.strerror or error}.", hint="Check the file and its permissions."
        ) from error
    except MALFORMED as error:
        raise SourceUnreadable(
            f"{path} has a form that is not understood ({type(error).__name__}: {error}).",
            hint="It is damaged, or of a version that is not known yet.",
        ) from error


class FileImporter:
    """The base of importers of programs that keep each session in a file of its own."""

    name: str
    label: str

    def list_places(self, user_home: Path, environment: Mapping[str, str]) -> list[Path]:
        """The folders in which the program keeps its history, on any system."""
        raise NotImplementedError

    def list_sessions(self, home: Path) -> Iterable[StoredSession]:
        """The sessions of a folder, or the one in a file; none if it is not of this program."""
        raise NotImplementedError

    def read_session(self, one: StoredSession) -> Transcript:
        raise NotImplementedError

    def find(self, user_home: Path, environment: Mapping[str, str]) -> list[FoundHistory]:
        places = dict.fromkeys(self.list_places(user_home, environment))
        return [found for place in places if (found := self._inspect(place, usual=True))]

    def claims(self, path: Path) -> FoundHistory | None:
        return self._inspect(path)

    def _inspect(self, home: Path, *, usual: bool = False) -> FoundHistory | None:
        try:
            listed = order_sessions(self.list_sessions(home)) if not usual or home.is_dir() else []
        except OSError as error:
            why = f"{home} cannot be read: {error.strerror or error}."
            return FoundHistory(source=self.name, home=home, problem=why)
        if not listed:
            return None
        return FoundHistory(
            source=self.name,
            home=home,
            sessions=len(listed),
            bytes=sum(one.size for one in listed),
            problem=listed[0].problem if all(one.problem for one in listed) else "",
        )

    @contextmanager
    def open(self, home: Path) -> Iterator[StoredSessionReader]:
        yield StoredSessionReader(
            lambda: understand(lambda: order_sessions(self.list_sessions(home)), home), self.read_session
        )


class DatabaseImporter:
    """The base of importers of programs that keep all sessions in a SQLite database."""

    name: str
    label: str
    file_name: ClassVar[str]
    columns: ClassVar[Mapping[str, str]]  # a column of each table, by which its database is known

    def list_places(self, user_home: Path, environment: Mapping[str, str]) -> list[Path]:
        """The database files, on any system."""
        raise NotImplementedError

    def list_rows(self, db: Connection, path: Path) -> Iterable[StoredSession]:
        raise NotImplementedError

    def read_rows(self, db: Connection, one: StoredSession) -> Transcript:
        raise NotImplementedError

    def find(self, user_home: Path, environment: Mapping[str, str]) -> list[FoundHistory]:
        places = dict.fromkeys(self.list_places(user_home, environment))
        return [found for place in places if (found := self._inspect(place, usual=True))]

    def claims(self, path: Path) -> FoundHistory | None:
        return self._inspect(path / self.file_name if path.is_dir() else path)

    def _inspect(self, path: Path, *, usual: bool = False) -> FoundHistory | None:
        try:
            if path.parent.is_dir() and not path.is_file():
                return None
            size = path.stat().st_size
            with self._open_database(path) as database:
                if not database.query(self._is_known):
                    return None
                listed = self._list(database)
        except FileNotFoundError:
            return None
        except OSError as error:
            why = f"{path} cannot be read: {error.strerror or error}."
            return FoundHistory(source=self.name, home=path, problem=why)
        except SourceUnreadable as error:
            is_ours = usual or path.name == self.file_name
            return FoundHistory(source=self.name, home=path, problem=str(error)) if is_ours else None
        return FoundHistory(source=self.name, home=path, sessions=len(listed), bytes=size) if listed else None

    def _is_known(self, db: Connection) -> bool:
        return all(column in list_columns(db, table) for table, column in self.columns.items())

    def _list(self, database: ForeignDb) -> list[StoredSession]:
        return database.query(
            lambda db: understand(lambda: order_sessions(self.list_rows(db, database.path)), database.path)
        )

    @contextmanager
    def _open_database(self, path: Path) -> Iterator[ForeignDb]:
        database = ForeignDb(path, text_factory=from_bytes)
        try:
            yield database
        finally:
            database.close()

    @contextmanager
    def open(self, home: Path) -> Iterator[StoredSessionReader]:
        with self._open_database(home) as database:
            yield StoredSessionReader(
                lambda: self._list(database), lambda one: database.query(lambda db: self.read_rows(db, one))
            )


def read_document(path: Path) -> Any:
    """The JSON value of a whole file. SourceUnreadable."""
    try:
        return json.loads(from_bytes(read_regular(path, MAX_FILE_BYTES // 8)))
    except OSError as error:
        raise SourceUnreadable(
            f"{path} cannot be read: {error.strerror or error}.", hint="Check the file and its permissions."
        ) from error
    except (ValueError, RecursionError) as error:
        raise SourceUnreadable(f"{path} is not JSON: {error}.", hint="It may be damaged, or half written.") from error


def read_side_document(path: Path) -> dict[str, Any]:
    """A small JSON object beside a session; empty if there is none."""
    try:
        return parse_object(read_regular(path)) or {}
    except OSError:
        return {}


def read_start(path: Path, pattern: re.Pattern[bytes]) -> str:
    """What a pattern finds in the beginning of a file; empty if it finds nothing, or the file cannot be read."""
    try:
        found = pattern.search(read_head(path, _HEAD_BYTES))
    except OSError:
        return ""
    return from_bytes(found[1]) if found else ""


def list_data_folders(user_home: Path, environment: Mapping[str, str], unix: str, mac: str, windows: str) -> list[Path]:
    """The folders of an application's data: on Linux, macOS and Windows."""
    data = environment.get("XDG_DATA_HOME")
    roaming = environment.get("APPDATA")
    return [
        (Path(data) if data else user_home / ".local" / "share") / unix,
        user_home / "Library" / "Application Support" / mac,
        (Path(roaming) if roaming else user_home / "AppData" / "Roaming") / windows,
    ]
