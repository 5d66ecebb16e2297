"""Counts the SQLite statements of this process, from now on."""

from __future__ import annotations

import sqlite3
from collections import Counter
from typing import Any, NamedTuple


class Counts(NamedTuple):
    """Statements that we issue, those that SQLite runs inside them, and transactions that write."""

    statements: float
    inner: float
    writes: float


class StatementCounts:
    """Every connection that is opened after this counts."""

    def __init__(self) -> None:
        self._counts = Counter[str]()
        connect = sqlite3.connect

        def counted(*args: Any, **options: Any) -> sqlite3.Connection:
            connection: sqlite3.Connection = connect(*args, **options)
            connection.set_trace_callback(self._count)
            return connection

        sqlite3.connect = counted  # type: ignore[assignment]

    def _count(self, sql: str) -> None:
        self._counts["inner" if sql.startswith("--") else "statements"] += 1
        self._counts["writes"] += sql == "COMMIT" or sql.startswith("INSERT INTO bulk_")

    def take(self) -> Counts:
        """What was counted since the last time."""
        taken = Counts(*(float(self._counts[name]) for name in Counts._fields))
        self._counts.clear()
        return taken
