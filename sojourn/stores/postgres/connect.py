"""Connections to PostgreSQL, and their session settings."""

from __future__ import annotations

import psycopg
from psycopg.rows import DictRow, dict_row
from psycopg.types.numeric import IntDumper

from sojourn.core.errors import StoreUnavailable
from sojourn.stores.postgres.address import PostgresAddress

Connection = psycopg.Connection[DictRow]
MIN_SERVER_VERSION = 14

# Locks time out, abandoned transactions end, and a confirmed commit is on disk.
_SETTINGS = """
SET lock_timeout = '10s';
SET idle_in_transaction_session_timeout = '60s';
SET jit = off;
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'
"""


def connect(address: PostgresAddress) -> Connection:
    """Opens a connection outside the pool, in autocommit mode with rows by name."""
    connection = psycopg.connect(address.conninfo, autocommit=True, row_factory=dict_row)
    try:
        configure(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def configure(connection: Connection) -> None:
    """Applies our settings to a new connection."""
    connection.adapters.register_dumper(bool, _FlagDumper)
    connection.execute(_SETTINGS)


class _FlagDumper(IntDumper):
    """Sends booleans as 0 and 1, as SQLite stores them."""

    def dump(self, obj: bool) -> bytes:
        return b"1" if obj else b"0"


def check_server(connection: Connection, address: PostgresAddress) -> None:
    """Raises if the server is too old or does not use UTF-8."""
    version = connection.info.server_version // 10000
    if version < MIN_SERVER_VERSION:
        raise StoreUnavailable(
            f"{address} is PostgreSQL {version}, which is too old.",
            hint=f"Use PostgreSQL {MIN_SERVER_VERSION} or newer.",
        )
    row = connection.execute("SELECT current_setting('server_encoding') AS encoding").fetchone()
    if row and row["encoding"] != "UTF8":
        raise StoreUnavailable(
            f"{address} keeps its text as {row['encoding']}, not as UTF8.",
            hint="Make a database with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.",
        )
