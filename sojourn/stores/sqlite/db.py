"""A SQLite connection in the shape the shared statements want."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Sequence
from typing import Any, Literal

from sojourn.core.sessions import Recorded
from sojourn.stores.sql.db import Row, insertion
from sojourn.text.redaction import Redactor

CHANGED = (
    "INSERT INTO changes(session_id, kind, n, at) "
    "VALUES ({session}, {kind}, (SELECT COALESCE(max(n), 0) + 1 FROM changes), {at}) "
    "ON CONFLICT (session_id, kind) DO UPDATE SET n = excluded.n, at = excluded.at"
)
_CHANGED = CHANGED.format(session="?", kind="?", at="?")


class SqliteDb:
    """One connection, inside one transaction (or reading)."""

    dialect: Literal["sqlite", "postgres"] = "sqlite"
    for_update = ""  # BEGIN IMMEDIATE has locked everything already

    def __init__(self, connection: sqlite3.Connection, redact: Redactor) -> None:
        self._connection, self.redact = connection, redact
        self.touched: set[str] = set()
        self.kept: dict[str, list[Recorded]] = {}
        self.stirred: set[str] = set()  # sessions to which something happened besides

    def all(self, sql: str, params: Sequence[Any] = ()) -> list[Row]:
        return self._connection.execute(sql, params).fetchall()

    def one(self, sql: str, params: Sequence[Any] = ()) -> Row | None:
        cursor = self._connection.execute(sql, params)
        row: Row | None = cursor.fetchone()
        cursor.close()
        return row

    def run(self, sql: str, params: Sequence[Any] = ()) -> int:
        return max(0, self._connection.execute(sql, params).rowcount)

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None:
        self._connection.executemany(sql, rows)

    def put_messages(self, columns: tuple[str, ...], rows: Iterable[Sequence[Any]]) -> None:
        self._connection.executemany(insertion("messages", columns), rows)  # found by the indexer later

    def now(self) -> float:
        return time.time()

    def changed(self, session: str, kind: str) -> None:
        self.touched.add(session)
        if kind != "log":
            self.stirred.add(session)
        self._connection.execute(_CHANGED, (session, kind, time.time()))
