"""The feed of changes, for readers that must not miss one.

Transactions do not end in the order in which they began. A reader that follows a plain counter
would step over a number whose transaction is still running, and never come back to it. So a
change is numbered by its transaction, and a reader goes only as far as the oldest transaction
that still runs: behind that line everything is settled. The same change may be told twice.

    n = base + transaction * 65536 + position in the transaction

A database that was dumped and loaded elsewhere meets smaller transaction numbers there; `base`
then grows, so that `n` never falls back.
"""

from __future__ import annotations

from sojourn.core.sessions import Change
from sojourn.stores.postgres.connect import Connection
from sojourn.stores.sql.db import Db, Row

ROOM = 65536  # changes of one transaction that have a number of their own; any more share the last
CHANGED = (
    "INSERT INTO changes(session_id, kind, n, at) VALUES "
    f"(?, ?, pg_current_xact_id()::text::bigint * {ROOM} + ?, extract(epoch FROM clock_timestamp())) "
    "ON CONFLICT (session_id, kind) DO UPDATE SET n = excluded.n, at = excluded.at"
)
_SETTLED = f"pg_snapshot_xmin(pg_current_snapshot())::text::bigint * {ROOM} + ?"
_PAGE = (
    f"SELECT n, session_id, kind, at, n < {_SETTLED} AS settled "  # told apart here, so that we know if some wait
    "FROM changes WHERE n > ? ORDER BY n FETCH FIRST ? ROWS WITH TIES"
)
_LAST = f"SELECT max(n) AS n FROM changes WHERE n < {_SETTLED}"
_BASE = f"""
SELECT (SELECT value FROM meta WHERE key = 'feed_base')::bigint AS base, (SELECT max(n) FROM changes) AS top,
       pg_snapshot_xmax(pg_current_snapshot())::text::bigint * {ROOM} AS upcoming
"""


def page(db: Db, base: int, after: int, limit: int) -> tuple[list[Change], bool]:
    """The settled changes after a number, and whether others wait for an older transaction to end."""
    rows = db.all(_PAGE, (base, after, limit))
    settled = [row for row in rows if row["settled"]]
    return [_change(row) for row in settled], len(settled) < len(rows)


def last(db: Db, base: int) -> int:
    """Where to begin so as to hear of everything that ends from now on."""
    row = db.one(_LAST, (base,))
    return int(row["n"] or 0) if row else 0


def _change(row: Row) -> Change:
    return Change(row["n"], row["session_id"], row["kind"], row["at"])


def base(connection: Connection) -> tuple[int, bool]:
    """The number to count from, and whether it is not written down yet."""
    row = connection.execute(_BASE.encode()).fetchone()
    assert row is not None
    kept, top, upcoming = row["base"] or 0, row["top"] or 0, row["upcoming"]
    if top < kept + upcoming:
        return kept, False
    return top - upcoming + ROOM, True  # this server cannot have given out `top`: the rows came from another one


def keep_base(connection: Connection, base: int) -> None:
    connection.execute(
        "INSERT INTO meta(key, value) VALUES ('feed_base', %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (str(base),),
    )
