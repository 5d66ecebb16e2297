"""Administration of a store: statistics, health, consistency checks, backup files, export and import of rows."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from sojourn.core.errors import BadInput, SojournError
from sojourn.ports.store import Health, HealthState
from sojourn.stores.sql.db import Db, fetch_number, insert_statement, placeholders
from sojourn.stores.sql.kept_secrets import count_found
from sojourn.stores.sql.tables import TABLES, TABLES_BY_NAME

# Each query counts rows that must not exist; its text describes them.
_ORPHANS = "SELECT count(*) AS n FROM {} WHERE session_id NOT IN (SELECT id FROM sessions)"
_COUNTER_BEHIND = (
    "SELECT count(*) AS n FROM sessions s "
    "JOIN (SELECT session_id, max(seq) AS top FROM {} GROUP BY session_id) l ON l.session_id = s.id "
    "WHERE l.top > s.last_seq"
)
_CONSTRAINTS = (
    ("messages without a session", _ORPHANS.format("messages")),
    ("events without a session", _ORPHANS.format("events")),
    ("records without their session", _ORPHANS.format("records") + " AND session_id IS NOT NULL"),
    ("hand-offs without their session", _ORPHANS.format("handoffs")),
    *(
        (f"rows of the {table} without their session", _ORPHANS.format(table) + " AND session_id IS NOT NULL")
        for table in ("inbox", "outbox", "bindings")
    ),
    ("sessions whose counter is behind their messages", _COUNTER_BEHIND.format("messages")),
    ("sessions whose counter is behind their events", _COUNTER_BEHIND.format("events")),
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


def count_rows(db: Db, table: str) -> int:
    return fetch_number(db, f"SELECT count(*) AS n FROM {table}")


def is_empty(db: Db) -> bool:
    return not any(count_rows(db, table.name) for table in TABLES)


def count_checked_rows(db: Db) -> dict[str, int]:
    """Returns the number of rows in the tables that `find_violations` checks."""
    return {table: count_rows(db, table) for table in ("sessions", "messages", "events", "records")}


def collect_statistics(db: Db) -> dict[str, Any]:
    """Returns the fields of `StoreStats` that both databases compute the same way."""
    by_source = db.fetch_all("SELECT source, count(*) AS n FROM sessions GROUP BY source ORDER BY 2 DESC, 1")
    by_role = db.fetch_all("SELECT role, count(*) AS n FROM messages GROUP BY role ORDER BY 2 DESC, 1")
    return {
        **count_checked_rows(db),
        "sessions_by_source": {row["source"]: row["n"] for row in by_source},
        "redacted": count_found(db),
        "messages_by_role": {row["role"]: row["n"] for row in by_role},
    }


def health_from(error: SojournError, state: HealthState, place: str, *, readable: bool = True) -> Health:
    """Returns the health of a store that has this error."""
    return Health(state=state, store=place, readable=readable, code=error.code, error=str(error), hint=error.hint)


def find_violations(db: Db) -> list[str]:
    """Checks the constraints that span rows; returns a sentence for each violated one."""
    counts = ((problem, fetch_number(db, sql)) for problem, sql in _CONSTRAINTS)
    return [f"{count} {problem}" for problem, count in counts if count]


def export_rows(db: Db, table: str, *, after: Sequence[Any] | None, limit: int) -> list[tuple[Any, ...]]:
    """Returns the next rows of a table in the order of its key."""
    table_info = TABLES_BY_NAME[table]
    numbers = {"seq", "position", "inbox_id"} | ({"id"} if table in ("messages", "inbox", "outbox") else set())
    key = [name if name in numbers else name + db.collate for name in table_info.key]
    where = f"WHERE ({', '.join(key)}) > ({placeholders(table_info.key)}) " if after is not None else ""
    rows = db.fetch_all(
        f"SELECT {', '.join(table_info.columns)} FROM {table} {where}ORDER BY {', '.join(key)} LIMIT ?",
        [*(after or ()), limit],
    )
    return [tuple(row[name] for name in table_info.columns) for row in rows]


def import_rows(db: Db, table: str, rows: Sequence[tuple[Any, ...]]) -> None:
    if not rows:
        return
    table_info = TABLES_BY_NAME[table]
    if table == "messages":
        db.insert_messages(table_info.columns, rows)
    else:
        db.execute_many(insert_statement(table, table_info.columns), rows)
    db.after_import(table, rows)


def timestamp() -> str:
    """Returns the time for a file name, with milliseconds so that two backups in one second differ."""
    return datetime.now().astimezone().strftime("%Y%m%d-%H%M%S-%f")[:-3]


def choose_backup_file(target: Path) -> Path:
    """Returns the file of a new backup: the target, or a file in it if it is a folder. Raises if the file exists."""
    file = target / f"sojourn-{timestamp()}.db" if target.is_dir() else target
    if file.exists():
        raise BadInput(f"{file} already exists.", hint="Name a file that does not exist, or a folder.")
    return file


def unwritable(folder: Path, error: OSError) -> BadInput:
    return BadInput(f"Nothing can be written to {folder}: {error.strerror}.", hint="Name a folder you may write to.")
