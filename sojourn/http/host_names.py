"""Names of this server: what a Host header may say, and the origin that browsers are sent to."""

from __future__ import annotations

import ipaddress
import re
import socket
from dataclasses import dataclass

BROWSER_NAME = "sojourn.localhost"  # its cookies reach no server that is called 127.0.0.1 or localhost
_NAME = r"[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?\.?"
_HOST = re.compile(rf"(?:\[(?P<v6>[0-9a-f:.]{{2,45}})\]|(?P<name>{_NAME}))(?::(?P<port>[0-9]{{1,5}}))?", re.ASCII)
_MAX_CHARS = 260
_LOCAL_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})  # BROWSER_NAME leads to the same server


@dataclass(frozen=True, slots=True)
class Host:
    """One host and port, as a Host header names them."""

    name: str  # lower case; an IPv6 address without its brackets
    port: int

    @property
    def is_local(self) -> bool:
        return self.name in _LOCAL_NAMES


def parse_host(header: str) -> Host | None:
    """Reads a Host header strictly; None unless it is exactly one name or address, with or without a port."""
    found = _HOST.fullmatch(header.lower()) if len(header) <= _MAX_CHARS else None
    if found is None or int(found["port"] or 80) > 65535:
        return None
    name = found["v6"] or found["name"].rstrip(".")
    if found["v6"] and not _is_address(name):
        return None
    return Host(name=name, port=int(found["port"] or 80))


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens there."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") in ("localhost", BROWSER_NAME)


class HostNames:
    """The names that a server answers to. Names are listed, since a foreign one can be made to point here."""

    def __init__(self, listens_on: str, public: str = "") -> None:
        self._only_loopback = is_loopback(listens_on)
        own = set() if self._only_loopback else {socket.gethostname().lower()}
        self._names = frozenset({"localhost", BROWSER_NAME, listens_on.lower()} | own | ({public} if public else set()))

    def __contains__(self, host: Host) -> bool:
        if not _is_address(host.name):
            return host.name in self._names
        return ipaddress.ip_address(host.name).is_loopback or not self._only_loopback  # a plain address cannot lie


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
