"""Opening connections to PostgreSQL."""

from __future__ import annotations

import psycopg
from psycopg.rows import DictRow, dict_row
from psycopg.types.numeric import IntDumper

from sojourn.core.errors import StoreUnavailable
from sojourn.stores.postgres.address import Address

Connection = psycopg.Connection[DictRow]
OLDEST = 14  # the oldest server we speak to

# Nobody waits for ever for a lock, a reader that died lets go, and what was acknowledged is on disk.
_SETTINGS = """
SET lock_timeout = '10s';
SET idle_in_transaction_session_timeout = '60s';
SET jit = off;
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'
"""


def connect(address: Address) -> Connection:
    """A connection of its own, in autocommit mode, rows by name."""
    connection = psycopg.connect(address.dial, autocommit=True, row_factory=dict_row)
    try:
        configure(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def configure(connection: Connection) -> None:
    """Makes a fresh connection ours."""
    connection.adapters.register_dumper(bool, _Flag)
    connection.execute(_SETTINGS)


class _Flag(IntDumper):
    """Flags are 0 and 1, as in SQLite."""

    def dump(self, obj: bool) -> bytes:
        return b"1" if obj else b"0"


def check_server(connection: Connection, address: Address) -> None:
    """Refuses a server that cannot hold a store, with the reason."""
    version = connection.info.server_version // 10000
    if version < OLDEST:
        raise StoreUnavailable(
            f"{address} is PostgreSQL {version}, which is too old.", hint=f"Use PostgreSQL {OLDEST} or newer."
        )
    row = connection.execute("SELECT current_setting('server_encoding') AS encoding").fetchone()
    if row and row["encoding"] != "UTF8":
        raise StoreUnavailable(
            f"{address} keeps its text as {row['encoding']}, not as UTF8.",
            hint="Make a database with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.",
        )
