"""Pieces of many answers at once, in one statement.

Each statement makes the writer's thread give way to the others and wait for its turn again; with hundreds of turns
under way that is where the time goes. So pieces of answers, which are nearly all there is to keep then, go through a
door of their own: a view of this connection whose trigger checks the lease, counts and keeps. One statement is a
transaction by itself, so where nothing else waits it is the only one.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Any, cast

from sojourn.core.events import Event, Yielded, is_news
from sojourn.core.sessions import Lease, Recorded, TurnId
from sojourn.ports.store import Along
from sojourn.stores.sql.along import append
from sojourn.stores.sql.db import Db
from sojourn.stores.sql.log import shown
from sojourn.stores.sqlite.db import SqliteDb

_MOST = 1000  # pieces in one statement
_REMEMBERED = 10_000  # sessions whose last number is known without asking
_DOOR = (
    "CREATE TEMP VIEW said AS SELECT NULL AS session_id, NULL AS fence, NULL AS driver_fence, NULL AS seq, "
    "NULL AS turn_id, NULL AS data, NULL AS at",
    "CREATE TEMP TRIGGER keep INSTEAD OF INSERT ON said BEGIN "
    "UPDATE sessions SET last_seq = NEW.seq, ended_at = NULL, end_reason = NULL WHERE id = NEW.session_id "
    "AND last_seq = NEW.seq - 1 AND lease_fence = NEW.fence AND driver_fence = NEW.driver_fence "
    "AND lease_until IS NOT NULL; "
    "SELECT RAISE(ABORT, 'not as expected') WHERE changes() <> 1; "
    "INSERT INTO events(session_id, seq, turn_id, name, data, at) "
    "VALUES (NEW.session_id, NEW.seq, NEW.turn_id, 'chunk', NEW.data, NEW.at); END",
)
_COLUMNS = 7
Work = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Append:
    """One `append`, as a piece of work that can be done together with others of its kind."""

    lease: Lease
    items: Sequence[Yielded]
    turn: TurnId | None
    along: Along | None = None

    def __call__(self, db: Db) -> list[Recorded]:
        return append(db, self.lease, self.items, self.turn, self.along)


class Together:
    """Does what waits, in order and in one transaction. For one connection and one thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._last: dict[str, int] = {}  # the last number of each session that was written to here
        for statement in _DOOR:
            connection.execute(statement)

    def run(self, db: SqliteDb, works: Sequence[Work]) -> list[Any]:
        results = self._keep(db, works) if all(map(self._is_pieces, works)) else None
        if results is None:
            results = self._transaction(db, works)
        if len(self._last) > _REMEMBERED:
            self._last.clear()
        for session, kept in db.kept.items():
            self._last[session] = kept[-1].seq
        return results

    def _transaction(self, db: SqliteDb, works: Sequence[Work]) -> list[Any]:
        """Whatever it is; neighbours that are pieces of answers are kept together here too."""
        results: list[Any] = []
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            for are_pieces, neighbours in groupby(works, self._is_pieces):
                some = list(neighbours)
                kept = self._keep(db, some) if are_pieces else None
                results += [work(db) for work in some] if kept is None else kept
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        return results

    def _is_pieces(self, work: Work) -> bool:
        """Only pieces of an answer, and their place is known. Anything else counts, or is looked for."""
        known = isinstance(work, Append) and work.items and not work.along and work.lease.session in self._last
        return bool(known) and not is_news(cast(Append, work).items)

    def _keep(self, db: SqliteDb, group: Sequence[Work]) -> list[list[Recorded]] | None:
        """None: a lease is gone, a number is another than was thought, or it is too much; nothing was kept then."""
        rows, results, last = list[Any](), list[list[Recorded]](), dict[str, int]()
        now, works = db.now(), cast(Sequence[Append], group)
        for work in works:
            session = work.lease.session
            kept = _numbered(db, work, last.get(session) or self._number(db, session), now, rows)
            last[session] = kept[-1].seq
            results.append(kept)
        if len(rows) > _MOST * _COLUMNS:
            return None
        try:
            self._connection.execute(_statement(len(rows) // _COLUMNS), rows)
        except sqlite3.IntegrityError:
            return None
        for work, kept in zip(works, results, strict=True):
            db.touched.add(work.lease.session)
            db.kept.setdefault(work.lease.session, []).extend(kept)
        return results

    def _number(self, db: SqliteDb, session: str) -> int:
        """The last one, as far as is known here; what this very transaction has kept is the newest."""
        return db.kept[session][-1].seq if session in db.kept else self._last[session]


def _numbered(db: SqliteDb, work: Append, last: int, now: float, rows: list[Any]) -> list[Recorded]:
    lease, kept = work.lease, []
    for seq, item in enumerate(work.items, last + 1):
        _, text, as_kept = shown(db, cast(Event, item))
        rows += (lease.session, lease.fence, lease.driver_fence, seq, work.turn, text, now)
        kept.append(Recorded(session=lease.session, seq=seq, at=now, item=as_kept, turn=work.turn))
    return kept


@lru_cache(maxsize=100)
def _statement(rows: int) -> str:
    row = f"({', '.join('?' * _COLUMNS)})"
    return f"INSERT INTO said VALUES {', '.join([row] * rows)}"
