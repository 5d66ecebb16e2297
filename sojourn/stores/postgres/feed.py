"""The change feed, numbered so that a reader never misses a change.

Transactions do not commit in the order in which they began. A reader of a plain counter would skip
a number whose transaction is still running, and never return to it. So a change is numbered by its
transaction, and a reader only goes as far as the oldest running transaction: all earlier changes
are settled. A reader may see the same change twice.

    n = base + transaction * 65536 + position in the transaction

A database that was dumped and restored elsewhere has smaller transaction numbers there; `base` is
then increased, so that `n` never decreases.
"""

from __future__ import annotations

from sojourn.core.sessions import Change
from sojourn.stores.postgres.connect import Connection
from sojourn.stores.sql.db import Db, fetch_number

MAX_CHANGES_PER_TRANSACTION = 65536  # with a number of their own; any more share the last one
RECORD_CHANGE = (
    "INSERT INTO changes(session_id, kind, n, at) VALUES "
    f"(?, ?, pg_current_xact_id()::text::bigint * {MAX_CHANGES_PER_TRANSACTION} + ?, "
    "extract(epoch FROM clock_timestamp())) "
    "ON CONFLICT (session_id, kind) DO UPDATE SET n = excluded.n, at = excluded.at"
)
_SETTLED = f"pg_snapshot_xmin(pg_current_snapshot())::text::bigint * {MAX_CHANGES_PER_TRANSACTION} + ?"
_PAGE = (  # selects unsettled changes too: the caller must know whether there are some
    f"SELECT n, session_id, kind, at, n < {_SETTLED} AS settled "
    "FROM changes WHERE n > ? ORDER BY n FETCH FIRST ? ROWS WITH TIES"
)
_LAST = f"SELECT max(n) AS n FROM changes WHERE n < {_SETTLED}"
_BASE = f"""
SELECT (SELECT value FROM meta WHERE key = 'feed_base')::bigint AS base, (SELECT max(n) FROM changes) AS top,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint * {MAX_CHANGES_PER_TRANSACTION} AS upcoming
"""


def read_changes(db: Db, base: int, after: int, limit: int) -> tuple[list[Change], bool]:
    """Returns the settled changes after a number, and whether others wait for an older transaction to end."""
    rows = db.fetch_all(_PAGE, (base, after, limit))
    settled = [row for row in rows if row["settled"]]
    changes = [Change(row["n"], row["session_id"], row["kind"], row["at"]) for row in settled]
    return changes, len(settled) < len(rows)


def read_last_number(db: Db, base: int) -> int:
    """Returns the last settled number: a reader that starts there sees all later commits."""
    return fetch_number(db, _LAST, (base,))


def compute_base(connection: Connection) -> tuple[int, bool]:
    """Returns the base of the numbers, and whether it has to be saved."""
    row = connection.execute(_BASE.encode()).fetchone()
    assert row is not None
    saved, top, upcoming = row["base"] or 0, row["top"] or 0, row["upcoming"]
    if top < saved + upcoming:
        return saved, False
    return top - upcoming + MAX_CHANGES_PER_TRANSACTION, True  # `top` comes from another server


def save_base(connection: Connection, base: int) -> None:
    connection.execute(
        "INSERT INTO meta(key, value) VALUES ('feed_base', %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (str(base),),
    )
