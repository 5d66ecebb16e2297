"""Claims on rows of the inbox and the outbox: each row has one owner, and each place one claimed row at a time.

A claim takes two statements in one transaction: the first finds rows and, on PostgreSQL, locks them and skips rows
that others have locked; the second takes them. If two processes still claim rows of one place, a unique index
refuses the second, and its transaction runs again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from sojourn.core.errors import LeaseLost, NotFound
from sojourn.core.sessions import SessionId
from sojourn.ports.gateway_store import AccountKey, Incoming, Outgoing
from sojourn.stores.sql.db import Conditions, Db, Row
from sojourn.stores.sql.rows import decode_row, encode_fields
from sojourn.stores.sql.tables import TABLES_BY_NAME
from sojourn.text.escape import escape, unescape

Item = TypeVar("Item", bound=Incoming | Outgoing)
RELEASED = {"owner": "", "until": 0.0}  # the fields of a row that nobody has claimed


@dataclass(frozen=True, slots=True)
class ClaimFilter:
    """Which rows a caller wants to claim."""

    accounts: Sequence[AccountKey] | None = None
    place: str | None = None
    out_of_turn: bool = False  # also a row behind one that is claimed
    limit: int = 1

    @property
    def is_possible(self) -> bool:
        return self.limit > 0 and (self.accounts is None or bool(self.accounts))

    def params(self, now: float, *limit: int) -> list[Any]:
        return [now, *self.to_conditions().params, *limit]

    def to_conditions(self) -> Conditions:
        where = Conditions()
        if self.accounts is not None:
            # `|| ''` keeps the planner from an index on these columns: it shall read by id and stop at the first match
            pairs = ", ".join(["(?, ?)"] * len(self.accounts))
            names = [escape(name) for account in self.accounts for name in account]
            where.add(f"(b.platform || '', b.account || '') IN (VALUES {pairs})", *names)
        where.add_filters(("b.place = ?", self.place))
        return where


@dataclass(frozen=True, slots=True)
class ClaimTable(Generic[Item]):
    """A table whose rows are claimed."""

    item_type: type[Item]
    table: str
    waiting: str  # the state of a row that may be claimed
    working: str  # the state of a claimed row
    label: str  # a row of it, in error messages
    topic: str  # whose subscribers are woken when a row changes
    on_takeover: str = ""  # further assignments when the row of a dead owner is claimed

    @property
    def columns(self) -> str:
        return ", ".join(TABLES_BY_NAME[self.table].columns)

    def decode(self, row: Row) -> Item:
        return decode_row(self.item_type, row)

    def find_claimable(self, db: Db, wanted: ClaimFilter) -> list[Row]:
        """Finds and locks rows that may be claimed: first those of dead owners, longest dead first, then the oldest."""
        if not wanted.is_possible:
            return []
        locking, now = " FOR UPDATE SKIP LOCKED" if db.for_update else "", db.now()
        abandoned = db.fetch_all(f"{self._abandoned(wanted)} LIMIT ?{locking}", wanted.params(now, wanted.limit))
        if len(abandoned) == wanted.limit:
            return abandoned
        room = wanted.limit - len(abandoned)
        return [*abandoned, *db.fetch_all(f"{self._waiting(wanted)} LIMIT ?{locking}", wanted.params(now, room))]

    def has_claimable(self, db: Db, wanted: ClaimFilter) -> bool:
        """Whether `claim` would find a row. One query."""
        if not wanted.is_possible:
            return False
        found = f"SELECT 1 AS found WHERE EXISTS ({self._abandoned(wanted)}) OR EXISTS ({self._waiting(wanted)})"
        params = wanted.params(db.now())
        return db.fetch_one(found, [*params, *params]) is not None

    def _abandoned(self, wanted: ClaimFilter) -> str:
        """The query for rows of dead owners; like the next one, of `wanted.params`."""
        return (
            f"SELECT b.id, b.state FROM {self.table} b WHERE b.state = '{self.working}' AND b.lease_until < ? "
            f"AND {wanted.to_conditions()} ORDER BY b.lease_until, b.id"
        )

    def _waiting(self, wanted: ClaimFilter) -> str:
        or_working = "" if wanted.out_of_turn else f" OR e.state = '{self.working}'"
        return (
            f"SELECT b.id, b.state FROM {self.table} b WHERE b.state = '{self.waiting}' AND b.next_try_at <= ? "
            f"AND {wanted.to_conditions()} AND NOT EXISTS (SELECT 1 FROM {self.table} e WHERE e.place = b.place "
            f"AND e.state IN ('{self.waiting}', '{self.working}') AND e.id <> b.id "
            f"AND ((e.id < b.id AND e.state = '{self.waiting}'){or_working})) ORDER BY b.id"
        )

    def claim(self, db: Db, owner: str, wanted: ClaimFilter, seconds: float) -> list[Item]:
        """Claims rows for an owner for some seconds."""
        claimed, until = list[Row](), db.now() + seconds
        for candidate in self.find_claimable(db, wanted):
            takeover = self.on_takeover if candidate["state"] == self.working else ""
            ahead = ", ahead = 1" if wanted.out_of_turn and candidate["state"] == self.waiting else ""
            row = db.fetch_one(
                f"UPDATE {self.table} SET state = '{self.working}', owner = ?, fence = fence + 1, "
                f"attempts = attempts + 1, lease_until = ?{takeover}{ahead} WHERE id = ? RETURNING {self.columns}",
                (escape(owner), until, candidate["id"]),
            )
            if row is not None:
                claimed.append(row)
        return [self.decode(row) for row in sorted(claimed, key=lambda row: int(row["id"]))]

    def update(self, db: Db, item: Item, fields: Mapping[str, Any], *, state: str = "") -> Item:
        """Updates the row of a claimed item. Raises LeaseLost if another owner has claimed it since."""
        columns = encode_fields(fields, db.redact)
        row = db.fetch_one(
            f"UPDATE {self.table} SET {', '.join(f'{name} = ?' for name in columns)} WHERE id = ? AND fence = ? "
            f"AND state = ? RETURNING {self.columns}",
            [*columns.values(), item.id, item.fence, state or self.working],
        )
        if row is None:
            raise self._claim_lost(db, item)
        if "state" in fields:  # else nobody may claim another row because of it
            db.wake_names.add(self.topic)
        return self.decode(row)

    def release(self, db: Db, item: Item, seconds: float, error: str, **more: Any) -> Item:
        """Lets anybody claim the row again after some seconds. `more` are further fields to change."""
        fields = {"state": self.waiting, "error": error, "next_try_at": db.now() + seconds, **RELEASED, **more}
        return self.update(db, item, fields)

    def _claim_lost(self, db: Db, item: Item) -> LeaseLost | NotFound:
        row = db.fetch_one(f"SELECT state, owner FROM {self.table} WHERE id = ?", (item.id,))
        if row is None:
            return NotFound(
                f"{self.label} {item.id} is gone.", hint="It was deleted with its session; there is nothing left to do."
            )
        return LeaseLost(
            f'{self.label} {item.id} is "{row["state"]}" by now and belongs to {unescape(row["owner"]) or "nobody"}.',
            hint="Leave it; nothing is lost.",
        )

    def list_items(
        self,
        db: Db,
        *,
        place: str | None = None,
        session: SessionId | None = None,
        states: Sequence[str] = (),
        limit: int = 100,
        newest: bool = False,
    ) -> list[Item]:
        """Lists items from the oldest, or from the newest."""
        where = Conditions()
        where.add_filters(("place = ?", place), ("session_id = ?", session))
        where.add_choice("state", states)
        rows = db.fetch_all(
            f"SELECT {self.columns} FROM {self.table} WHERE {where} ORDER BY id {'DESC' if newest else ''} LIMIT ?",
            [*where.params, max(0, limit)],
        )
        return [self.decode(row) for row in rows]
