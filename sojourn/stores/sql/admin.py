"""Figures and proofs about a store, and its rows on the move."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sojourn.stores.sql.db import Db, insertion, marks
from sojourn.stores.sql.tables import TABLES_BY_NAME

# Each finds rows that must not exist; the sentence says what is wrong with them.
_OWNERLESS = "SELECT count(*) AS n FROM {} WHERE session_id NOT IN (SELECT id FROM sessions)"
_BEHIND = (
    "SELECT count(*) AS n FROM sessions s "
    "JOIN (SELECT session_id, max(seq) AS top FROM {} GROUP BY session_id) l ON l.session_id = s.id "
    "WHERE l.top > s.last_seq"
)
_LAWS = (
    ("messages without a session", _OWNERLESS.format("messages")),
    ("events without a session", _OWNERLESS.format("events")),
    ("records without their session", _OWNERLESS.format("records") + " AND session_id IS NOT NULL"),
    ("hand-offs without their session", _OWNERLESS.format("handoffs")),
    *(
        (f"rows of the {table} without their session", _OWNERLESS.format(table) + " AND session_id IS NOT NULL")
        for table in ("inbox", "outbox", "bindings")
    ),
    ("sessions whose counter is behind their messages", _BEHIND.format("messages")),
    ("sessions whose counter is behind their events", _BEHIND.format("events")),
    (
        "numbers used for both a message and an event",
        "SELECT count(*) AS n FROM messages m JOIN events e ON e.session_id = m.session_id AND e.seq = m.seq",
    ),
    (
        "sessions whose message count is wrong",
        "SELECT count(*) AS n FROM sessions s "
        "LEFT JOIN (SELECT session_id, count(*) AS c FROM messages GROUP BY session_id) m ON m.session_id = s.id "
        "WHERE COALESCE(m.c, 0) <> s.message_count",
    ),
)


def count(db: Db, table: str) -> int:
    row = db.one(f"SELECT count(*) AS n FROM {table}")
    return int(row["n"]) if row else 0


def counted(db: Db) -> dict[str, int]:
    """The rows a proof looked at."""
    return {table: count(db, table) for table in ("sessions", "messages", "events", "records")}


def figures(db: Db) -> dict[str, Any]:
    """The part of the statistics that is plain SQL."""
    by_source = db.all("SELECT source, count(*) AS n FROM sessions GROUP BY source ORDER BY 2 DESC, 1")
    by_role = db.all("SELECT role, count(*) AS n FROM messages GROUP BY role ORDER BY 2 DESC, 1")
    return {
        "sessions": count(db, "sessions"),
        "messages": count(db, "messages"),
        "events": count(db, "events"),
        "records": count(db, "records"),
        "sessions_by_source": {row["source"]: row["n"] for row in by_source},
        "messages_by_role": {row["role"]: row["n"] for row in by_role},
    }


def broken_laws(db: Db) -> list[str]:
    """What is wrong with the rows, as sentences."""
    found = ((law, db.one(sql)) for law, sql in _LAWS)
    return [f"{row['n']} {law}" for law, row in found if row and row["n"]]


def export_rows(db: Db, table: str, after: Sequence[Any] | None, limit: int) -> list[tuple[Any, ...]]:
    """The next rows of a table in key order, as plain values."""
    shape = TABLES_BY_NAME[table]
    collate = ' COLLATE "C"' if db.dialect == "postgres" else ""
    numbers = {"seq", "position", "inbox_id"} | ({"id"} if table in ("messages", "inbox", "outbox") else set())
    key = [name if name in numbers else name + collate for name in shape.key]
    where = f"WHERE ({', '.join(key)}) > ({marks(shape.key)}) " if after is not None else ""
    rows = db.all(
        f"SELECT {', '.join(shape.columns)} FROM {table} {where}ORDER BY {', '.join(key)} LIMIT ?",
        [*(after or ()), limit],
    )
    return [tuple(row[name] for name in shape.columns) for row in rows]


def import_rows(db: Db, table: str, rows: Sequence[Sequence[Any]]) -> None:
    shape = TABLES_BY_NAME[table]
    if table == "messages":
        db.put_messages(shape.columns, rows)
    else:
        db.many(insertion(table, shape.columns), rows)
