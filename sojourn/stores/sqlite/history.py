"""ports.history.History of a SQLite store: bulk reads for scanners in other processes."""

from __future__ import annotations

import sqlite3
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path

from sojourn.ports.history import HistoryChanges, RawExchange, RawMessage, SessionFacts
from sojourn.stores.sql.session_facts import SessionFactsCache
from sojourn.stores.sqlite.connect import connect, translate_errors
from sojourn.text.escape import first_words, to_bytes, unescape

_FACTS = """
SELECT s.id, s.source, s.title, s.model, s.started_at, s.archived, s.rewind_count, s.principal, s.rowid, m.*
FROM sessions s LEFT JOIN (
    SELECT count(*), sum(active), max(id), max(timestamp), session_id FROM messages {where} GROUP BY session_id
) m ON m.session_id = s.id {where_too}
"""
_ALL_FACTS = _FACTS.format(where="", where_too="")
_SESSION_FACTS = _FACTS.format(where="WHERE session_id = ?1", where_too="WHERE s.id = ?1")
_CHANGED_IDS = "SELECT DISTINCT session_id FROM changes WHERE n > ?"
_ROWS = """
SELECT id, role, content, structured, tool_calls, tool_name
FROM messages WHERE session_id = ? AND active = 1 ORDER BY seq
"""
_EXCHANGES = """
SELECT id, role, CASE role WHEN 'assistant' THEN NULL ELSE content END, structured, tool_calls, tool_name,
       tool_call_id, effect_disposition, extra
FROM messages WHERE session_id = ? AND active = 1 AND (tool_calls IS NOT NULL OR role IN ('user', 'tool')) ORDER BY seq
"""
_FIRST_USER_MESSAGE = """
SELECT substr(CAST(content AS BLOB), 1, 400), structured FROM messages
WHERE session_id = ? AND role = 'user' AND content IS NOT NULL ORDER BY timestamp, id LIMIT 1
"""


class SqliteHistory:
    """Bulk reader. Pickles as its path; each process opens the file itself."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._reset()

    def _reset(self) -> None:
        self._connection: sqlite3.Connection | None = None
        self._facts, self._last_change = SessionFactsCache(), -1

    def __getstate__(self) -> Path:
        return self.path

    def __setstate__(self, path: Path) -> None:
        self.path = path
        self._reset()

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = connect(self.path, read_only=True)
            self._connection.row_factory = None
            self._connection.text_factory = bytes
        return self._connection

    def fingerprint(self) -> Hashable | None:
        with translate_errors(self.path):
            return id(self._open()), int(self._open().execute("PRAGMA data_version").fetchone()[0])

    def size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError:  # a read will raise the reason
            return 0

    def sessions(self) -> list[SessionFacts]:
        """Reads all sessions once, later only those in the change feed."""
        self.changes()
        return self._facts.list_sorted()

    def changes(self) -> HistoryChanges | None:
        with translate_errors(self.path):
            db = self._open()
            db.execute("BEGIN")  # one snapshot for all queries
            try:
                return self._read_changes(db)
            finally:
                db.execute("COMMIT")

    def _read_changes(self, db: sqlite3.Connection) -> HistoryChanges | None:
        """Returns the changes since the last call; None if the feed is inconsistent and everything was read anew."""
        newest = db.execute("SELECT max(n) FROM changes").fetchone()[0] or 0
        changes = None
        if 0 <= self._last_change <= newest:
            touched = [row[0] for row in db.execute(_CHANGED_IDS, (self._last_change,))]
            rows = (row[:-1] for id_ in touched for row in db.execute(_SESSION_FACTS, (id_.decode(),)))
            changes = self._facts.update(touched, rows)
        if len(self._facts) != db.execute("SELECT count(*) FROM sessions").fetchone()[0]:
            changes = None  # the file was replaced by another store
        if changes is None:
            self._facts.replace_all(row[:-1] for row in db.execute(_ALL_FACTS))
        self._last_change = newest
        return changes

    def messages(self, sessions: Sequence[str]) -> Iterator[tuple[str, list[RawMessage]]]:
        for session in sessions:
            with translate_errors(self.path):
                rows = self._open().execute(_ROWS, (session,)).fetchall()
            yield session, [_unescape_row(row) if _is_escaped(row) else row for row in rows]

    def exchanges(self, sessions: Sequence[str]) -> Iterator[tuple[str, list[RawExchange]]]:
        for session in sessions:
            with translate_errors(self.path):
                rows = self._open().execute(_EXCHANGES, (session,)).fetchall()
            yield session, [_unescape_exchange(row) if _is_escaped(row) else row for row in rows]

    def previews(self, sessions: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        with translate_errors(self.path):
            for session in sessions:
                if row := self._open().execute(_FIRST_USER_MESSAGE, (session,)).fetchone():
                    found[session] = "" if row[1] else first_words(_to_raw(row[0]) or b"")
        return found

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._reset()


def _is_escaped(row: RawMessage | RawExchange) -> bool:
    return any(isinstance(value, bytes) and b"\x1a" in value for value in row)


def _unescape_row(row: RawMessage) -> RawMessage:
    number, role, content, structured, calls, tool = row
    return number, _to_raw(role), _to_raw(content), structured, _to_raw(calls), _to_raw(tool)


def _unescape_exchange(row: RawExchange) -> RawExchange:
    return (*_unescape_row(row[:6]), _to_raw(row[6]), _to_raw(row[7]), _to_raw(row[8]))


def _to_raw(value: bytes | None) -> bytes | None:
    return None if value is None else to_bytes(unescape(value.decode("utf-8", "replace")))
