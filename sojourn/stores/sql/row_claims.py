"""Claims on rows of the inbox and the outbox: each row has one owner, and each place one claimed row at a time.

A claim takes two statements in one transaction: the first finds rows and, on PostgreSQL, locks them and skips rows
that others have locked; the second takes them. If two processes still claim rows of one place, a unique index
refuses the second, and its transaction runs again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.core.errors import LeaseLost, NotFound
from sojourn.ports.gateway_store import AccountKey
from sojourn.stores.sql.db import Conditions, Db, Row
from sojourn.stores.sql.rows import decode_json, session_id_from
from sojourn.stores.sql.tables import TABLES_BY_NAME
from sojourn.text.escape import escape, unescape

RELEASED = {"owner": "", "lease_until": 0.0}  # the columns of a row that nobody has claimed


@dataclass(frozen=True, slots=True)
class ClaimTable:
    """A table whose rows are claimed."""

    table: str
    waiting: str  # the state of a row that may be claimed
    working: str  # the state of a claimed row
    label: str  # a row of it, in error messages
    topic: str  # whose subscribers are woken when a row changes
    on_takeover: str = ""  # further assignments when the row of a dead owner is claimed

    @property
    def columns(self) -> str:
        return ", ".join(TABLES_BY_NAME[self.table].columns)

    @property
    def open_states(self) -> str:
        return f"('{self.waiting}', '{self.working}')"


@dataclass(frozen=True, slots=True)
class ClaimFilter:
    """Which rows a caller wants to claim."""

    lines: Sequence[AccountKey] | None = None
    place: str | None = None
    out_of_turn: bool = False  # also a row behind one that is claimed
    limit: int = 1

    def to_sql(self) -> tuple[str, list[Any]]:
        sql, params = "", list[Any]()
        if self.lines is not None:
            # `|| ''` keeps the planner from an index on these columns: it shall read by id and stop at the first match
            pairs = ", ".join(["(?, ?)"] * len(self.lines))
            sql += f" AND (b.platform || '', b.account || '') IN (VALUES {pairs})"
            params += [escape(name) for line in self.lines for name in line]
        if self.place is not None:
            sql += " AND b.place = ?"
            params.append(escape(self.place))
        return sql, params


def claim_fields(row: Row) -> dict[str, Any]:
    """Decodes the fields that Incoming and Outgoing have in common."""
    texts = {name: unescape(row[name]) for name in ("platform", "account", "place", "message_id", "owner", "error")}
    plain = {name: row[name] for name in ("id", "state", "attempts", "fence", "next_try_at", "finished_at")}
    return {
        **texts,
        **plain,
        "until": row["lease_until"],
        "payload": decode_json(row["payload"]),
        "session": session_id_from(row),
    }


def find_claimable(db: Db, table: ClaimTable, wanted: ClaimFilter, *, lock: bool) -> list[Row]:
    """Finds rows that may be claimed now: first those of dead owners, longest dead first, then the oldest."""
    if wanted.limit <= 0 or (wanted.lines is not None and not wanted.lines):
        return []
    condition, params = wanted.to_sql()
    locking = " FOR UPDATE SKIP LOCKED" if lock and db.for_update else ""
    now, or_working = db.now(), "" if wanted.out_of_turn else f" OR e.state = '{table.working}'"
    abandoned = db.fetch_all(
        f"SELECT b.id, b.state FROM {table.table} b WHERE b.state = '{table.working}' AND b.lease_until < ?{condition} "
        f"ORDER BY b.lease_until, b.id LIMIT ?{locking}",
        [now, *params, wanted.limit],
    )
    if len(abandoned) == wanted.limit:
        return abandoned
    waiting = db.fetch_all(
        f"SELECT b.id, b.state FROM {table.table} b WHERE b.state = '{table.waiting}' AND b.next_try_at <= ?{condition}"
        f" AND NOT EXISTS (SELECT 1 FROM {table.table} e WHERE e.place = b.place AND e.state IN {table.open_states} "
        f"AND e.id <> b.id AND ((e.id < b.id AND e.state = '{table.waiting}'){or_working})) "
        f"ORDER BY b.id LIMIT ?{locking}",
        [now, *params, wanted.limit - len(abandoned)],
    )
    return [*abandoned, *waiting]


def claim_rows(db: Db, table: ClaimTable, owner: str, wanted: ClaimFilter, seconds: float) -> list[Row]:
    """Claims rows for an owner for some seconds."""
    claimed, until = list[Row](), db.now() + seconds
    for candidate in find_claimable(db, table, wanted, lock=True):
        takeover = table.on_takeover if candidate["state"] == table.working else ""
        ahead = ", ahead = 1" if wanted.out_of_turn and candidate["state"] == table.waiting else ""
        row = db.fetch_one(
            f"UPDATE {table.table} SET state = '{table.working}', owner = ?, fence = fence + 1, "
            f"attempts = attempts + 1, lease_until = ?{takeover}{ahead} WHERE id = ? RETURNING {table.columns}",
            (escape(owner), until, candidate["id"]),
        )
        if row is not None:
            claimed.append(row)
    return sorted(claimed, key=lambda row: int(row["id"]))


def update_claimed(
    db: Db, table: ClaimTable, id: int, fence: int, values: Mapping[str, Any], *, state: str = ""
) -> Row:
    """Updates a row whose claim has this fence. Raises LeaseLost if another owner has claimed it since."""
    row = db.fetch_one(
        f"UPDATE {table.table} SET {', '.join(f'{name} = ?' for name in values)} WHERE id = ? AND fence = ? "
        f"AND state = ? RETURNING {table.columns}",
        [*values.values(), id, fence, state or table.working],
    )
    if row is None:
        raise _claim_lost(table, id, db.fetch_one(f"SELECT state, owner FROM {table.table} WHERE id = ?", (id,)))
    db.wake_names.add(table.topic)
    return row


def _claim_lost(table: ClaimTable, id: int, row: Row | None) -> LeaseLost | NotFound:
    if row is None:
        return NotFound(
            f"{table.label} {id} is gone.", hint="It was deleted with its session; there is nothing left to do."
        )
    owner = unescape(row["owner"]) or "nobody"
    return LeaseLost(
        f'{table.label} {id} is "{row["state"]}" by now and belongs to {owner}.', hint="Leave it; nothing is lost."
    )


def list_rows(
    db: Db,
    table: ClaimTable,
    *,
    place: str | None = None,
    session: str | None = None,
    states: Sequence[str] = (),
    limit: int = 100,
    newest: bool = False,
) -> list[Row]:
    """Lists rows by id, or from the newest."""
    where = Conditions()
    where.add_filters(("place = ?", place), ("session_id = ?", session))
    where.add_choice("state", states)
    return db.fetch_all(
        f"SELECT {table.columns} FROM {table.table} WHERE {where} ORDER BY id {'DESC' if newest else ''} LIMIT ?",
        [*where.params, max(0, limit)],
    )
