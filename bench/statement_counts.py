"""Counts the SQLite statements of this process, from now on."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable
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
            connection.set_trace_callback(self._make_counter())
            return connection

        sqlite3.connect = counted  # type: ignore[assignment]

    def _make_counter(self) -> Callable[[str], None]:
        """Counts for one connection. Of what runs inside a statement, such as a trigger, SQLite names the text of that
        statement once more: with all its values, so nobody else says the same twice in a row."""
        last = ""

        def count(sql: str) -> None:
            nonlocal last
            is_inner, last = sql.startswith("--") or sql == last, sql
            self._counts["inner" if is_inner else "statements"] += 1
            self._counts["writes"] += not is_inner and (sql == "COMMIT" or sql.startswith("INSERT INTO bulk_"))

        return count

    def take(self) -> Counts:
        """What was counted since the last time."""
        taken = Counts(*(float(self._counts[name]) for name in Counts._fields))
        self._counts.clear()
        return taken
