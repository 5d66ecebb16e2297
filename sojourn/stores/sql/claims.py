"""Claiming rows of the inbox and the outbox: one owner each, one row of a place at a time.

Two statements in one transaction: the first finds rows and, where a database has several writers, locks them and
passes over what others have locked; the second takes them. Should two still meet at one place, a unique index stops
the second, and its transaction runs again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.core.text import escape
from sojourn.ports.journal import Line
from sojourn.stores.journal import too_late
from sojourn.stores.sql.db import Db, Row, marks
from sojourn.stores.sql.tables import TABLES_BY_NAME


@dataclass(frozen=True, slots=True)
class Box:
    """A table of claims: the states it has for waiting and for being worked on."""

    table: str
    waiting: str
    working: str
    what: str  # a row of it, for people
    ring: str
    on_inherit: str = ""  # what else is set when the row of a dead owner is taken up

    @property
    def columns(self) -> str:
        return ", ".join(TABLES_BY_NAME[self.table].columns)

    @property
    def open(self) -> str:
        return f"('{self.waiting}', '{self.working}')"


@dataclass(frozen=True, slots=True)
class Wanted:
    """Which rows somebody asks for."""

    lines: Sequence[Line] | None = None
    place: str | None = None
    ahead: bool = False  # also behind one that is being worked on
    limit: int = 1

    def condition(self) -> tuple[str, list[Any]]:
        sql, params = "", list[Any]()
        if self.lines is not None:
            # joined to an empty text, so that no index on them is taken: the rows come by number, the first that fits
            pairs = ", ".join(["(?, ?)"] * len(self.lines))
            sql += f" AND (b.platform || '', b.account || '') IN (VALUES {pairs})"
            params += [escape(word) for line in self.lines for word in line]
        if self.place is not None:
            sql += " AND b.place = ?"
            params.append(escape(self.place))
        return sql, params


def candidates(db: Db, box: Box, wanted: Wanted, *, locked: bool) -> list[Row]:
    """Rows that may be claimed now: first those of dead owners, the longest dead before the others; then the oldest."""
    if wanted.limit <= 0 or (wanted.lines is not None and not wanted.lines):
        return []
    more, params = wanted.condition()
    lock = " FOR UPDATE SKIP LOCKED" if locked and db.for_update else ""
    now, before = db.now(), "" if wanted.ahead else f" OR e.state = '{box.working}'"
    left = db.all(
        f"SELECT b.id, b.state FROM {box.table} b WHERE b.state = '{box.working}' AND b.lease_until < ?{more} "
        f"ORDER BY b.lease_until, b.id LIMIT ?{lock}",
        [now, *params, wanted.limit],
    )
    if len(left) == wanted.limit:
        return left
    waiting = db.all(
        f"SELECT b.id, b.state FROM {box.table} b WHERE b.state = '{box.waiting}' AND b.next_try_at <= ?{more} "
        f"AND NOT EXISTS (SELECT 1 FROM {box.table} e WHERE e.place = b.place AND e.state IN {box.open} "
        f"AND e.id <> b.id AND ((e.id < b.id AND e.state = '{box.waiting}'){before})) ORDER BY b.id LIMIT ?{lock}",
        [now, *params, wanted.limit - len(left)],
    )
    return [*left, *waiting]


def claim(db: Db, box: Box, owner: str, wanted: Wanted, seconds: float) -> list[Row]:
    """Takes them: from now on the rows are this owner's, until its time runs out."""
    taken, until = list[Row](), db.now() + seconds
    for found in candidates(db, box, wanted, locked=True):
        inherit = box.on_inherit if found["state"] == box.working else ""
        ahead = ", ahead = 1" if wanted.ahead and found["state"] == box.waiting else ""
        row = db.one(
            f"UPDATE {box.table} SET state = '{box.working}', owner = ?, fence = fence + 1, attempts = attempts + 1, "
            f"lease_until = ?{inherit}{ahead} WHERE id = ? RETURNING {box.columns}",
            (escape(owner), until, found["id"]),
        )
        if row is not None:
            taken.append(row)
    return sorted(taken, key=lambda row: int(row["id"]))


def change(db: Db, box: Box, id: int, fence: int, values: Mapping[str, Any], *, state: str = "") -> Row:
    """Changes a row that is still in the hands of who claimed it under that number."""
    row = db.one(
        f"UPDATE {box.table} SET {', '.join(f'{name} = ?' for name in values)} WHERE id = ? AND fence = ? "
        f"AND state = ? RETURNING {box.columns}",
        [*values.values(), id, fence, state or box.working],
    )
    if row is None:
        raise too_late(box.what, id, db.one(f"SELECT state, owner FROM {box.table} WHERE id = ?", (id,)))
    db.touched.add(box.ring)
    return row


def listed(
    db: Db, box: Box, place: str | None, session: str | None, states: Sequence[str], limit: int, newest: bool = False
) -> list[Row]:
    where, params = ["1 = 1"], list[Any]()
    if place is not None:
        where.append("place = ?")
        params.append(escape(place))
    if session is not None:
        where.append("session_id = ?")
        params.append(escape(session))
    if states:
        where.append(f"state IN ({marks(states)})")
        params += map(escape, states)
    return db.all(
        f"SELECT {box.columns} FROM {box.table} WHERE {' AND '.join(where)} "
        f"ORDER BY id {'DESC' if newest else ''} LIMIT ?",
        [*params, max(0, limit)],
    )
