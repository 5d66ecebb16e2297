"""What waits is done together, in one transaction; most of it through a door of its own, in one statement."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, cast

from sojourn.core.events import Yielded
from sojourn.core.sessions import Lease, Recorded, TurnId
from sojourn.ports.store import SideWrites
from sojourn.stores.sql.along import append
from sojourn.stores.sql.db import Db
from sojourn.stores.sqlite.db import SqliteDb
from sojourn.stores.sqlite.doors import MESSAGES, PIECES, Door, door_for

_MOST = 1000  # rows in one statement
_REMEMBERED = 10_000  # sessions whose last number is known without asking
Work = Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class Append:
    """One `append`, as a piece of work that can be done together with others of its kind."""

    lease: Lease
    items: Sequence[Yielded]
    turn: TurnId | None
    along: SideWrites | None = None

    def __call__(self, db: Db) -> list[Recorded]:
        return append(db, self.lease, self.items, self.turn, self.along)


class Together:
    """Does what waits, in order and in one transaction. For one connection and one thread."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._last: dict[str, int] = {}  # the last number of each session that was written to here
        for door in (PIECES, MESSAGES):
            door.open(connection)

    def run(self, db: SqliteDb, works: Sequence[Work]) -> list[Any]:
        doors = set(map(self._door, works))
        door = doors.pop() if len(doors) == 1 else None
        results = self._keep(db, door, works) if door else None
        if results is None:
            results = self._transaction(db, works)
        if len(self._last) > _REMEMBERED:
            self._last.clear()
        for session, kept in db.kept.items():
            self._last[session] = kept[-1].seq
        return results

    def _transaction(self, db: SqliteDb, works: Sequence[Work]) -> list[Any]:
        """Whatever it is; neighbours that fit through one door go through it together here too."""
        results: list[Any] = []
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            for door, neighbours in groupby(works, self._door):
                some = list(neighbours)
                kept = self._keep(db, door, some) if door else None
                results += [work(db) for work in some] if kept is None else kept
            self._connection.execute("COMMIT")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise
        return results

    def _door(self, work: Work) -> Door | None:
        """Where the place of what is added is known, and nothing else is to be done."""
        if isinstance(work, Append) and work.items and not work.along and work.lease.session in self._last:
            return door_for(work.items)
        return None

    def _keep(self, db: SqliteDb, door: Door, group: Sequence[Work]) -> list[list[Recorded]] | None:
        """None: a lease is gone, a number is another than was thought, or it is too much; nothing was kept then."""
        rows, results, last = list[Any](), list[list[Recorded]](), dict[str, int]()
        now, works = db.now(), cast(Sequence[Append], group)
        count = sum(len(work.items) for work in works)
        if count > _MOST:
            return None
        for work in works:
            lease, kept = work.lease, list[Recorded]()
            for seq, item in enumerate(work.items, (last.get(lease.session) or self._number(db, lease.session)) + 1):
                values, recorded = door.prepare(db, lease, seq, item, work.turn, now)
                rows += (*values, lease.fence, lease.driver_fence)
                kept.append(recorded)
            last[lease.session] = kept[-1].seq
            results.append(kept)
        try:
            self._connection.execute(door.statement(count), rows)
        except sqlite3.IntegrityError:
            return None
        for work, kept in zip(works, results, strict=True):
            db.touched.add(work.lease.session)
            db.kept.setdefault(work.lease.session, []).extend(kept)
        return results

    def _number(self, db: SqliteDb, session: str) -> int:
        """The last one, as far as is known here; what this very transaction has kept is the newest."""
        return db.kept[session][-1].seq if session in db.kept else self._last[session]
