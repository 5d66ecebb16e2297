"""Two ways in for what is kept most often: pieces of an answer, and messages.

Each statement makes the writer's thread give way to the others and wait for its turn again; a step that takes four of
them spends much of its time so. A door is a view of the writer's connection whose trigger checks the lease, counts and
keeps: any number of rows in one statement, and one statement is a transaction by itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sojourn.core.events import Chunk, Event, Yielded
from sojourn.core.messages import Message
from sojourn.core.sessions import Lease, Recorded, TurnId
from sojourn.stores.sql.db import Db
from sojourn.stores.sql.log import NUMBERED, as_row, shown
from sojourn.stores.sql.rows import count_tool_calls
from sojourn.stores.sqlite.db import CHANGED

_GUARDS = ("fence", "driver_fence")
_COUNT = (
    "UPDATE sessions SET last_seq = NEW.seq, {more}ended_at = NULL, end_reason = NULL WHERE id = NEW.session_id "
    "AND last_seq = NEW.seq - 1 AND lease_fence = NEW.fence AND driver_fence = NEW.driver_fence "
    "AND lease_until IS NOT NULL{only}; SELECT RAISE(ABORT, 'not as expected') WHERE changes() <> 1;"
)
_EVENT = ("session_id", "seq", "turn_id", "data", "at")
_MESSAGE = (*NUMBERED, "calls", "at")
Prepare = Callable[[Db, Lease, int, Any, TurnId | None, float], tuple[tuple[Any, ...], Recorded]]


@dataclass(frozen=True, slots=True)
class Door:
    """Takes items of one kind. `prepare`: an item's values for the columns, and what is told of it."""

    kind: type
    name: str
    columns: tuple[str, ...]
    keep: tuple[str, ...]  # what the trigger does with NEW
    prepare: Prepare

    def open(self, connection: sqlite3.Connection) -> None:
        nothing = ", ".join(f"NULL AS {name}" for name in (*self.columns, *_GUARDS))
        connection.execute(f"CREATE TEMP VIEW {self.name} AS SELECT {nothing}")
        connection.execute(
            f"CREATE TEMP TRIGGER keep_{self.name} INSTEAD OF INSERT ON {self.name} BEGIN {' '.join(self.keep)} END"
        )

    def statement(self, rows: int) -> str:
        return _statement(self.name, len(self.columns) + len(_GUARDS), rows)


@lru_cache(maxsize=100)
def _statement(door: str, columns: int, rows: int) -> str:
    row = f"({', '.join('?' * columns)})"
    return f"INSERT INTO {door} VALUES {', '.join([row] * rows)}"


def _piece(db: Db, lease: Lease, seq: int, item: Event, turn: TurnId | None, now: float) -> Any:
    _, text, as_kept = shown(db, item)
    recorded = Recorded(session=lease.session, seq=seq, at=now, item=as_kept, turn=turn)
    return (lease.session, seq, turn, text, now), recorded


def _message(db: Db, lease: Lease, seq: int, item: Message, turn: TurnId | None, now: float) -> Any:
    values, recorded = as_row(db, lease, seq, item, turn, now)
    return (*values, count_tool_calls(item), now), recorded


def _new(columns: tuple[str, ...]) -> str:
    return ", ".join(f"NEW.{name}" for name in columns)


PIECES = Door(
    Chunk,
    "said",
    _EVENT,
    (
        _COUNT.format(more="", only=""),
        "INSERT INTO events(session_id, seq, turn_id, name, data, at) "
        "VALUES (NEW.session_id, NEW.seq, NEW.turn_id, 'chunk', NEW.data, NEW.at);",
    ),
    _piece,
)
MESSAGES = Door(
    Message,
    "told",
    _MESSAGE,
    (
        _COUNT.format(
            more="message_count = message_count + 1, tool_call_count = tool_call_count + NEW.calls, "
            "last_active = NEW.at, ",
            only=" AND (preview <> '' OR NEW.role <> 'user')",  # the opening words are found the long way
        ),
        f"INSERT INTO messages({', '.join(NUMBERED)}) VALUES ({_new(NUMBERED)});",
        CHANGED.format(session="NEW.session_id", kind="'log'", at="NEW.at") + ";",
    ),
    _message,
)


def door_for(items: Sequence[Yielded]) -> Door | None:
    """The door all of them fit through, if there is one."""
    door = PIECES if isinstance(items[0], Chunk) else MESSAGES
    return door if all(isinstance(item, door.kind) for item in items) else None
