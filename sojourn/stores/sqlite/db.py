"""`Db` over a SQLite connection."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence
from typing import Any

from sojourn.core.sessions import Recorded
from sojourn.stores.sql.db import Row, insert_statement
from sojourn.stores.sqlite import index
from sojourn.text.redaction import Redactor

RECORD_CHANGE = (
    "INSERT INTO changes(session_id, kind, n, at) "
    "VALUES ({session}, {kind}, (SELECT COALESCE(max(n), 0) + 1 FROM changes), {at}) "
    "ON CONFLICT (session_id, kind) DO UPDATE SET n = excluded.n, at = excluded.at"
)
_RECORD_CHANGE = RECORD_CHANGE.format(session="?", kind="?", at="?")


class SqliteDb:
    """One connection inside one transaction."""

    for_update = ""  # BEGIN IMMEDIATE has locked the database already
    collate = ""  # the default

    def __init__(self, connection: sqlite3.Connection, redact: Redactor) -> None:
        self._connection, self.redact = connection, redact
        self.wake_names: set[str] = set()
        self.log_items: dict[str, list[Recorded]] = {}
        self.other_changes: set[str] = set()  # sessions that changed in other ways than by an append

    def fetch_all(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        return self._connection.execute(sql, params).fetchall()

    def fetch_one(self, sql: str, params: Sequence[Any] = ()) -> Row | None:
        cursor = self._connection.execute(sql, params)
        row: Row | None = cursor.fetchone()
        cursor.close()
        return row

    def execute(self, sql: str, params: Sequence[Any] = ()) -> int:
        return max(0, self._connection.execute(sql, params).rowcount)

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self._connection.executemany(sql, rows)

    def insert_messages(self, columns: tuple[str, ...], rows: Iterable[Sequence[Any]]) -> None:
        self.execute_many(insert_statement("messages", columns), rows)  # the indexer adds them to the index later

    def remove_from_index(self, sessions: Sequence[str]) -> None:
        index.remove_sessions(self, sessions)

    def after_import(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        if table == "messages":
            index.reset_if_covers(self, min(row[0] for row in rows))

    def now(self) -> float:
        return time.time()

    def record_change(self, session: str, kind: str) -> None:
        self.wake_names.add(session)
        if kind != "log":
            self.other_changes.add(session)
        self._connection.execute(_RECORD_CHANGE, (session, kind, time.time()))
