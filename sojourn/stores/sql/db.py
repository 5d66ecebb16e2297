"""Database access for the statements of this package: one connection inside one transaction."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Protocol

from sojourn.core.sessions import Recorded
from sojourn.text.escape import escape
from sojourn.text.redaction import Redactor

Row = Mapping[str, Any]
_ROWS_AT_ONCE = 20  # of one INSERT


class Db(Protocol):
    """A connection inside a transaction. SQL is written with `?` and without literal percent signs."""

    for_update: str  # suffix that locks the rows a SELECT reads; empty where BEGIN locks the whole database
    collate: str  # suffix that makes the database compare texts by code point
    redact: Redactor
    wake_names: set[str]  # sessions and topics whose subscribers are woken after the commit
    log_items: dict[str, list[Recorded]]  # what was appended to each log, for subscribers in this process

    def fetch_all(self, sql: str, params: Sequence[Any] = ()) -> list[Row]: ...
    def fetch_one(self, sql: str, params: Sequence[Any] = ()) -> Row | None: ...
    def execute(self, sql: str, params: Sequence[Any] = ()) -> int:
        """Returns the number of rows changed."""
        ...

    def execute_many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None: ...
    def insert_messages(self, columns: tuple[str, ...], rows: Iterable[Sequence[Any]]) -> None:
        """Inserts rows of `messages`, with their search terms where the index is part of the row."""
        ...

    def remove_from_index(self, sessions: Sequence[str]) -> None:
        """Removes the messages of sessions from the search index, before their rows are deleted."""
        ...

    def after_import(self, table: str, rows: Sequence[Sequence[Any]]) -> None:
        """Adapts the index and the counters of the database to imported rows."""
        ...

    def now(self) -> float: ...
    def record_change(self, session: str, kind: str) -> None:
        """Moves a session to the end of the change feed."""
        ...


class Conditions:
    """The conditions of a WHERE clause, all of which must hold, and their parameters."""

    def __init__(self) -> None:
        self._texts, self.params = list[str](), list[Any]()

    def __str__(self) -> str:
        return " AND ".join(self._texts) or "1 = 1"

    def add(self, condition: str, *params: Any) -> None:
        self._texts.append(condition)
        self.params += params

    def add_filters(self, *filters: tuple[str, Any]) -> None:
        """Adds each `(condition, value)` whose value is not None; texts are escaped."""
        for condition, value in filters:
            if value is not None:
                self.add(condition, escape(value) if isinstance(value, str) else value)

    def add_choice(self, column: str, values: Sequence[str]) -> None:
        """Requires one of some texts, if there are any."""
        if values:
            self.add(f"{column} IN ({placeholders(values)})", *map(escape, values))

    def add_prefix(self, column: str, prefix: str) -> None:
        """Requires a prefix, if it is not empty."""
        if prefix:
            self.add_filters((f"{column} >= ?", prefix), (f"{column} < ?", _end_of_prefix(escape(prefix))))


def fetch_number(db: Db, sql: str, params: Sequence[Any] = ()) -> int:
    """Returns the column `n` of the first row; 0 if it is NULL or there is no row."""
    row = db.fetch_one(sql, params)
    return int(row["n"] or 0) if row else 0


def placeholders(values: Sequence[Any]) -> str:
    """Returns one placeholder for each value: `?, ?, ?`."""
    return ", ".join("?" * len(values))


def insert_rows(db: Db, table: str, columns: tuple[str, ...], rows: Sequence[Sequence[Any]]) -> None:
    """Inserts some rows with one statement each time: every statement hands the interpreter's lock over."""
    for at in range(0, len(rows), _ROWS_AT_ONCE):
        some = rows[at : at + _ROWS_AT_ONCE]
        more = f", ({placeholders(columns)})" * (len(some) - 1)
        db.execute(insert_statement(table, columns) + more, [value for row in some for value in row])


@cache
def insert_statement(table: str, columns: tuple[str, ...]) -> str:
    """Returns the INSERT of one row with its values in the order of the columns."""
    return f"INSERT INTO {table}({', '.join(columns)}) VALUES ({placeholders(columns)})"


def _end_of_prefix(prefix: str) -> str | None:
    """Returns the first text in code point order after all texts with this prefix; None if there is none."""
    for at in range(len(prefix) - 1, -1, -1):
        code = ord(prefix[at]) + 1
        if code <= 0x10FFFF:
            return prefix[:at] + chr(0xE000 if 0xD800 <= code <= 0xDFFF else code)
    return None
