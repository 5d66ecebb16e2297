"""opencode's database: sessions of both generations beside each other, and the stale copies in between.

2.x keeps sessions in `session_v2` and their messages in `session_message`, and leaves the tables of 1.x as
they were when it copied them. 1.18 may write `session_message` for a session of the old table. So each
session is read from `session_message` where it has rows there, and else from `message` and `part`; what
1.x went on to write after the copy was made is added behind.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sojourn.importers.opencode import v1, v2
from sojourn.importers.opencode.rows import Gathering, Row, SessionRow
from sojourn.importers.sqlite_reader import ForeignDb, columns, tables
from sojourn.importers.transcript_builder import seconds
from sojourn.text.escape import from_bytes, to_bytes

_HEAD = ("id", "parent_id", "time_created", "time_updated", "time_archived", "title", "version", "revert")
_NEEDED = {"id", "time_created", "directory"}  # without these a table called `session` is somebody else's
_SESSION_TABLES = ("session_v2", "session")
_MESSAGE_TABLES = ("message", "session_message")


class Database:
    """One file, read while opencode runs."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._db = ForeignDb(path, text_factory=from_bytes)

    def close(self) -> None:
        self._db.close()

    def sessions(self) -> list[tuple[SessionRow, str]]:
        """Each session with its fingerprint. Only indexes and the heads of rows are read for it."""
        return self._db.asked(lambda db: list(_sessions(db)))

    def gather(self, native: str) -> Gathering | None:
        return self._db.asked(lambda db: _gather(db, native))


def _sessions(db: sqlite3.Connection) -> Iterator[tuple[SessionRow, str]]:
    counts = {table: _counts(db, table) for table in _MESSAGE_TABLES}
    seen: set[str] = set()
    for table in _SESSION_TABLES:
        has = columns(db, table)
        if not has >= _NEEDED:
            continue
        head = ", ".join(name for name in _HEAD if name in has)
        for values in _rows(db, f"SELECT {head} FROM {table} ORDER BY time_created, id"):
            row = SessionRow(id=str(values["id"]), values=values)
            if row.id not in seen:
                seen.add(row.id)
                counted = [counts[name].get(row.id) for name in _MESSAGE_TABLES]
                yield row, _mark(*values.values(), *counted, row.is_settled())


def _mark(*facts: Any) -> str:
    """Short, though a revert brings along every line it would change."""
    return hashlib.blake2b(to_bytes("|".join(map(str, facts))), digest_size=12).hexdigest()


def _counts(db: sqlite3.Connection, table: str) -> dict[str, tuple[int, Any]]:
    if "time_updated" not in columns(db, table):
        return {}
    rows = db.execute(f"SELECT session_id, count(*), max(time_updated) FROM {table} GROUP BY session_id")
    return {str(row[0]): (row[1], row[2]) for row in rows}


def _rows(db: sqlite3.Connection, query: str, *values: Any) -> Iterator[dict[str, Any]]:
    cursor = db.execute(query, values)
    names = [str(column[0]) for column in cursor.description]
    for row in cursor:
        yield dict(zip(names, row, strict=True))


def _gather(db: sqlite3.Connection, native: str) -> Gathering | None:
    there = tables(db)
    found = [
        values
        for table in _SESSION_TABLES
        if columns(db, table) >= _NEEDED
        for values in _rows(db, f"SELECT * FROM {table} WHERE id = ?", native)
    ]
    if not found:
        return None
    into = Gathering(SessionRow(id=native, values=found[0] | {"worktree": _worktree(db, found[0], there)}))
    newer = list(_second(db, native)) if "session_message" in there else []
    older = list(_first(db, native)) if {"message", "part"} <= there else []
    if newer:
        copied, until = {row.id for row in newer}, max(seconds(row.created) for row in newer)
        older = [row for row in older if row.id not in copied and seconds(row.created) > until]
    v2.add(into, newer)
    v1.add(into, older)
    return into


def _worktree(db: sqlite3.Connection, session: dict[str, Any], there: set[str]) -> Any:
    if "project" not in there or not session.get("project_id"):
        return None
    rows = _rows(db, "SELECT * FROM project WHERE id = ?", session["project_id"])
    return next((row.get("worktree") for row in rows if row.get("vcs")), None)


def _second(db: sqlite3.Connection, native: str) -> Iterator[Row]:
    query = "SELECT id, type, time_created, data FROM session_message WHERE session_id = ? ORDER BY seq, id"
    for row in _rows(db, query, native):
        yield Row(id=str(row["id"]), kind=str(row["type"]), created=row["time_created"], data=str(row["data"]))


def _first(db: sqlite3.Connection, native: str) -> Iterator[Row]:
    parts: dict[str, list[tuple[str, str]]] = {}
    key = "session_id = ?" if "session_id" in columns(db, "part") else "message_id IN (%s)"
    inner = "SELECT id FROM message WHERE session_id = ?"
    for row in _rows(db, f"SELECT id, message_id, data FROM part WHERE {key.replace('%s', inner)} ORDER BY id", native):
        parts.setdefault(str(row["message_id"]), []).append((str(row["id"]), str(row["data"])))
    query = "SELECT id, time_created, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    for row in _rows(db, query, native):
        own = str(row["id"])
        yield Row(id=own, created=row["time_created"], data=str(row["data"]), parts=tuple(parts.get(own, ())))
