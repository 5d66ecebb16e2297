"""Reads a Hermes `state.db` as a `History`, also while Hermes runs; never writes to it."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from sojourn.core.errors import SourceUnreadable, StoreCorrupt
from sojourn.importers.hermes_sessions import SessionIndex, SessionQueries
from sojourn.importers.sqlite_reader import DamagedDatabase, ForeignDb, list_columns
from sojourn.ports.history import HistoryChanges, RawExchange, RawMessage, SessionFacts
from sojourn.text.escape import first_words

_Answer = TypeVar("_Answer")

_STRUCTURED = b"\0json:"


@dataclass(frozen=True, slots=True)
class _Queries:
    """The SQL for this schema version: old databases lack some columns."""

    sessions: SessionQueries
    messages: str
    exchanges: str
    preview: str


class HermesHistory:
    """The sessions of one Hermes home. `home` is the folder or its `state.db`, which may be a symlink."""

    def __init__(self, home: Path) -> None:
        self.path = home if home.name == "state.db" else home / "state.db"
        self._file = ForeignDb(self.path)  # as bytes: that is what is searched, and invalid UTF-8 must not end a scan
        self._reset()

    def _reset(self) -> None:
        self._queries: _Queries | None = None
        self._index, self._opened = SessionIndex(), 0
        self._indexed_file: tuple[int, ...] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {"path": self.path, "_file": self._file}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._reset()

    def fingerprint(self) -> Hashable | None:
        def ask(db: sqlite3.Connection, _: _Queries) -> Hashable:
            return self._file.opened, self._file.seen, db.execute("PRAGMA data_version").fetchone()[0]

        return self._query(ask)

    def size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError:  # reading it will raise the error that says why
            return 0

    def sessions(self) -> list[SessionFacts]:
        self.changes()
        return self._index.list_sessions()

    def changes(self) -> HistoryChanges | None:
        changes = self._query(self._compare)
        self._index.confirm()
        return changes

    def messages(self, sessions: Sequence[str]) -> Iterator[tuple[str, list[RawMessage]]]:
        for session in sessions:
            yield session, self._read_rows(session, lambda queries: queries.messages)

    def exchanges(self, sessions: Sequence[str]) -> Iterator[tuple[str, list[RawExchange]]]:
        for session in sessions:
            yield session, self._read_rows(session, lambda queries: queries.exchanges)

    def _read_rows(self, session: str, choose_query: Callable[[_Queries], str]) -> list[Any]:
        rows = self._query(lambda db, queries: db.execute(choose_query(queries), (session,)).fetchall())
        return [_decode_odd(row) if row[3] or (row[2] and not row[2][0]) else row for row in rows]

    def previews(self, sessions: Sequence[str]) -> dict[str, str]:
        return self._query(lambda db, queries: _read_previews(db, queries, sessions))

    def close(self) -> None:
        self._file.close()

    def _compare(self, db: sqlite3.Connection, queries: _Queries) -> HistoryChanges | None:
        db.execute("BEGIN")
        try:
            return self._index.compare(db, queries.sessions)
        finally:
            db.execute("COMMIT")

    def _query(self, ask: Callable[[sqlite3.Connection, _Queries], _Answer]) -> _Answer:
        """Runs `ask` with the queries for the schema of the file that is there now."""

        def ask_current_file(db: sqlite3.Connection) -> _Answer:
            if self._queries is None or self._opened != self._file.opened:
                self._queries, self._opened = _build_queries(db), self._file.opened
                if self._indexed_file is None or self._indexed_file != self._file.identity:
                    self._indexed_file, self._index = self._file.identity, SessionIndex()
            return ask(db, self._queries)

        try:
            return self._file.query(ask_current_file)
        except DamagedDatabase as error:
            raise StoreCorrupt(str(error), hint="Hermes repairs it when it opens it.") from error


def _build_queries(db: sqlite3.Connection) -> _Queries:
    message_has = list_columns(db, "messages")
    if not message_has or not list_columns(db, "sessions"):
        raise SourceUnreadable("This database has no sessions and messages.", hint="Is it a Hermes state.db?")
    live = " AND ifnull(active, 1) = 1" if "active" in message_has else ""
    is_odd = "typeof(content) NOT IN ('text', 'null')"
    ties = ", ".join(one if one in message_has else "NULL" for one in ("tool_call_id", "effect_disposition"))
    rows = f"SELECT id, role, content, {is_odd}, tool_calls, tool_name FROM messages WHERE id IN"
    ids = f"(SELECT id FROM messages WHERE session_id = ?1{live}"
    return _Queries(
        sessions=SessionQueries.for_schema(db),
        # Asking for the ids first spares the database sorting the contents.
        messages=f"{rows} {ids}) ORDER BY id",
        exchanges=f"""SELECT id, role, CASE role WHEN 'assistant' THEN NULL ELSE content END,
            CASE role WHEN 'assistant' THEN 0 ELSE {is_odd} END, tool_calls, tool_name, {ties}, NULL
            FROM messages WHERE id IN {ids})
            AND (tool_calls IS NOT NULL OR role IN ('user', 'tool')) ORDER BY id""",
        preview="""SELECT substr(CAST(content AS BLOB), 1, 300) FROM messages
            WHERE session_id = ?1 AND role = 'user' AND content IS NOT NULL ORDER BY timestamp, id LIMIT 1""",
    )


def _read_previews(db: sqlite3.Connection, ask: _Queries, sessions: Sequence[str]) -> dict[str, str]:
    found = {}
    for session in sessions:
        row = db.execute(ask.preview, (session,)).fetchone()
        if row is not None:
            found[session] = first_words(row[0] or b"")  # SQLite returns NULL for an empty content
    return found


# -- decoding ----------------------------------------------------------------


def _decode_odd(row: tuple[Any, ...]) -> tuple[Any, ...]:
    """A row whose content is not plain text: marked JSON, a number, or bytes (which Hermes shows as Python does)."""
    number, role, content, is_no_text, *rest = row
    structured = False
    if is_no_text:
        content = (str(content) if isinstance(content, bytes) else json.dumps(content)).encode()
    elif content.startswith(_STRUCTURED):
        structured = is_json(content.removeprefix(_STRUCTURED))
        content = content.removeprefix(_STRUCTURED) if structured else content
    return number, role, content, structured, *rest


def is_json(content: str | bytes) -> bool:
    try:
        json.loads(content if isinstance(content, str) else content.decode())
    except ValueError:
        return False
    except RecursionError:  # nested too deeply for Python: the scan reports it
        pass
    return True
