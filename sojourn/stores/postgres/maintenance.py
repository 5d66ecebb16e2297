"""Maintenance of the PostgreSQL store: statistics, verification, VACUUM, and rebuilding of search terms."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sojourn.ports.store_admin import Progress, StoreStats, VerifyReport
from sojourn.stores.postgres import index
from sojourn.stores.postgres.connect import Connection
from sojourn.stores.postgres.db import WRITE, PostgresDb, ServerClock
from sojourn.stores.sql import admin, kept_secrets
from sojourn.stores.sql.db import Db, fetch_number
from sojourn.stores.sql.rows import MESSAGE_COLUMNS
from sojourn.stores.sql.tables import SESSION_TABLES, TABLES
from sojourn.text.redaction import redact
from sojourn.text.tokenizer import TOKENIZER_VERSION

_OUR_TABLES = (
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

REMAINING_COPIES = (
    "the server's write-ahead log, and archives and replicas made of it, may hold it until they are recycled",
    "pages of the data files may hold it until they are written over; VACUUM FULL rewrites them at once",
    "backups made of the database (pg_dump, snapshots) may hold it",
)


def collect_stats(db: Db, place: str, schema: int, stale: bool) -> StoreStats:
    rows = db.fetch_all(
        "SELECT c.relname AS name, pg_total_relation_size(c.oid) AS bytes, "
        "COALESCE(pg_relation_size(to_regclass('messages_terms')), 0) AS terms FROM pg_class c "
        "WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r'"
    )
    bytes_by = {"messages": 0, "search index": 0, "sessions": 0, "events": 0, "other": 0}
    for row in rows:
        if row["name"] in _OUR_TABLES:
            bytes_by[row["name"] if row["name"] in bytes_by else "other"] += row["bytes"]
            bytes_by["search index"] = row["terms"]
    bytes_by["messages"] -= bytes_by["search index"]
    not_indexed = admin.count_rows(db, "messages") if stale else _count_unindexed(db)
    return StoreStats(
        kind="postgres",
        place=place,
        schema=schema,
        not_indexed=not_indexed,
        bytes=sum(bytes_by.values()),
        bytes_by=bytes_by,
        **admin.collect_statistics(db),
    )


def _count_unindexed(db: Db) -> int:
    sql = "SELECT count(*) AS n FROM messages WHERE terms IS NULL OR id <= ?"
    return fetch_number(db, sql, (index.read_underived_to(db),))


def verify(db: Db, progress: Progress | None) -> VerifyReport:
    """Checks the rows, then the index. The server checks its pages itself."""
    report = progress or (lambda what, done, of: None)
    report("rows", 0, 2)
    problems = admin.find_violations(db)
    report("index", 1, 2)
    if unindexed := fetch_number(db, "SELECT count(*) AS n FROM messages WHERE terms IS NULL"):
        problems.append(f"{unindexed} messages that no search can find")
    report("done", 2, 2)
    return VerifyReport(checked=admin.count_checked_rows(db), problems=tuple(problems))


def vacuum(connection: Connection) -> None:
    """Frees the space of deleted rows, and removes their terms from the index."""
    names = ", ".join(("sessions", "system_prompts", "blobs", "inbox_files", *SESSION_TABLES))
    connection.execute(f"VACUUM {names}".encode())


def redact_kept(connection: Connection, clock: ServerClock, base: int) -> None:
    """Redacts what was stored before, and frees the space of what was folded."""

    def run(work: Callable[[Db], Any]) -> Any:
        db = PostgresDb(connection, redact, WRITE, clock, base=base)
        try:
            result = work(db)
            db.commit()
        except BaseException:
            connection.rollback()
            raise
        return result

    if run(kept_secrets.has_kept_secrets):
        kept_secrets.redact_store(run)
        vacuum(connection)
        run(kept_secrets.finish)


def analyze(connection: Connection) -> None:
    """Updates the statistics of the planner, for fast searches after a big import."""
    connection.execute("ANALYZE messages, sessions")


def rebuild_terms(run: Callable[[Callable[[Db], Any]], Any], progress: Callable[[int, int], None] | None) -> int:
    """Rebuilds the terms of all messages in batches; returns their number."""
    total, done, after = run(lambda db: admin.count_rows(db, "messages")), 0, 0
    while ids := run(partial(_rebuild_batch, after=after)):
        after, done = ids[-1], done + len(ids)
        if progress:
            progress(done, max(total, done))
    run(lambda db: db.execute("UPDATE meta SET value = ? WHERE key = 'terms_version'", (str(TOKENIZER_VERSION),)))
    return done


def complete_terms(
    run: Callable[[Callable[[Db], Any]], Any], progress: Callable[[int, int], None] | None, is_over: Callable[[], bool]
) -> int:
    """Completes the terms of rows that an older version has written; returns their number. Stops when `is_over`."""
    total, done = run(_count_unindexed), 0
    while not is_over() and (count := run(index.derive_batch)):
        done += count
        if progress:
            progress(done, max(total, done))
    return done


def _rebuild_batch(db: Db, after: int) -> list[int]:
    rows = db.fetch_all(
        f"SELECT id, {_COLUMNS} FROM messages WHERE id > ? ORDER BY id LIMIT ?", (after, index.BATCH_ROWS)
    )
    index.save_terms(db, rows)
    return [row["id"] for row in rows]
