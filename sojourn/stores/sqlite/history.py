"""ports.history.History of a SQLite store: bulk reads for scanners in other processes."""

from __future__ import annotations

import sqlite3
from collections.abc import Hashable, Iterable, Iterator, Sequence
from pathlib import Path

from sojourn.ports.history import HistoryChanges, RawExchange, RawMessage, SessionFacts
from sojourn.stores.sql.db import placeholders
from sojourn.stores.sql.history import SELECT_FACTS, FactsRow, SessionFactsCache, unescape_bytes, unescape_row
from sojourn.stores.sqlite.connect import connect, translate_errors
from sojourn.text.escape import first_words

_ALL_FACTS = SELECT_FACTS.format(born="rowid", where="", and_too="")
_SESSION_FACTS = SELECT_FACTS.format(born="rowid", where="WHERE session_id = ?1", and_too="AND s.id = ?1")
_CHANGED_IDS = "SELECT DISTINCT session_id FROM changes WHERE n > ?"
_ROWS = """
SELECT id, role, content, structured, tool_calls, tool_name
FROM messages WHERE session_id = ?1 AND active = 1 AND seq > (SELECT copied FROM sessions WHERE id = ?1) ORDER BY seq
"""
_EXCHANGES = """
SELECT id, role, CASE role WHEN 'assistant' THEN NULL ELSE content END, structured, tool_calls, tool_name,
       tool_call_id, effect_disposition, extra
FROM messages WHERE session_id = ?1 AND active = 1 AND (tool_calls IS NOT NULL OR role IN ('user', 'tool'))
      AND seq > (SELECT copied FROM sessions WHERE id = ?1) ORDER BY seq
"""
_FIRST_USER_MESSAGE = """
SELECT substr(CAST(content AS BLOB), 1, 400), structured FROM messages
WHERE session_id = ? AND role = 'user' AND content IS NOT NULL ORDER BY timestamp, id LIMIT 1
"""
_SEQS = "SELECT id, seq FROM messages WHERE id IN"


class SqliteHistory:
    """Bulk reader. Pickles as its path; each process opens the file itself."""

    def __init__(self, path: Path) -> None:
        self.path, self._facts = path, SessionFactsCache()
        self._connection: sqlite3.Connection | None = None

    def __reduce__(self) -> tuple[type[SqliteHistory], tuple[Path]]:
        return SqliteHistory, (self.path,)

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
        self.changes()
        return self._facts.list_sorted()

    def changes(self) -> HistoryChanges | None:
        with translate_errors(self.path):
            db = self._open()
            db.execute("BEGIN")  # one snapshot for all queries
            try:
                newest = db.execute("SELECT max(n) FROM changes").fetchone()[0] or 0
                count = db.execute("SELECT count(*) FROM sessions WHERE trashed_at IS NULL").fetchone()[0]
                return self._facts.refresh(newest, count, self._read_changed_ids, self._read_facts)
            finally:
                db.execute("COMMIT")

    def _read_changed_ids(self, position: int) -> list[bytes]:
        return [id_ for (id_,) in self._open().execute(_CHANGED_IDS, (position,))]

    def _read_facts(self, ids: Sequence[bytes] | None) -> Iterable[FactsRow]:
        if ids is None:
            return self._open().execute(_ALL_FACTS)
        return (row for id_ in ids for row in self._open().execute(_SESSION_FACTS, (id_.decode(),)))

    def messages(self, sessions: Sequence[str]) -> Iterator[tuple[str, list[RawMessage]]]:
        for session in sessions:
            with translate_errors(self.path):
                rows = self._open().execute(_ROWS, (session,)).fetchall()
            yield session, [unescape_row(row) for row in rows]

    def exchanges(self, sessions: Sequence[str]) -> Iterator[tuple[str, list[RawExchange]]]:
        for session in sessions:
            with translate_errors(self.path):
                rows = self._open().execute(_EXCHANGES, (session,)).fetchall()
            yield session, [unescape_row(row) for row in rows]

    def previews(self, sessions: Sequence[str]) -> dict[str, str]:
        found: dict[str, str] = {}
        with translate_errors(self.path):
            for session in sessions:
                if row := self._open().execute(_FIRST_USER_MESSAGE, (session,)).fetchone():
                    found[session] = "" if row[1] else first_words(unescape_bytes(row[0]))
        return found

    def find_seqs(self, rows: Sequence[int]) -> dict[int, int]:
        """The number in its session's log of each row."""
        with translate_errors(self.path):
            return dict(self._open().execute(f"{_SEQS} ({placeholders(rows)})", rows).fetchall())

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None
            self._facts = SessionFactsCache()  # the next use may find another file
