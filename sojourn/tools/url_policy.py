"""Which addresses web_fetch may reach: the public internet, and what the setting `tools.private_hosts` names.

A name is looked up once; the request goes to exactly the address that was judged, so a name server that answers
differently the second time changes nothing.
"""

from __future__ import annotations

import asyncio
import ipaddress
import socket
from collections.abc import Collection
from dataclasses import dataclass
from urllib.parse import SplitResult, urlsplit

from sojourn.core.errors import BadInput, NotAllowed, NotFound

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
PORTS = {"http": 80, "https": 443}
_TRANSLATED = ipaddress.ip_network("64:ff9b::/96")  # IPv4 addresses behind a translator


@dataclass(frozen=True, slots=True)
class FetchTarget:
    """A page, and the one address it is fetched from."""

    url: SplitResult
    host: str
    port: int
    address: str

    @property
    def pinned(self) -> str:
        """The page's address with the number instead of the name."""
        number = f"[{self.address}]" if ":" in self.address else self.address
        path = self.url.path or "/"
        return f"{self.url.scheme}://{number}:{self.port}{path}" + (f"?{self.url.query}" if self.url.query else "")

    @property
    def host_header(self) -> str:
        shown = f"[{self.host}]" if ":" in self.host else self.host
        return shown if self.port == PORTS[self.url.scheme] else f"{shown}:{self.port}"


async def resolve_url(raw: str, allowed: Collection[str]) -> FetchTarget:
    """Where a request to this address goes. BadInput, NotAllowed, NotFound."""
    url, host, port = _split_url(raw)
    found = await _look_up(host, port)
    if host in allowed or f"{host}:{port}" in allowed:
        return FetchTarget(url, host, port, str(found[0]))
    for address in found:
        if is_private(address) and str(address) not in allowed and f"{address}:{port}" not in allowed:
            raise NotAllowed(
                f"{host} is {address}, an address of this machine or the private network.",
                hint="Use a public page. The person can allow a host with the setting tools.private_hosts.",
            )
    return FetchTarget(url, host, port, str(found[0]))


def _split_url(raw: str) -> tuple[SplitResult, str, int]:
    try:
        url = urlsplit(raw.strip())
        host, port = url.hostname or "", url.port
    except ValueError as error:
        raise BadInput(
            f"{raw[:200]!r} is not a web address: {error}.", hint="Example: https://example.com/page"
        ) from error
    if url.scheme not in PORTS or not host:
        raise BadInput(f"{raw[:200]!r} is not a web address.", hint="It begins with http:// or https://.")
    if url.username or url.password:
        raise BadInput("The address holds a user name or password.", hint="Leave it out.")
    try:
        host = host if _parse_ip(host) else host.encode("idna").decode("ascii").lower()
    except UnicodeError as error:
        raise BadInput(f"{host[:100]!r} cannot be the name of a host.", hint="Check the address.") from error
    return url, host.rstrip("."), port or PORTS[url.scheme]


def _parse_ip(host: str) -> Address | None:
    try:
        return ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return None


async def _look_up(host: str, port: int) -> list[Address]:
    """Every address of a host. Odd spellings of numbers (0x7f.1, 2130706433) are resolved here too, then judged."""
    if (number := _parse_ip(host)) is not None:
        return [number]
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotFound(
            f"There is no host {host}.", hint="Check the address, and whether there is a network."
        ) from error
    return [ipaddress.ip_address(str(one[4][0]).partition("%")[0]) for one in found]


def is_private(address: Address) -> bool:
    """Whether an address is anything but a public one; an IPv4 address inside an IPv6 one counts as itself."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if inner is None and address in _TRANSLATED:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is None and address.teredo:
            inner = address.teredo[1]
        if inner is not None:
            return is_private(inner)
    return not address.is_global or address.is_multicast or address.is_reserved
