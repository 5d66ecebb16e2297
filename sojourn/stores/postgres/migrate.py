"""Numbered migrations: all or nothing, counted, one server at a time."""

from __future__ import annotations

import re
from importlib.resources import files

from sojourn.core.errors import StoreCorrupt, StoreForeign, StoreNewer, StoreReadOnly
from sojourn.stores.postgres import feed
from sojourn.stores.postgres.address import Address
from sojourn.stores.postgres.connect import Connection, check_server
from sojourn.text.tokenizer import TOKENIZER_VERSION

Migration = tuple[int, str, str]  # number, name, SQL

_MARK = "The schema of a Sojourn store"  # as a comment on schema_migrations; others use that name too
_LOCK = 0x534A524E  # "SJRN": who holds it may change the schema
_STATE = """
SELECT obj_description(to_regclass('schema_migrations')) AS mark,
       to_regclass('schema_migrations') IS NOT NULL AS has_migrations,
       (SELECT string_agg(relname, ', ' ORDER BY relname) FROM pg_class
        WHERE relnamespace = current_schema()::regnamespace AND relname IN ('sessions', 'messages')) AS tables,
       pg_is_in_recovery() OR current_setting('default_transaction_read_only')::boolean AS read_only
"""


def known_migrations() -> list[Migration]:
    """The SQL files beside this one, in order."""
    found: list[Migration] = []
    for file in files("sojourn.stores.postgres").joinpath("migrations").iterdir():
        if hit := re.fullmatch(r"(\d{4})_(\w+)\.sql", file.name):
            found.append((int(hit[1]), hit[2], file.read_text("utf-8")))
    return sorted(found)


class Opened:
    """What is known about a store once it was reached."""

    def __init__(self, *, schema: int, read_only: bool, base: int, stale: bool) -> None:
        self.schema, self.read_only = schema, read_only
        self.base = base  # where the feed counts from
        self.stale = stale  # the terms were made by another tokenizer


def ensure(connection: Connection, address: Address, migrations: list[Migration]) -> Opened:
    """Makes the store if there is none, brings an old one up to date, refuses what is not ours."""
    check_server(connection, address)
    newest = migrations[-1][0]
    schema, read_only = _schema(connection, address, newest)
    if schema < newest:
        if read_only:
            raise StoreReadOnly(
                f"{address} has no store this version can read, and can only be read.",
                hint="Start Sojourn once with the address of the primary server.",
            )
        with connection.transaction():
            _wait_for_turn(connection)
            schema, _ = _schema(connection, address, newest)
            if schema < newest:  # else somebody was quicker
                _upgrade(connection, schema, migrations)
    base = _base(connection, read_only)
    row = connection.execute("SELECT value FROM meta WHERE key = 'terms_version'").fetchone()
    return Opened(
        schema=newest, read_only=read_only, base=base, stale=row is None or row["value"] != str(TOKENIZER_VERSION)
    )


def _wait_for_turn(connection: Connection) -> None:
    """One at a time may change the schema, until its transaction ends. A long migration is waited for."""
    connection.execute("SET LOCAL lock_timeout = '30min'")
    connection.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))


def _schema(connection: Connection, address: Address, newest: int) -> tuple[int, bool]:
    """The number of a store of ours (0 when there is none), and whether it can only be read."""
    state = connection.execute(_STATE).fetchone()
    assert state is not None
    if state["mark"] != _MARK:
        if state["has_migrations"] or state["tables"]:
            raise StoreForeign(
                f"{address} belongs to another program (it has {state['tables'] or 'schema_migrations'}).",
                hint="Give Sojourn a database of its own: createdb sojourn.",
            )
        return 0, state["read_only"]
    row = connection.execute("SELECT max(number) AS number FROM schema_migrations").fetchone()
    schema = int(row["number"] or 0) if row else 0
    if schema > newest:
        raise StoreNewer(
            f"{address} was written by a newer Sojourn (schema {schema}, this one knows {newest}).",
            hint="Update Sojourn. Nothing was changed.",
        )
    return schema, state["read_only"]


def _upgrade(connection: Connection, schema: int, migrations: list[Migration]) -> None:
    """All missing migrations in one transaction; rows are counted before and after."""
    if schema:
        connection.execute("LOCK TABLE sessions, messages, events IN SHARE ROW EXCLUSIVE MODE")  # nobody writes now
    before = _counts(connection) if schema else (0, 0, 0)
    if not schema:
        connection.execute(
            "CREATE TABLE IF NOT EXISTS schema_migrations"
            "(number INTEGER PRIMARY KEY, name TEXT NOT NULL, at DOUBLE PRECISION NOT NULL)"
        )
        connection.execute(f"COMMENT ON TABLE schema_migrations IS '{_MARK}'".encode())
    for number, name, sql in migrations:
        if number > schema:
            connection.execute(sql.encode())
            connection.execute(
                "INSERT INTO schema_migrations(number, name, at) VALUES (%s, %s, extract(epoch FROM now()))",
                (number, name),
            )
    if not schema:
        connection.execute("INSERT INTO meta(key, value) VALUES ('terms_version', %s)", (str(TOKENIZER_VERSION),))
    if (after := _counts(connection)) != before:
        raise StoreCorrupt(
            f"The update would have changed the number of rows from {before} to {after}; it was undone.",
            hint="Please report this. The store is as it was.",
        )


def _counts(connection: Connection) -> tuple[int, ...]:
    row = connection.execute(
        "SELECT (SELECT count(*) FROM sessions) AS s, (SELECT count(*) FROM messages) AS m, "
        "(SELECT count(*) FROM events) AS e"
    ).fetchone()
    return tuple(row.values()) if row else ()


def _base(connection: Connection, read_only: bool) -> int:
    base, is_new = feed.base(connection)
    if is_new and not read_only:
        with connection.transaction():
            _wait_for_turn(connection)
            base, is_new = feed.base(connection)
            if is_new:
                feed.keep_base(connection, base)
    return base
