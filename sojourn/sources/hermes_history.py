"""A Hermes `state.db` as a `History`: read while Hermes runs, never written, nothing left behind.

A database nobody has open (no `-wal` beside it) is read without any lock or side file, and every answer is
thrown away and asked again if the file changed meanwhile. Otherwise it is opened read-only like any second
reader. Where not even that is possible (a write-ahead log in a folder we may not write to), a copy is read.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from sojourn.core.errors import SourceUnreadable, StoreCorrupt
from sojourn.ports.history import RawMessage, SessionFacts

_Answer = TypeVar("_Answer")
_BUSY_SECONDS = 5.0
_TRIES = 5

_STRUCTURED = b"\0json:"
_ENDS = ("MAX(id)", "COUNT(*)")


@dataclass(frozen=True, slots=True)
class _Queries:
    """The questions, in the words of this database's version: old ones lack some columns."""

    sessions: str
    counts: str  # per session: rows, live rows, newest time, last row, removed rows
    count_one: str
    removed: str  # per session: removed rows, found by index; empty where that would mean reading everything
    messages: str
    preview: str


class HermesHistory:
    """The sessions of one Hermes home. `home` is the folder or its `state.db`, which may be a symlink."""

    def __init__(self, home: Path) -> None:
        self.path = home if home.name == "state.db" else home / "state.db"
        self._reading: Path | None = None  # a copy, when the real file cannot be opened in place
        self._fresh()

    def _fresh(self) -> None:
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._copy: tempfile.TemporaryDirectory[str] | None = None
        self._seen: tuple[int, ...] | None = None  # the file as it was when it was opened
        self._log: Path | None = None  # its write-ahead log, if what we read does not follow the file by itself
        self._opened = 0
        self._counts = _Counts()

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "_reading": self._reading}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._fresh()

    # -- the port ----------------------------------------------------------

    def mark(self) -> Hashable | None:
        def ask(db: sqlite3.Connection) -> Hashable:
            return self._opened, self._seen, db.execute("PRAGMA data_version").fetchone()[0]

        return self._asked(ask)

    def sessions(self) -> list[SessionFacts]:
        return self._asked(self._listed)

    def messages(self, sessions: Sequence[str]) -> Iterator[tuple[str, list[RawMessage]]]:
        for session in sessions:
            yield session, self._asked(partial(self._rows, session))

    def previews(self, sessions: Sequence[str]) -> dict[str, str]:
        return self._asked(lambda db: _previews(db, self._queries, sessions))

    def close(self) -> None:
        with self._lock:
            if self._db is not None:
                self._db.close()
            if self._copy is not None:
                self._copy.cleanup()
                self._reading = None
            self._db = self._copy = self._seen = self._log = None

    def _listed(self, db: sqlite3.Connection) -> list[SessionFacts]:
        db.execute("BEGIN")  # all of it as of one moment
        try:
            return _sessions(db, self._queries, self._counts.of_all(db, self._queries))
        finally:
            db.execute("COMMIT")

    def _rows(self, session: str, db: sqlite3.Connection) -> list[RawMessage]:
        return [_odd(row) if row[3] else row for row in db.execute(self._queries.messages, (session,))]

    # -- opening -----------------------------------------------------------

    def _asked(self, ask: Callable[[sqlite3.Connection], _Answer]) -> _Answer:
        """Asks until the answer is known to be of one piece."""
        with self._lock:
            for _ in range(_TRIES):
                db = self._connection()
                try:
                    answer = ask(db)
                except sqlite3.DatabaseError as error:
                    if not self._is_still():  # read without locks while somebody wrote: ask again
                        continue
                    raise _ours(error, self.path) from error
                if self._is_still():
                    return answer
            raise SourceUnreadable(
                f"{self.path} keeps changing while it is read.", hint="Try again when Hermes is less busy."
            )

    def _connection(self) -> sqlite3.Connection:
        if not self._is_still():
            self.close()
        if self._db is None:
            self._db = self._open()
            self._opened += 1
            self._queries = _queries(self._db)
            self._counts = _Counts()
        return self._db

    def _is_still(self) -> bool:
        """Whether the connection still shows the file that is there now."""
        return self._seen is None or self._seen == _state(self.path, self._log)

    def _open(self) -> sqlite3.Connection:
        if self._reading is not None:  # the copy of the process that sent us
            return _connected(self._reading, "mode=ro")
        real = self.path.resolve()
        if not real.is_file():
            raise SourceUnreadable(f"There is no Hermes history at {self.path}.", hint="Give the Hermes home folder.")
        log = real.with_name(real.name + "-wal")
        is_quiet = not log.exists() and _is_wal_database(real)
        self._log = log if is_quiet else None
        self._seen = _state(self.path, self._log)
        try:
            db = _connected(real, "mode=ro&immutable=1" if is_quiet else "mode=ro")
            db.execute("SELECT 1 FROM sqlite_master").fetchone()
            return db
        except sqlite3.OperationalError as error:
            if "unable to open" not in str(error) or not os.access(real, os.R_OK):
                raise _ours(error, self.path) from error
        except sqlite3.DatabaseError as error:
            raise _ours(error, self.path) from error
        return self._opened_copy(real, log)

    def _opened_copy(self, real: Path, log: Path) -> sqlite3.Connection:
        self._log, self._seen = log, _state(self.path, log)
        self._copy = tempfile.TemporaryDirectory(prefix="sojourn-hermes-")
        copy = Path(self._copy.name) / "state.db"
        shutil.copyfile(real, copy)
        if log.exists():
            shutil.copyfile(log, copy.with_name("state.db-wal"))
        self._reading = copy
        return _connected(copy, "mode=ro")


