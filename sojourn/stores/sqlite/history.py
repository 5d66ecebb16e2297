"""The store's rows in bulk, for scanners in other processes."""

from __future__ import annotations

import sqlite3
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path

from sojourn.ports.history import Changes, RawExchange, RawMessage, SessionFacts
from sojourn.stores.facts import KnownFacts
from sojourn.stores.sqlite.connect import connect, translated
from sojourn.text.escape import first_words, to_bytes, unescape

_FACTS = """
SELECT s.id, s.source, s.title, s.model, s.started_at, s.archived, s.rewind_count, s.principal, s.rowid, m.*
FROM sessions s LEFT JOIN (
    SELECT count(*), sum(active), max(id), max(timestamp), session_id FROM messages {where} GROUP BY session_id
) m ON m.session_id = s.id {where_too}
"""
_EVERY = _FACTS.format(where="", where_too="")
_ONE = _FACTS.format(where="WHERE session_id = ?1", where_too="WHERE s.id = ?1")
_TOUCHED = "SELECT DISTINCT session_id FROM changes WHERE n > ?"
_ROWS = """
SELECT id, role, content, structured, tool_calls, tool_name
FROM messages WHERE session_id = ? AND active = 1 ORDER BY seq
"""
_EXCHANGES = """
SELECT id, role, CASE role WHEN 'assistant' THEN NULL ELSE content END, structured, tool_calls, tool_name,
       tool_call_id, effect_disposition, extra
FROM messages WHERE session_id = ? AND active = 1 AND (tool_calls IS NOT NULL OR role IN ('user', 'tool')) ORDER BY seq
"""
_FIRST = """
SELECT substr(CAST(content AS BLOB), 1, 400), structured FROM messages
WHERE session_id = ? AND role = 'user' AND content IS NOT NULL ORDER BY timestamp, id LIMIT 1
"""


class SqliteHistory:
    """Picklable: only the path travels; each process opens the file for itself."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fresh()

    def _fresh(self) -> None:
        self._connection: sqlite3.Connection | None = None
        self._facts, self._change = KnownFacts(), -1

    def __getstate__(self) -> Path:
        return self.path

    def __setstate__(self, path: Path) -> None:
        self.path = path
        self._fresh()

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = connect(self.path, read_only=True)
            self._connection.row_factory = None
            self._connection.text_factory = bytes
        return self._connection

    def mark(self) -> Hashable | None:
        with translated(self.path):
            return id(self._open()), int(self._open().execute("PRAGMA data_version").fetchone()[0])

    def size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError:  # whoever reads it will say why
            return 0

    def sessions(self) -> list[SessionFacts]:
        """All are read once; after that only those which the feed of changes names."""
        self.changes()
        return self._facts.listed()

    def changes(self) -> Changes | None:
        with translated(self.path):
            db = self._open()
            db.execute("BEGIN")  # all of it as of one moment
            try:
                return self._look(db)
            finally:
                db.execute("COMMIT")

    def _look(self, db: sqlite3.Connection) -> Changes | None:
        """What the feed names since the last look; None when that does not add up, and everything was read."""
        newest = db.execute("SELECT max(n) FROM changes").fetchone()[0] or 0
        told = None
        if 0 <= self._change <= newest:
            touched = [row[0] for row in db.execute(_TOUCHED, (self._change,))]
            rows = (row[:-1] for id_ in touched for row in db.execute(_ONE, (id_.decode(),)))
            told = self._facts.change(touched, rows)
        if len(self._facts) != db.execute("SELECT count(*) FROM sessions").fetchone()[0]:
            told = None  # another store lies here now
        if told is None:
            self._facts.list_again(row[:-1] for row in db.execute(_EVERY))
        self._change = newest
        return told

    def messages(self, sessions: Sequence[str]) -> Iterator[tuple[str, list[RawMessage]]]:
        for session in sessions:
            with translated(self.path):
                rows = self._open().execute(_ROWS, (session,)).fetchall()
            yield session, [_plain(row) if _is_escaped(row) else row for row in rows]

    def exchanges(self, sessions: Sequence[str]) -> Iterator[tuple[str, list[RawExchange]]]:
        for session in sessions:
            with translated(self.path):
                rows = self._open().execute(_EXCHANGES, (session,)).fetchall()
            yield session, [_plain_exchange(row) if _is_escaped(row) else row for row in rows]

    def previews(self, sessions: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        with translated(self.path):
            for session in sessions:
                if row := self._open().execute(_FIRST, (session,)).fetchone():
                    found[session] = "" if row[1] else first_words(_raw(row[0]) or b"")
        return found

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._fresh()


def _is_escaped(row: RawMessage | RawExchange) -> bool:
    return any(isinstance(value, bytes) and b"\x1a" in value for value in row)


def _plain(row: RawMessage) -> RawMessage:
    number, role, content, structured, calls, tool = row
    return number, _raw(role), _raw(content), structured, _raw(calls), _raw(tool)


def _plain_exchange(row: RawExchange) -> RawExchange:
    return (*_plain(row[:6]), _raw(row[6]), _raw(row[7]), _raw(row[8]))


def _raw(value: bytes | None) -> bytes | None:
    return None if value is None else to_bytes(unescape(value.decode("utf-8", "replace")))
