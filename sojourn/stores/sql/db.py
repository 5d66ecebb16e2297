"""A database connection inside one transaction, as the statements of this package see it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Literal, Protocol

from sojourn.core.sessions import Recorded
from sojourn.text.redaction import Redactor

Row = Mapping[str, Any]


class Db(Protocol):
    """SQL is written with `?` and without literal percent signs; both engines take it so."""

    dialect: Literal["sqlite", "postgres"]
    for_update: str  # locks the rows a SELECT reads, where that is needed
    redact: Redactor
    touched: set[str]  # sessions others are told about after the commit
    kept: dict[str, list[Recorded]]  # what was added to a log, for those who watch it in this process

    def all(self, sql: str, params: Sequence[Any] = ()) -> list[Row]: ...
    def one(self, sql: str, params: Sequence[Any] = ()) -> Row | None: ...
    def run(self, sql: str, params: Sequence[Any] = ()) -> int:
        """Returns the number of rows changed."""
        ...

    def many(self, sql: str, rows: Iterable[Sequence[Any]]) -> None: ...
    def put_messages(self, columns: tuple[str, ...], rows: Iterable[Sequence[Any]]) -> None:
        """Adds rows of `messages`, and what the engine needs to find them by."""
        ...

    def now(self) -> float: ...
    def changed(self, session: str, kind: str) -> None:
        """Puts a session at the end of the feed of changes."""
        ...


def marks(values: Sequence[Any]) -> str:
    """As many placeholders as values: `?, ?, ?`."""
    return ", ".join("?" * len(values))


@cache
def insertion(table: str, columns: tuple[str, ...]) -> str:
    """The statement that adds one row, its values in the order of the columns."""
    return f"INSERT INTO {table}({', '.join(columns)}) VALUES ({marks(columns)})"
