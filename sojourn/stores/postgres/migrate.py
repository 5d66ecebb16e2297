"""Schema migrations of the PostgreSQL store: numbered, in one transaction under a lock, with rows counted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

from sojourn.core.errors import StoreForeign, StoreReadOnly
from sojourn.stores.postgres import feed
from sojourn.stores.postgres.connect import Connection, PostgresAddress, check_server
from sojourn.stores.sql.migrations import COUNT_ROWS, Migration, check_not_newer, check_row_counts, read_migrations
from sojourn.text.tokenizer import TOKENIZER_VERSION

load_migrations = partial(read_migrations, Path(__file__).with_name("migrations"))

_COMMENT = "The schema of a Sojourn store"  # on schema_migrations, as other programs use that name too
_OLDER_TERMS = "2"  # the tokenizer that knew the stems of English and Russian alone
_LOCK_KEY = 0x534A524E  # "SJRN": the advisory lock for schema changes
_INSPECT = """
SELECT obj_description(to_regclass('schema_migrations')) AS mark,
       to_regclass('schema_migrations') IS NOT NULL AS has_migrations,
       (SELECT string_agg(relname, ', ' ORDER BY relname) FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relname IN ('sessions', 'messages')) AS tables,
       pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean AS read_only
"""


@dataclass(slots=True)
class StoreState:
    """The state of a store when it was connected to."""

    schema: int
    read_only: bool
    base: int  # of the change feed
    stale: bool  # the search terms come from another version of the tokenizer


def ensure_schema(connection: Connection, address: PostgresAddress, migrations: list[Migration]) -> StoreState:
    """Creates a missing store, upgrades an old one, and raises for a database of another program."""
    check_server(connection, address)
    newest = migrations[-1][0]
    schema, read_only = _read_schema(connection, address, newest)
    if schema < newest:
        if read_only:
            raise StoreReadOnly(
                f"{address} has no store this version can read, and can only be read.",
                hint="Start Sojourn once with the address of the primary server.",
            )
        with connection.transaction():
            _lock_schema(connection)
            schema, _ = _read_schema(connection, address, newest)
            if schema < newest:  # another process may have upgraded it
                _upgrade(connection, schema, migrations)
    if not read_only:
        _note_older_terms(connection)
    base = _load_base(connection, read_only)
    row = connection.execute("SELECT value FROM meta WHERE key = 'terms_version'").fetchone()
    return StoreState(
        schema=newest, read_only=read_only, base=base, stale=row is None or row["value"] != str(TOKENIZER_VERSION)
    )


def _note_older_terms(connection: Connection) -> None:
    """Notes that the rows so far lack stems that this version adds; they get them afterwards, in steps."""
    with connection.transaction():
        sql = "UPDATE meta SET value = %s WHERE key = 'terms_version' AND value = %s RETURNING key"
        if connection.execute(sql, (str(TOKENIZER_VERSION), _OLDER_TERMS)).fetchone():
            connection.execute(
                "INSERT INTO meta(key, value) SELECT 'underived_to', max(id)::text FROM messages "
                "HAVING max(id) IS NOT NULL ON CONFLICT (key) DO UPDATE SET value = excluded.value"
            )


def _lock_schema(connection: Connection) -> None:
    """Locks the schema until the transaction ends. Waits for a long migration of another process."""
    connection.execute("SET LOCAL lock_timeout = '30min'")
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK_KEY,))


def _read_schema(connection: Connection, address: PostgresAddress, newest: int) -> tuple[int, bool]:
    """Returns the schema number (0 if there is no store), and whether the database is read-only."""
    state = connection.execute(_INSPECT).fetchone()
    assert state is not None
    if state["mark"] != _COMMENT:
        if state["has_migrations"] or state["tables"]:
            raise StoreForeign(
                f"{address} belongs to another program (it has {state['tables'] or 'schema_migrations'}).",
                hint="Give Sojourn a database of its own: createdb sojourn.",
            )
        return 0, state["read_only"]
    row = connection.execute("SELECT max(number) AS number FROM schema_migrations").fetchone()
    schema = int(row["number"] or 0) if row else 0
    check_not_newer(str(address), schema, newest)
    return schema, state["read_only"]


def _upgrade(connection: Connection, schema: int, migrations: list[Migration]) -> None:
    """Applies the missing migrations, and counts rows before and after. Runs inside a transaction."""
    if schema:
        connection.execute("LOCK TABLE sessions, messages, events IN SHARE ROW EXCLUSIVE MODE")  # blocks all writers
    before = _count_rows(connection) if schema else (0, 0, 0)
    if not schema:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS schema_migrations"
            "(number INTEGER PRIMARY KEY, name TEXT NOT NULL, at DOUBLE PRECISION NOT NULL)"
        )
        connection.execute(f"COMMENT ON TABLE schema_migrations IS '{_COMMENT}'".encode())
    for number, name, sql in migrations:
        if number > schema:
            connection.execute(sql.encode())
            connection.execute(
                "INSERT INTO schema_migrations(number, name, at) VALUES (%s, %s, extract(epoch FROM now()))",
                (number, name),
            )
    if not schema:
        connection.execute("INSERT INTO meta(key, value) VALUES ('terms_version', %s)", (str(TOKENIZER_VERSION),))
    check_row_counts(before, _count_rows(connection))


def _count_rows(connection: Connection) -> tuple[int, ...]:
    row = connection.execute(COUNT_ROWS).fetchone()
    return tuple(row.values()) if row else ()


def _load_base(connection: Connection, read_only: bool) -> int:
    base, is_new = feed.compute_base(connection)
    if is_new and not read_only:
        with connection.transaction():
            _lock_schema(connection)
            base, is_new = feed.compute_base(connection)
            if is_new:
                feed.save_base(connection, base)
    return base
