"""The store's rows in bulk, for scanners in other processes."""

from __future__ import annotations

import sqlite3
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any

from sojourn.core.text import opening_words, to_bytes, unescape
from sojourn.ports.history import RawExchange, RawMessage, SessionFacts
from sojourn.stores.sqlite.connect import connect, translated

_SESSIONS = """
SELECT id, source, title, model, started_at, archived, rewind_count, principal
FROM sessions ORDER BY started_at DESC, rowid
"""
_COUNTS = """
SELECT session_id, count(*), sum(active), max(id), max(timestamp) FROM messages {where} GROUP BY session_id
"""
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


_NO_ROWS: tuple[Any, ...] = (0, 0, 0, None)


class SqliteHistory:
    """Picklable: only the path travels; each process opens the file for itself."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._fresh()

    def _fresh(self) -> None:
        self._connection: sqlite3.Connection | None = None
        self._counts, self._change = dict[bytes, tuple[Any, ...]](), -1
        self._facts: dict[bytes, tuple[tuple[Any, ...], tuple[Any, ...], SessionFacts]] = {}

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

    def sessions(self) -> list[SessionFacts]:
        """Rows are counted once; after that only in sessions the feed of changes names."""
        with translated(self.path):
            db = self._open()
            db.execute("BEGIN")  # all of it as of one moment
            try:
                self._count(db)
                rows = db.execute(_SESSIONS).fetchall()
            finally:
                db.execute("COMMIT")
        before, self._facts = self._facts, {}
        for row in rows:
            count, seen = self._counts.get(row[0], _NO_ROWS), before.get(row[0])
            is_same = seen is not None and seen[0] == row and seen[1] == count
            self._facts[row[0]] = seen if seen is not None and is_same else (row, count, _made(row, count))
        return [facts for _, _, facts in self._facts.values()]

    def _count(self, db: sqlite3.Connection) -> None:
        newest = db.execute("SELECT max(n) FROM changes").fetchone()[0] or 0
        if self._change < 0 or newest < self._change:  # never counted, or another store lies here now
            self._counts = {row[0]: row[1:] for row in db.execute(_COUNTS.format(where=""))}
        elif newest > self._change:
            one = _COUNTS.format(where="WHERE session_id = ?")
            for (touched,) in db.execute(_TOUCHED, (self._change,)).fetchall():
                row = db.execute(one, (touched.decode(),)).fetchone()
                self._counts[touched] = row[1:] if row else _NO_ROWS
        self._change = newest

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
                    found[session] = "" if row[1] else opening_words(_raw(row[0]) or b"")
        return found

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._fresh()


def _made(row: tuple[Any, ...], count: tuple[Any, ...]) -> SessionFacts:
    id_, source, title, model, started, archived, rewinds, principal = row
    rows, live, last, newest = count
    return SessionFacts(
        id=id_.decode(), source=_text(source), title=_text(title), model=_text(model), started_at=started,
        archived=bool(archived), rewinds=rewinds, rows=rows, active_rows=live or 0, last_row=last or 0,
        last_active=newest if newest is not None else started, principal=principal.decode(),
    )  # fmt: skip


def _is_escaped(row: RawMessage | RawExchange) -> bool:
    return any(isinstance(value, bytes) and b"\x1a" in value for value in row)


def _plain(row: RawMessage) -> RawMessage:
    number, role, content, structured, calls, tool = row
    return number, _raw(role), _raw(content), structured, _raw(calls), _raw(tool)


def _plain_exchange(row: RawExchange) -> RawExchange:
    return (*_plain(row[:6]), _raw(row[6]), _raw(row[7]), _raw(row[8]))


def _raw(value: bytes | None) -> bytes | None:
    return None if value is None else to_bytes(unescape(value.decode("utf-8", "replace")))


def _text(value: bytes | None) -> str | None:
    return None if value is None else unescape(value.decode("utf-8", "replace"))
