"""Change detection for a Hermes database: lists all sessions and compares the list with the previous one.

Hermes keeps no change feed and no modification times. A session counts as changed when its own row or a summary of its
messages (number, live number, newest time, highest id) differs. No message text is read.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import Any

from sojourn.importers.sqlite_reader import list_columns
from sojourn.ports.history import HistoryChanges, Moment, SessionFacts

_Row = tuple[Any, ...]  # rowid, id, source, title, model, started_at, rewind_count, is_archived
_Summary = tuple[int, int, Any, int, int]  # messages, live messages, newest timestamp, highest id, inactive messages
_NO_MESSAGES: _Summary = (0, 0, None, 0, 0)


@dataclass(frozen=True, slots=True)
class SessionQueries:
    """The SQL for this schema version: old databases lack some columns."""

    rows: str
    summaries: str  # of every session that has messages
    summary: str  # of one session
    inactive: str  # inactive messages per session, by index; empty if SQLite would have to read the whole table

    @classmethod
    def for_schema(cls, db: sqlite3.Connection) -> SessionQueries:
        session_columns, has_active = list_columns(db, "sessions"), "active" in list_columns(db, "messages")
        wanted = ("source", "title", "model", "started_at", "rewind_count")
        facts = ", ".join(name if name in session_columns else "NULL" for name in wanted)
        archived = "archived IS NOT 0" if "archived" in session_columns else "0"  # NULL counts as archived
        not_live = "ifnull(SUM(active IS NOT NULL AND active <> 1), 0)" if has_active else "0"
        inactive = "ifnull(SUM(active = 0), 0)" if has_active else "0"
        numbers = f"COUNT(*), COUNT(*) - {not_live}, MAX(timestamp), ifnull(MAX(id), 0), {inactive}"
        by_index = """SELECT id, inactive FROM (SELECT id, (SELECT COUNT(*) FROM messages WHERE session_id = s.id
            AND active = 0) AS inactive FROM sessions s) WHERE inactive > 0"""
        return cls(
            rows=f"SELECT rowid, id, {facts}, {archived} FROM sessions",
            summaries=f"SELECT session_id, {numbers} FROM messages GROUP BY 1",
            summary=f"SELECT {numbers} FROM messages WHERE session_id = CAST(?1 AS TEXT)",
            inactive=by_index if has_active and _uses_index(db, by_index) else "",
        )


def _uses_index(db: sqlite3.Connection, query: str) -> bool:
    return any(b"session_id=? AND active=?" in row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {query}"))


class SessionIndex:
    """The sessions as last listed. `compare` needs an open transaction, so that it sees one state of the database."""

    def __init__(self) -> None:
        self._clear()

    def _clear(self) -> None:
        self._is_valid = False
        self._facts: dict[bytes, SessionFacts] = {}
        self._rows: dict[bytes, _Row] = {}
        self._summaries: dict[bytes, _Summary] = {}
        self._message_count = 0
        self._last_id = 0
        self._last_message: _Row | None = None

    def list_sessions(self) -> list[SessionFacts]:
        return sorted(self._facts.values(), key=lambda facts: facts.order)

    def compare(self, db: sqlite3.Connection, queries: SessionQueries) -> HistoryChanges | None:
        """What changed since the previous call; None on the first call and after one that was not confirmed."""
        is_first = not self._is_valid
        if is_first:
            self._clear()
        self._is_valid = False
        changed = self._update_rows(db, queries) | self._update_summaries(db, queries)
        self._last_id = _query_number(db, "SELECT MAX(id) FROM messages")
        self._last_message = _read_message(db, self._last_id)
        changes = self._update_facts(changed)
        return None if is_first else changes

    def confirm(self) -> None:
        """Accepts the last `compare`: the file did not change while it was read."""
        self._is_valid = True

    def _update_facts(self, changed: set[bytes]) -> HistoryChanges:
        """Drops sessions whose facts are equal after all."""
        new, gone = list[SessionFacts](), list[str]()
        for id_ in changed:
            before, row = self._facts.get(id_), self._rows.get(id_)
            if row is not None:
                now = _to_facts(row, self._summaries.get(id_, _NO_MESSAGES))
                if now != before:
                    self._facts[id_] = now
                    new.append(now)
            elif before is not None:
                del self._facts[id_]
                gone.append(before.id)
        return HistoryChanges(tuple(new), tuple(gone))

    def _update_rows(self, db: sqlite3.Connection, queries: SessionQueries) -> set[bytes]:
        before = self._rows
        self._rows = {row[1]: row for row in db.execute(queries.rows) if isinstance(row[1], bytes) and row[1]}
        return {id_ for id_, _ in before.items() ^ self._rows.items()}

    def _update_summaries(self, db: sqlite3.Connection, queries: SessionQueries) -> set[bytes]:
        """Summarises all sessions at first; later only those that gained messages or had some (de)activated."""
        count = _query_number(db, "SELECT COUNT(*) FROM messages")
        changed = self._update_some_summaries(db, queries, count) if self._last_id and queries.inactive else None
        if changed is None:
            before, self._summaries = self._summaries, {row[0]: row[1:] for row in db.execute(queries.summaries)}
            changed = {id_ for id_, _ in before.items() ^ self._summaries.items()}
        self._message_count = count
        return changed

    def _update_some_summaries(self, db: sqlite3.Connection, queries: SessionQueries, count: int) -> set[bytes] | None:
        """The sessions that were summarised again; None when messages were deleted or replaced."""
        new = [row[0] for row in db.execute("SELECT session_id FROM messages WHERE id > ?1", (self._last_id,))]
        if count != self._message_count + len(new) or _read_message(db, self._last_id) != self._last_message:
            return None
        before = {id_: summary[4] for id_, summary in self._summaries.items() if summary[4]}
        changed = {id_ for id_, _ in before.items() ^ dict(db.execute(queries.inactive)).items()} | set(new)
        self._summaries |= {id_: db.execute(queries.summary, (id_,)).fetchone() for id_ in changed}
        return changed


def _query_number(db: sqlite3.Connection, query: str) -> int:
    return db.execute(query).fetchone()[0] or 0


def _read_message(db: sqlite3.Connection, id_: int) -> _Row | None:
    found: _Row | None = db.execute("SELECT session_id, timestamp FROM messages WHERE id = ?1", (id_,)).fetchone()
    return found


def _to_facts(row: _Row, summary: _Summary) -> SessionFacts:
    born, id_, source, title, model, started_at, rewinds, archived = row
    started, (rows, active, newest, last, _) = _to_moment(started_at), summary
    return SessionFacts(
        id=_to_text(id_) or "",
        source=_to_text(source),
        title=_to_text(title),
        model=_to_text(model),
        started_at=started,
        archived=bool(archived),
        last_active=started if newest is None else _to_moment(newest),
        rows=rows,
        active_rows=active,
        last_row=last,
        rewinds=rewinds if isinstance(rewinds, int) else 0,
        malformed=isinstance(started, str) + sum(isinstance(one, bytes) and not _is_utf8(one) for one in row[1:5]),
        born=born,
    )


def _to_text(value: object) -> str | None:
    if value is None:
        return None
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _to_moment(value: object) -> Moment:
    return float(value) if isinstance(value, int | float) else _to_text(value)


def _is_utf8(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True
