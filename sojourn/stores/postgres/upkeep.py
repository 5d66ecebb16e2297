"""Looking after the database: figures, proofs, and clearing away what was forgotten."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sojourn.core.terms import VERSION
from sojourn.ports.admin import Progress, Stats, Verdict
from sojourn.stores.postgres import index
from sojourn.stores.postgres.connect import Connection
from sojourn.stores.sql import admin
from sojourn.stores.sql.db import Db
from sojourn.stores.sql.rows import MESSAGE_COLUMNS, message_from_row
from sojourn.stores.sql.tables import SESSION_TABLES, TABLES

_OURS = (
    *(table.name for table in TABLES),
    "changes",
    "controls",
    "gateways",
    "credential_holds",
    "documents",
    "meta",
    "schema_migrations",
)
_COLUMNS = ", ".join(MESSAGE_COLUMNS)
STEP = 256

LEFT = (
    "the server's write-ahead log, and archives and replicas made of it, may hold it until they are recycled",
    "pages of the data files may hold it until they are written over; VACUUM FULL rewrites them at once",
    "backups made of the database (pg_dump, snapshots) may hold it",
)


def stats(db: Db, place: str, schema: int, stale: bool) -> Stats:
    rows = db.all(
        "SELECT c.relname AS name, pg_total_relation_size(c.oid) AS bytes, "
        "COALESCE(pg_relation_size(to_regclass('messages_terms')), 0) AS terms FROM pg_class c "
        "WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'"
    )
    by = {"messages": 0, "search index": 0, "sessions": 0, "events": 0, "other": 0}
    for row in rows:
        if row["name"] in _OURS:
            by[row["name"] if row["name"] in by else "other"] += row["bytes"]
            by["search index"] = row["terms"]
    by["messages"] -= by["search index"]
    waiting = admin.count(db, "messages") if stale else _unfound(db)
    return Stats(
        kind="postgres",
        place=place,
        schema=schema,
        not_indexed=waiting,
        bytes=sum(by.values()),
        bytes_by=by,
        **admin.figures(db),
    )


def _unfound(db: Db) -> int:
    row = db.one("SELECT count(*) AS n FROM messages WHERE terms IS NULL")
    return int(row["n"]) if row else 0


def verify(db: Db, progress: Progress | None) -> Verdict:
    """The laws the rows must obey, then the index. Pages are the server's own business."""
    say = progress or (lambda what, done, of: None)
    say("rows", 0, 2)
    problems = admin.broken_laws(db)
    say("index", 1, 2)
    if unfound := _unfound(db):
        problems.append(f"{unfound} messages that no search can find")
    say("done", 2, 2)
    return Verdict(checked=admin.counted(db), problems=tuple(problems))


def sweep(connection: Connection) -> None:
    """Gives back the room of deleted rows, and takes their terms out of the index."""
    names = ", ".join(("sessions", "system_prompts", "blobs", "inbox_files", *SESSION_TABLES))
    connection.execute(f"VACUUM {names}".encode())


def learn(connection: Connection) -> None:
    """Lets the server count words and rows anew, so that it plans searches well after a big import."""
    connection.execute("ANALYZE messages, sessions")


def make_terms(run: Callable[[Callable[[Db], Any]], Any], progress: Callable[[int, int], None] | None) -> int:
    """Makes the terms of all messages anew, a few at a time."""
    total, done, after = run(lambda db: admin.count(db, "messages")), 0, 0
    while made := run(partial(_make_some, after=after)):
        after, done = made[-1], done + len(made)
        if progress:
            progress(done, max(total, done))
    run(lambda db: db.run("UPDATE meta SET value = ? WHERE key = 'terms_version'", (str(VERSION),)))
    return done


def _make_some(db: Db, after: int) -> list[int]:
    rows = db.all(f"SELECT id, {_COLUMNS} FROM messages WHERE id > ? ORDER BY id LIMIT ?", (after, STEP))
    db.many(
        "UPDATE messages SET terms = ?::tsvector WHERE id = ?",
        [(index.literal(message_from_row(row)), row["id"]) for row in rows],
    )
    return [row["id"] for row in rows]


def after_import(db: Db, table: str) -> None:
    """Rows came with numbers of their own: new ones are counted on from there."""
    if table in ("messages", "inbox", "outbox"):
        db.one(
            f"SELECT setval(pg_get_serial_sequence('{table}', 'id'), "
            f"GREATEST((SELECT max(id) FROM {table}), (SELECT last_value FROM {table}_id_seq)))"
        )
