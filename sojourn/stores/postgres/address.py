"""The address of a PostgreSQL database: with its password for the driver, without it for people."""

from __future__ import annotations

import re
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from sojourn.core.errors import BadConfig

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
