"""Where a database is: the address as it is dialled, and as it may be shown."""

from __future__ import annotations

import re
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from sojourn.core.errors import BadConfig

_DEFAULTS = {
    "application_name": "sojourn",
    "connect_timeout": "10",
    # a silent line (a laptop that slept, a cable that was pulled) is noticed within a minute
    "keepalives_idle": "30",
    "keepalives_interval": "10",
    "keepalives_count": "3",
}


class Address:
    """A PostgreSQL address. Prints without its password; `dial` gives it away on purpose."""

    def __init__(self, url: str) -> None:
        self._said = _read(url)
        self.dial = make_conninfo("", **(_DEFAULTS | self._said))

    def __str__(self) -> str:
        return _shown(self._said)

    def __repr__(self) -> str:
        return f"Address({_shown(self._said)!r})"


def _read(url: str) -> dict[str, str]:
    """The parts of an address. A password with an @ or / in it lands in other parts: such an address is
    refused, and never quoted."""
    try:
        said = {name: str(value) for name, value in conninfo_to_dict(url).items() if value is not None}
        strays = "@" in said.get("host", "") + said.get("dbname", "")
        if not strays and re.fullmatch("[0-9,]*", said.get("port", "")):
            return said
    except psycopg.ProgrammingError:
        pass
    raise BadConfig(
        "The database address cannot be read.",
        hint="Expected postgresql://user:password@host:5432/database; inside a password write @ as %40, / as %2F, "
        ": as %3A and % as %25.",
    )


def _shown(said: dict[str, str]) -> str:
    """The address with its password as dots."""
    user = quote(said.get("user", ""), safe="")
    secret = ":•••" if "password" in said else ""
    host, port = said.get("host") or said.get("hostaddr") or "localhost", said.get("port", "")
    is_socket = host.startswith("/")
    where = "" if is_socket else host + (f":{port}" if port and port != "5432" else "")
    who = f"{user}{secret}@" if user or secret else ""
    return f"postgresql://{who}{where}/{said.get('dbname', '')}" + (f"?host={host}" if is_socket else "")
