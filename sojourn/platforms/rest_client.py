"""HTTP client of a chat network; translates its errors."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import httpx2

from sojourn.core.errors import BadConfig, KeyRefused, PlatformDown, Refusal, SendRefused, SojournError

_KINDS: Mapping[int, Refusal] = {
    400: "bad_format",
    403: "forbidden",
    404: "not_found",
    410: "not_found",
    413: "too_long",
    429: "rate_limited",
}
# Adapters live for weeks: few idle connections, and not for long, so that many adapters need few descriptors.
_LIMITS = httpx2.Limits(max_connections=20, max_keepalive_connections=5, keepalive_expiry=5.0)  # seconds


class RestClient:
    """One server. `key` names the setting to correct when the credential is refused; `token` is sent as a bearer."""

    def __init__(self, label: str, url: str, *, key: str, token: str = "") -> None:
        try:
            address = httpx2.URL(url)
        except httpx2.InvalidURL as error:
            raise BadConfig(f"{label} cannot be at {url!r}: {error}.", hint="It looks like https://…") from error
        if address.scheme not in ("http", "https") or not address.host:
            raise BadConfig(f"{label} cannot be at {url!r}.", hint="It looks like https://…")
        self._label, self._key = label, key
        self._http = httpx2.AsyncClient(
            base_url=url.rstrip("/"),
            headers={"Authorization": f"Bearer {token}"} if token else None,
            timeout=httpx2.Timeout(30.0, connect=10.0),
            limits=_LIMITS,
            verify=address.scheme == "https",  # loading the certificates is slow; skip it for http
        )

    async def exchange(self, method: str, path: str, **options: Any) -> httpx2.Response:
        """Returns the response whatever its status, for networks that say in the body what happened. PlatformDown."""
        try:
            return await self._http.request(method, path, **options)
        except (httpx2.TransportError, httpx2.StreamError) as error:
            raise self.to_platform_down(error) from error

    async def request(self, method: str, path: str, **options: Any) -> httpx2.Response:
        """KeyRefused, SendRefused, PlatformDown."""
        reply = await self.exchange(method, path, **options)
        if not reply.is_success:
            raise self.to_error(reply)
        return reply

    @asynccontextmanager
    async def stream(self, path: str, **options: Any) -> AsyncGenerator[httpx2.Response, None]:
        """Yields a streaming response. KeyRefused, SendRefused, PlatformDown."""
        try:
            async with self._http.stream("GET", path, **options) as reply:
                if not reply.is_success:
                    await reply.aread()
                    raise self.to_key_refused() if reply.status_code == 403 else self.to_error(reply)
                yield reply
        except (httpx2.TransportError, httpx2.StreamError) as error:
            raise self.to_platform_down(error) from error

    def to_platform_down(self, error: Exception) -> PlatformDown:
        return PlatformDown(f"{self._label} does not answer: {str(error) or type(error).__name__}.")

    def to_key_refused(self) -> KeyRefused:
        return KeyRefused(f"{self._label} refuses the credential.", hint=f"Correct {self._key}.")

    def to_error(self, reply: httpx2.Response) -> SojournError:
        status = reply.status_code
        if status == 401:
            return self.to_key_refused()
        kind: Refusal = _KINDS.get(status, "transient" if status >= 500 else "unknown")
        wait = reply.headers.get("retry-after", "")
        seconds = float(wait) if wait.isdecimal() else None
        return SendRefused(f"{self._label} says: {status} {_error_text(reply)}.", kind=kind, retry_after=seconds)

    async def close(self) -> None:
        await self._http.aclose()


def _error_text(reply: httpx2.Response) -> str:
    """Extracts the server's error message."""
    try:
        document = reply.json()
    except ValueError:
        document = reply.text
    text = (document.get("error") or document.get("message")) if isinstance(document, dict) else document
    return " ".join(str(text or reply.reason_phrase).split())[:200].rstrip(".")
