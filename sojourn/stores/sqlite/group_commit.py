"""Group commit: runs queued writes in one transaction; appends of one kind use a single bulk insert.

Every statement releases the GIL; an append of four statements spends most of its time waiting to get it back. A bulk
insert is an INSERT of any number of rows into a temporary view, whose INSTEAD OF trigger checks the lease, advances the
counters and stores the row. One statement is also a transaction by itself.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from typing import Any, cast

from sojourn.core.events import Chunk, Yielded
from sojourn.core.messages import Message
from sojourn.core.sessions import Lease, Recorded, TurnId
from sojourn.stores.sql.db import Db
from sojourn.stores.sql.log import EVENT_COLUMNS, LOG_COLUMNS, append, encode_event_row, encode_message_row
from sojourn.stores.sql.migrations import check_not_newer
from sojourn.stores.sql.rows import count_tool_calls, list_tool_names
from sojourn.stores.sqlite.db import RECORD_CHANGE, SqliteDb

_MAX_ROWS = 1000  # rows in one bulk insert
_MAX_CACHED_SESSIONS = 10_000  # sessions whose last seq is remembered
_FENCES = ("fence", "driver_fence")
_ADVANCE = (
    "UPDATE sessions SET last_seq = NEW.seq, {counters}ended_at = NULL, end_reason = NULL, trashed_at = NULL "
    "WHERE id = NEW.session_id AND last_seq = NEW.seq - 1 AND lease_fence = NEW.fence "
    "AND driver_fence = NEW.driver_fence AND lease_until IS NOT NULL "
    "AND (SELECT max(number) FROM schema_migrations) <= @newest{condition}; "
    "SELECT RAISE(ABORT, 'not as expected') WHERE changes() <> 1;"
)
Work = Callable[[Any], Any]
Encode = Callable[[Db, Lease, int, Any, TurnId | None, float], tuple[tuple[Any, ...], Recorded]]


@dataclass(frozen=True, slots=True)
class Append:
    """One call of `append` as a unit of work, so that consecutive ones can share a bulk insert."""

    lease: Lease
    items: Sequence[Yielded]
    turn: TurnId | None

    def __call__(self, db: Db) -> list[Recorded]:
        return append(db, self.lease, self.items, turn=self.turn)


@dataclass(frozen=True, slots=True)
class BulkInsert:
    """A temporary view whose trigger appends items of one type to the log."""

    item_type: type
    view: str
    columns: tuple[str, ...]
    trigger: tuple[str, ...]  # the statements for each NEW row
    encode: Encode  # returns the values of the columns, and the item as it will be read back

    def create(self, connection: sqlite3.Connection, newest: int) -> None:
        """`newest`: the newest schema that this program knows; nothing is inserted into a newer one."""
        columns = ", ".join(f"NULL AS {name}" for name in (*self.columns, *_FENCES))
        connection.execute(f"CREATE TEMP VIEW {self.view} AS SELECT {columns}")
        connection.execute(
            f"CREATE TEMP TRIGGER {self.view}_trigger INSTEAD OF INSERT ON {self.view} "
            f"BEGIN {' '.join(self.trigger).replace('@newest', str(newest))} END"
        )

    def insert_statement(self, rows: int) -> str:
        return _insert_statement(self.view, len(self.columns) + len(_FENCES), rows)


@lru_cache(maxsize=100)
def _insert_statement(view: str, columns: int, rows: int) -> str:
    row = f"({', '.join('?' * columns)})"
    return f"INSERT INTO {view} VALUES {', '.join([row] * rows)}"


def _encode_message(db: Db, lease: Lease, seq: int, item: Message, turn: TurnId | None, now: float) -> Any:
    values, recorded = encode_message_row(db, lease, seq, item, turn, now)
    return (*values, count_tool_calls(item), now), recorded


def _insert_new(table: str, columns: tuple[str, ...]) -> str:
    return f"INSERT INTO {table}({', '.join(columns)}) VALUES ({', '.join(f'NEW.{name}' for name in columns)});"


CHUNKS = BulkInsert(
    Chunk,
    "bulk_chunks",
    EVENT_COLUMNS,
    (_ADVANCE.format(counters="", condition=""), _insert_new("events", EVENT_COLUMNS)),
    encode_event_row,
)
MESSAGES = BulkInsert(
    Message,
    "bulk_messages",
    (*LOG_COLUMNS, "calls", "at"),
    (
        _ADVANCE.format(
            counters="message_count = message_count + 1, tool_call_count = tool_call_count + NEW.calls, "
            "last_active = NEW.at, ",
            condition=" AND (preview <> '' OR NEW.role <> 'user')",  # the first user message also sets the preview
        ),
        _insert_new("messages", LOG_COLUMNS),
        RECORD_CHANGE.format(session="NEW.session_id", kind="'log'", at="NEW.at") + ";",
    ),
    _encode_message,
)


def bulk_insert_for(items: Sequence[Yielded]) -> BulkInsert | None:
    """Returns the bulk insert that takes all of these items; None if their types differ."""
    bulk = CHUNKS if isinstance(items[0], Chunk) else MESSAGES
    return bulk if all(isinstance(item, bulk.item_type) for item in items) else None


def _tool_names(items: Sequence[Yielded]) -> set[str]:
    return {name for item in items if isinstance(item, Message) for name in list_tool_names(item)}


class GroupCommit:
    """Runs units of work in order and in one transaction. For one connection and one thread."""

    def __init__(self, path: Path, connection: sqlite3.Connection, newest: int) -> None:
        self._path, self._connection, self._newest = path, connection, newest
        self._last_seq: dict[str, int] = {}  # of each session that this process has appended to
        self._tools: dict[str, set[str]] = {}  # names of tools that the row of such a session has already
        for bulk in (CHUNKS, MESSAGES):
            bulk.create(connection, newest)

    def run(self, db: SqliteDb, works: Sequence[Work]) -> list[Any]:
        bulks = set(map(self._bulk_insert_of, works))
        bulk = bulks.pop() if len(bulks) == 1 else None
        results = self._bulk_insert(db, bulk, works) if bulk else None
        if results is None:
            results = self._run_transaction(db, works)
        if len(self._last_seq) > _MAX_CACHED_SESSIONS:
            self._last_seq.clear()
            self._tools.clear()
        for session, items in db.log_items.items():
            self._last_seq[session] = items[-1].seq
            if names := _tool_names([one.item for one in items]):
                self._tools.setdefault(session, set()).update(names)
        return results

    def _run_transaction(self, db: SqliteDb, works: Sequence[Work]) -> list[Any]:
        """Runs mixed work; consecutive appends of one kind still share a bulk insert."""
        results: list[Any] = []
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            schema = self._connection.execute("PRAGMA user_version").fetchone()[0]
            check_not_newer(str(self._path), schema, self._newest)  # another process may have upgraded the store
            for bulk, group in groupby(works, self._bulk_insert_of):
                batch = list(group)
                inserted = self._bulk_insert(db, bulk, batch) if bulk else None
                results += [work(db) for work in batch] if inserted is None else inserted
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        return results

    def _bulk_insert_of(self, work: Work) -> BulkInsert | None:
        """Returns the bulk insert of an append to a session whose last seq is cached. A tool that is called for the
        first time also changes the row of the session, which a bulk insert does not."""
        if not isinstance(work, Append) or not work.items or work.lease.session not in self._last_seq:
            return None
        is_known = _tool_names(work.items) <= self._tools.get(work.lease.session, set())
        return bulk_insert_for(work.items) if is_known else None

    def _bulk_insert(self, db: SqliteDb, bulk: BulkInsert, works: Sequence[Work]) -> list[list[Recorded]] | None:
        """Returns None, with nothing stored, if a lease is lost, a cached seq is wrong or there are too many rows."""
        values, results, last_seq = list[Any](), list[list[Recorded]](), dict[str, int]()
        now, appends = db.now(), cast(Sequence[Append], works)
        count = sum(len(work.items) for work in appends)
        if count > _MAX_ROWS:
            return None
        for work in appends:
            lease, recorded = work.lease, list[Recorded]()
            start = (last_seq.get(lease.session) or self._find_last_seq(db, lease.session)) + 1
            for seq, item in enumerate(work.items, start):
                row, one = bulk.encode(db, lease, seq, item, work.turn, now)
                values += (*row, lease.fence, lease.driver_fence)
                recorded.append(one)
            last_seq[lease.session] = recorded[-1].seq
            results.append(recorded)
        try:
            self._connection.execute(bulk.insert_statement(count), values)
        except sqlite3.IntegrityError:
            return None
        for work, recorded in zip(appends, results, strict=True):
            db.wake_names.add(work.lease.session)
            db.log_items.setdefault(work.lease.session, []).extend(recorded)
        return results

    def _find_last_seq(self, db: SqliteDb, session: str) -> int:
        """Returns the last seq as cached, or as this transaction has advanced it."""
        return db.log_items[session][-1].seq if session in db.log_items else self._last_seq[session]
