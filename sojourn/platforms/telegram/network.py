"""Telegram where it is blocked: through a proxy, or on other addresses of the official server.

A proxy comes first, and with one no address is tried. Otherwise, if `api.telegram.org` cannot be connected to, the same
request goes to other addresses, under the same name: the certificate is checked as ever. Nothing is sent twice, because
only a failure to connect leads on.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any
from urllib.parse import urlsplit

import httpx

from sojourn.core.errors import BadConfig
from sojourn.platforms import proxies
from sojourn.platforms.telegram import TelegramSettings

OFFICIAL_HOST = "api.telegram.org"
_KNOWN_ADDRESSES = ("149.154.166.110", "149.154.167.220")
_RESOLVERS = ("https://dns.google/resolve", "https://cloudflare-dns.com/dns-query")
_RESOLVE_SECONDS = 4.0
_CONNECT_SECONDS = 5.0  # to one address, before the next is tried
_PROXY_SCHEMES = ("http", "https", "socks5", "socks5h")

logger = logging.getLogger(__name__)


def find_proxy(settings: TelegramSettings) -> str:
    """The proxy of the setting, else the environment's or the system's, unless it exempts the host; empty if none."""
    if given := settings.proxy.reveal():
        if urlsplit(given).scheme not in _PROXY_SCHEMES:
            hint = "It looks like http://127.0.0.1:3128 or socks5://127.0.0.1:1080."
            raise BadConfig("The proxy for Telegram is not an address.", hint=hint)
        return given
    return proxies.find_proxy(settings.base_url)


def parse_address(text: str) -> str | None:
    """None unless it is an IPv4 address of the public internet."""
    try:
        address = ipaddress.IPv4Address(text.strip())
    except ValueError:
        return None
    return str(address) if address.is_global and not address.is_multicast else None


def build_request_options(settings: TelegramSettings) -> dict[str, Any]:
    """Options of the library's HTTP client: a proxy, or a transport with other addresses. BadConfig."""
    bad = [one for one in settings.addresses if parse_address(one) is None]
    if bad:
        hint = "Give public IPv4 addresses, like 149.154.167.220."
        raise BadConfig(f"{bad[0]!r} cannot be an address of Telegram.", hint=hint)
    if proxy := find_proxy(settings):
        return {"proxy": proxy}
    address = urlsplit(settings.base_url)
    if address.scheme != "https" or address.hostname != OFFICIAL_HOST:
        return {}  # a server of one's own is where it is
    # With a transport of ours, the library no longer looks for proxies: there is none, see above.
    return {"httpx_kwargs": {"transport": FallbackTransport(settings.addresses or resolve_addresses)}}


async def resolve_addresses() -> tuple[str, ...]:
    """Asks public resolvers over HTTPS, which a poisoned DNS cannot answer for; else the addresses that are known."""
    async with httpx.AsyncClient(timeout=_RESOLVE_SECONDS) as client:
        answers = await asyncio.gather(*[_resolve(client, one) for one in _RESOLVERS])
    return tuple(dict.fromkeys([*(one for answer in answers for one in answer), *_KNOWN_ADDRESSES]))


async def _resolve(client: httpx.AsyncClient, resolver: str) -> list[str]:
    headers = {"Accept": "application/dns-json"}
    try:
        async with asyncio.timeout(_RESOLVE_SECONDS):
            reply = await client.get(resolver, params={"name": OFFICIAL_HOST, "type": "A"}, headers=headers)
            answer = reply.raise_for_status().json()
        records = [one.get("data") for one in answer.get("Answer", ()) if one.get("type") == 1]
    except (httpx.HTTPError, TimeoutError, ValueError, AttributeError, TypeError):
        return []
    return [address for one in records if isinstance(one, str) and (address := parse_address(one))]


class FallbackTransport(httpx.AsyncBaseTransport):
    """Connects to the name, else to other addresses; what worked is used first from then on."""

    def __init__(
        self,
        addresses: Sequence[str] | Callable[[], Awaitable[Sequence[str]]],
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._addresses = addresses
        self._transport = transport or httpx.AsyncHTTPTransport()
        self._current: str | None = None  # None is the name itself

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        tried = list[str | None]()
        for candidate in dict.fromkeys((self._current, None)):
            try:
                return await self._try(request, candidate)
            except (httpx.ConnectError, httpx.ConnectTimeout) as error:
                tried.append(candidate)
                problem = error
        if callable(self._addresses):
            self._addresses = await self._addresses()
        for candidate in (one for one in self._addresses if one not in tried):
            try:
                response = await self._try(request, candidate)
            except (httpx.ConnectError, httpx.ConnectTimeout):
                continue
            logger.warning("Telegram cannot be reached by its name; %s answers", candidate)
            return response
        raise problem

    async def _try(self, request: httpx.Request, candidate: str | None) -> httpx.Response:
        timeout = dict(request.extensions.get("timeout") or {})
        timeout["connect"] = min(timeout.get("connect") or _CONNECT_SECONDS, _CONNECT_SECONDS)
        extensions, url = {**request.extensions, "timeout": timeout}, request.url
        if candidate is not None:
            extensions, url = {**extensions, "sni_hostname": url.host}, url.copy_with(host=candidate)
        same = httpx.Request(request.method, url, headers=request.headers, stream=request.stream, extensions=extensions)
        response = await self._transport.handle_async_request(same)
        self._current = candidate
        return response

    async def aclose(self) -> None:
        await self._transport.aclose()