def _connected(path: Path, how: str) -> sqlite3.Connection:
    db = sqlite3.connect(
        f"file:{quote(str(path))}?{how}", uri=True, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
    )
    db.execute("PRAGMA query_only=ON")
    db.text_factory = bytes  # rows are searched as bytes, and one row of invalid UTF-8 must not end the scan
    return db


def _is_wal_database(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(20)[18:20] == b"\x02\x02"


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


def _ours(error: sqlite3.Error, path: Path) -> SourceUnreadable | StoreCorrupt:
    if isinstance(error, sqlite3.OperationalError):
        return SourceUnreadable(f"{path} cannot be read: {error}.", hint="Is it a Hermes home, and readable?")
    return StoreCorrupt(f"{path} is damaged: {error}.", hint="Hermes repairs it when it opens it.")


# -- asking ------------------------------------------------------------------


def _queries(db: sqlite3.Connection) -> _Queries:
    def columns(table: str) -> set[str]:
        return {row[1].decode() for row in db.execute(f"PRAGMA table_info({table})")}

    session_has, message_has = columns("sessions"), columns("messages")
    if not session_has or not message_has:
        raise SourceUnreadable("This database has no sessions and messages.", hint="Is it a Hermes state.db?")
    wanted = ("source", "title", "model", "started_at", "archived", "rewind_count")
    facts = ", ".join(name if name in session_has else "NULL" for name in wanted)
    can_remove = "active" in message_has
    live = " AND ifnull(active, 1) = 1" if can_remove else ""
    dead = "SUM(active IS NOT NULL AND active <> 1)" if can_remove else "0"
    numbers = f"COUNT(*), COUNT(*) - {dead}, MAX(timestamp), MAX(id), {'SUM(active = 0)' if can_remove else '0'}"
    removed = "SELECT id, (SELECT COUNT(*) FROM messages WHERE session_id = s.id AND active = 0) FROM sessions s"
    return _Queries(
        sessions=f"SELECT id, {facts} FROM sessions ORDER BY started_at DESC, rowid",
        counts=f"SELECT session_id, {numbers} FROM messages GROUP BY 1",
        count_one=f"SELECT {numbers} FROM messages WHERE session_id = ?1",
        removed=removed if can_remove and _is_by_index(db, removed) else "",
        # Asking for the ids first spares the database sorting the contents. The fourth column is 1 for text
        # that is empty or begins with NUL, 2 for what is no text at all.
        messages=f"""SELECT id, role, content,
            CASE typeof(content) WHEN 'text' THEN content < char(1) WHEN 'null' THEN 0 ELSE 2 END, tool_calls, tool_name
            FROM messages WHERE id IN (SELECT id FROM messages WHERE session_id = ?1{live}) ORDER BY id""",
        preview="""SELECT substr(CAST(content AS BLOB), 1, 300) FROM messages
            WHERE session_id = ?1 AND role = 'user' AND content IS NOT NULL ORDER BY timestamp, id LIMIT 1""",
    )


def _is_by_index(db: sqlite3.Connection, query: str) -> bool:
    return any(b"session_id=? AND active=?" in row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query}"))


_Count = tuple[int, int, float | None, int, int | None]


class _Counts:
    """How many rows each session has. Counted once; after that only where rows came or were removed."""

    def __init__(self) -> None:
        self._known: dict[bytes, _Count] | None = None
        self._last, self._total = 0, 0

    def of_all(self, db: sqlite3.Connection, ask: _Queries) -> dict[bytes, _Count]:
        last, total = (row[0] or 0 for row in (db.execute(f"SELECT {one} FROM messages").fetchone() for one in _ENDS))
        known = self._known
        changed = None if known is None or not ask.removed else self._changed(db, ask, known, total)
        if known is None or changed is None:
            known = {row[0]: row[1:] for row in db.execute(ask.counts)}
        else:
            known = known | {one: db.execute(ask.count_one, (one.decode(),)).fetchone() for one in changed}
        self._known, self._last, self._total = known, last, total
        return known

    def _changed(
        self, db: sqlite3.Connection, ask: _Queries, known: dict[bytes, _Count], total: int
    ) -> set[bytes] | None:
        """The sessions to count again; None when rows are gone and everything has to be counted again."""
        new = [row[0] for row in db.execute("SELECT session_id FROM messages WHERE id > ?1", (self._last,))]
        if total != self._total + len(new):
            return None
        moved = {id_ for id_, removed in db.execute(ask.removed) if removed != (known[id_][4] if id_ in known else 0)}
        return moved | set(new)


def _sessions(db: sqlite3.Connection, ask: _Queries, counts: dict[bytes, _Count]) -> list[SessionFacts]:
    found = []
    for id_, source, title, model, started_at, archived, rewinds in db.execute(ask.sessions):
        if not isinstance(id_, bytes) or not id_:
            continue
        started = _time(started_at) or 0.0
        rows, active, newest, last, _ = counts.get(id_, (0, 0, None, 0, 0))
        found.append(
            SessionFacts(
                id=_text(id_) or "", source=_text(source), title=_text(title), model=_text(model),
                started_at=started, archived=bool(archived), last_active=_time(newest) or started,
                rows=rows, active_rows=active, last_row=last, rewinds=rewinds or 0,
            )
        )  # fmt: skip
    return found


def _previews(db: sqlite3.Connection, ask: _Queries, sessions: Sequence[str]) -> dict[str, str]:
    found = {}
    for session in sessions:
        row = db.execute(ask.preview, (session,)).fetchone()
        if row is not None:
            found[session] = _opening_words(row[0] or b"")  # of an empty content SQLite makes nothing
    return found


# -- decoding ----------------------------------------------------------------


def _text(value: object) -> str | None:
    if value is None:
        return None
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _time(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _odd(row: tuple[Any, ...]) -> RawMessage:
    """A row whose content is not plain text: marked JSON, a number, or bytes (which Hermes shows as Python does)."""
    number, role, content, kind, tool_calls, tool_name = row
    if kind == 2:
        shown = str(content) if isinstance(content, bytes) else json.dumps(content)
        return number, role, shown.encode(), False, tool_calls, tool_name
    if content.startswith(_STRUCTURED):
        try:
            json.loads(content[len(_STRUCTURED) :].decode())
        except ValueError:
            return number, role, content, False, tool_calls, tool_name
        return number, role, content[len(_STRUCTURED) :], True, tool_calls, tool_name
    return number, role, content, False, tool_calls, tool_name


def _opening_words(content: bytes) -> str:
    """The start of a message on one line, as Hermes' lists show it: it ends at the first NUL."""
    start = content.split(b"\0", 1)[0].decode("utf-8", "ignore").replace("\n", " ").replace("\r", " ")[:63].strip()
    return start[:60] + "..." if len(start) > 60 else start
