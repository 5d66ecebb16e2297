"""Addresses of PostgreSQL databases, and connections to them."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Generic, TypeVar
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from psycopg.rows import DictRow, dict_row
from psycopg.types.numeric import IntDumper

from sojourn.core.errors import BadConfig, StoreUnavailable

Connection = psycopg.Connection[DictRow]
AnyConnection = TypeVar("AnyConnection", bound=psycopg.Connection[Any])
T = TypeVar("T")
MIN_SERVER_VERSION = 14

# Locks time out, abandoned transactions end, and a confirmed commit is on disk.
_SETTINGS = """
SET lock_timeout = '10s';
SET idle_in_transaction_session_timeout = '60s';
SET jit = off;
SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'
"""
_DEFAULTS = {
    "application_name": "sojourn",
    "connect_timeout": "10",
    # a dead connection (a laptop that slept, a pulled cable) is noticed within a minute
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
}


class PostgresAddress:
    """A PostgreSQL address. Prints without its password; `conninfo` contains it."""

    def __init__(self, url: str) -> None:
        self._parts = _parse(url)
        self.conninfo = make_conninfo("", **(_DEFAULTS | self._parts))

    def __str__(self) -> str:
        return _render(self._parts)

    def __repr__(self) -> str:
        return f"PostgresAddress({_render(self._parts)!r})"


def _parse(url: str) -> dict[str, str]:
    """Parses an address. An unescaped @ or / in the password would end up in other parts: such an address raises,
    and the error never quotes it."""
    try:
        parts = {name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None}
        is_misparsed = "@" in parts.get("host", "") + parts.get("dbname", "")
        if not is_misparsed and re.fullmatch("[0-9,]*", parts.get("port", "")):
            return parts
    except psycopg.ProgrammingError:
        pass
    raise BadConfig(
        "The database address cannot be read.",
        hint="Expected postgresql://user:password@host:5432/database; inside a password write @ as %40, / as %2F, "
        ": as %3A and % as %25.",
    )


def _render(parts: dict[str, str]) -> str:
    """Renders the address with dots instead of the password."""
    user = quote(parts.get("user", ""), safe="")
    secret = ":•••" if "password" in parts else ""
    host, port = parts.get("host") or parts.get("hostaddr") or "localhost", parts.get("port", "")
    is_socket = host.startswith("/")
    where = "" if is_socket else host + (f":{port}" if port and port != "5432" else "")
    who = f"{user}{secret}@" if user or secret else ""
    return f"postgresql://{who}{where}/{parts.get('dbname', '')}" + (f"?host={host}" if is_socket else "")


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


class LazyConnection(Generic[AnyConnection]):
    """A connection outside the pool that opens on first use, and once more if it has died while it was idle."""

    def __init__(self, open_connection: Callable[[], AnyConnection]) -> None:
        self._open_connection = open_connection
        self._connection: AnyConnection | None = None

    def run(self, work: Callable[[AnyConnection], T]) -> T:
        while True:
            was_open = self._connection is not None
            try:
                if self._connection is None:
                    self._connection = self._open_connection()
                return work(self._connection)
            except psycopg.Error:
                is_lost = self._connection is not None and self._connection.closed
                if is_lost:
                    self._connection = None
                if not (was_open and is_lost):
                    raise

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


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
            f"{address} stores text as {row['encoding']}, not as UTF8.",
            hint="Create a database with CREATE DATABASE … ENCODING 'UTF8' TEMPLATE template0.",
        )
