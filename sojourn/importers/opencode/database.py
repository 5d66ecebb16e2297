"""Reads sessions from the database of opencode, which may have tables of 1.x and 2.x with copies of each other.

2.x stores sessions in `session_v2` and their messages in `session_message`, and leaves the tables of 1.x as they were
when it copied them. 1.18 may write `session_message` for a session of the old table. So a session is read from
`session_message` if it has rows there, otherwise from `message` and `part`; messages that 1.x wrote after the copy are
appended.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from sojourn.importers.opencode.messages import add_v1_rows, add_v2_rows
from sojourn.importers.opencode.rows import MessageRow, SessionBuilder, SessionRow
from sojourn.importers.sqlite_reader import ForeignDb, list_columns, list_tables, query_rows
from sojourn.importers.transcript_builder import to_seconds
from sojourn.text.escape import from_bytes, to_bytes

_HEAD = ("id", "parent_id", "time_created", "time_updated", "time_archived", "title", "version", "revert")
_NEEDED = {"id", "time_created", "directory"}  # without these a table `session` is not one of opencode
_SESSION_TABLES = ("session_v2", "session")
_MESSAGE_TABLES = ("message", "session_message")


def open_database(path: Path) -> ForeignDb:
    return ForeignDb(path, text_factory=from_bytes)


def list_sessions(db: sqlite3.Connection) -> list[SessionRow]:
    """All sessions with their fingerprints; reads only indexes and a few columns."""
    counts = {table: _count_messages(db, table) for table in _MESSAGE_TABLES}
    found: dict[str, SessionRow] = {}
    for table in _SESSION_TABLES:
        has = list_columns(db, table)
        if not has >= _NEEDED:
            continue
        head = ", ".join(name for name in _HEAD if name in has)
        for values in query_rows(db, f"SELECT {head} FROM {table} ORDER BY time_created, id"):
            row = SessionRow(id=str(values["id"]), values=values)
            if row.id not in found:
                counted = [counts[name].get(row.id) for name in _MESSAGE_TABLES]
                fingerprint = _hash_facts(*values.values(), *counted, row.is_settled())
                found[row.id] = replace(row, fingerprint=fingerprint)
    return list(found.values())


def _hash_facts(*facts: Any) -> str:
    """A short fingerprint: the `revert` column may be long."""
    return hashlib.blake2b(to_bytes("|".join(map(str, facts))), digest_size=12).hexdigest()


def _count_messages(db: sqlite3.Connection, table: str) -> dict[str, tuple[int, Any]]:
    if "time_updated" not in list_columns(db, table):
        return {}
    rows = db.execute(f"SELECT session_id, count(*), max(time_updated) FROM {table} GROUP BY session_id")
    return {str(row[0]): (row[1], row[2]) for row in rows}


def read_session(db: sqlite3.Connection, native: str) -> SessionBuilder | None:
    tables = list_tables(db)
    found = [
        values
        for table in _SESSION_TABLES
        if list_columns(db, table) >= _NEEDED
        for values in query_rows(db, f"SELECT * FROM {table} WHERE id = ?", native)
    ]
    if not found:
        return None
    into = SessionBuilder(SessionRow(id=native, values=found[0] | {"worktree": _find_worktree(db, found[0], tables)}))
    newer = list(_read_v2_rows(db, native)) if "session_message" in tables else []
    older = list(_read_v1_rows(db, native)) if {"message", "part"} <= tables else []
    if newer:
        copied, until = {row.id for row in newer}, max(to_seconds(row.created) for row in newer)
        older = [row for row in older if row.id not in copied and to_seconds(row.created) > until]
    add_v2_rows(into, newer)
    add_v1_rows(into, older)
    return into


def _find_worktree(db: sqlite3.Connection, session: dict[str, Any], tables: set[str]) -> Any:
    if "project" not in tables or not session.get("project_id"):
        return None
    rows = query_rows(db, "SELECT * FROM project WHERE id = ?", session["project_id"])
    return next((row.get("worktree") for row in rows if row.get("vcs")), None)


def _read_v2_rows(db: sqlite3.Connection, native: str) -> Iterator[MessageRow]:
    query = "SELECT id, type, time_created, data FROM session_message WHERE session_id = ? ORDER BY seq, id"
    for row in query_rows(db, query, native):
        yield MessageRow(id=str(row["id"]), kind=str(row["type"]), created=row["time_created"], data=str(row["data"]))


def _read_v1_rows(db: sqlite3.Connection, native: str) -> Iterator[MessageRow]:
    parts: dict[str, list[tuple[str, str]]] = {}
    key = "session_id = ?" if "session_id" in list_columns(db, "part") else "message_id IN (%s)"
    inner = "SELECT id FROM message WHERE session_id = ?"
    for row in query_rows(
        db, f"SELECT id, message_id, data FROM part WHERE {key.replace('%s', inner)} ORDER BY id", native
    ):
        parts.setdefault(str(row["message_id"]), []).append((str(row["id"]), str(row["data"])))
    query = "SELECT id, time_created, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    for row in query_rows(db, query, native):
        own = str(row["id"])
        yield MessageRow(id=own, created=row["time_created"], data=str(row["data"]), parts=tuple(parts.get(own, ())))
