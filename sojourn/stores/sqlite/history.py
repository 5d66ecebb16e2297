"""The store's rows in bulk, for scanners in other processes."""

from __future__ import annotations

import sqlite3
from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path

from sojourn.core.text import opening_words, to_bytes, unescape
from sojourn.ports.history import RawMessage, SessionFacts
from sojourn.stores.sqlite.connect import connect, translated

_FACTS = """
SELECT s.id, s.source, s.title, s.model, s.started_at, s.archived, s.rewind_count, m.count, m.live, m.last, m.newest
FROM sessions s LEFT JOIN (
    SELECT session_id, count(*) AS count, sum(active) AS live, max(id) AS last, max(timestamp) AS newest
    FROM messages GROUP BY session_id
) m ON m.session_id = s.id
ORDER BY s.started_at DESC, s.rowid
"""
_ROWS = """
SELECT id, role, content, structured, tool_calls, tool_name
FROM messages WHERE session_id = ? AND active = 1 ORDER BY seq
"""
_FIRST = """
SELECT substr(CAST(content AS BLOB), 1, 400), structured FROM messages
WHERE session_id = ? AND role = 'user' AND content IS NOT NULL ORDER BY timestamp, id LIMIT 1
"""


class SqliteHistory:
    """Picklable: only the path travels; each process opens the file for itself."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection: sqlite3.Connection | None = None

    def __getstate__(self) -> Path:
        return self.path

    def __setstate__(self, path: Path) -> None:
        self.path, self._connection = path, None

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
        with translated(self.path):
            rows = self._open().execute(_FACTS).fetchall()
        return [
            SessionFacts(
                id=id_.decode(), source=_text(source), title=_text(title), model=_text(model), started_at=started,
                archived=bool(archived), rewinds=rewinds, rows=count or 0, active_rows=live or 0, last_row=last or 0,
                last_active=newest if newest is not None else started,
            )
            for id_, source, title, model, started, archived, rewinds, count, live, last, newest in rows
        ]  # fmt: skip

    def messages(self, sessions: Sequence[str]) -> Iterator[tuple[str, list[RawMessage]]]:
        for session in sessions:
            with translated(self.path):
                rows = self._open().execute(_ROWS, (session,)).fetchall()
            yield session, [_plain(row) if _is_escaped(row) else row for row in rows]

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
            self._connection = None


def _is_escaped(row: RawMessage) -> bool:
    return any(isinstance(value, bytes) and b"\x1a" in value for value in row)


def _plain(row: RawMessage) -> RawMessage:
    number, role, content, structured, calls, tool = row
    return number, _raw(role), _raw(content), structured, _raw(calls), _raw(tool)


def _raw(value: bytes | None) -> bytes | None:
    return None if value is None else to_bytes(unescape(value.decode("utf-8", "replace")))


def _text(value: bytes | None) -> str | None:
    return None if value is None else unescape(value.decode("utf-8", "replace"))
