"""Access token of a chat network: fetched once for everybody who waits, and renewed before it expires."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from sojourn.core.errors import KeyRefused

_RENEW_BEFORE_SECONDS = 60.0

T = TypeVar("T")


class TokenExpired(Exception):
    """The network does not accept the access token; raised by a request, answered by a renewal."""


class ExpiringToken:
    """The token of one account.

    fetch: exchanges the secret for a token and its lifetime in seconds. KeyRefused if the secret is refused.
    to_key_refused: the error if a token that was just fetched is refused as well
    """

    def __init__(
        self, fetch: Callable[[], Awaitable[tuple[str, float]]], *, to_key_refused: Callable[[], KeyRefused]
    ) -> None:
        self._fetch, self._to_key_refused = fetch, to_key_refused
        self._lock = asyncio.Lock()
        self._token, self._renew_at = "", 0.0

    async def get(self) -> str:
        """The token; a new one shortly before the end of the old."""
        async with self._lock:
            if not self._token or time.monotonic() >= self._renew_at:
                token, seconds = await self._fetch()
                self._token = token
                self._renew_at = time.monotonic() + max(seconds - _RENEW_BEFORE_SECONDS, seconds / 2)
            return self._token

    def discard(self, token: str) -> None:
        """Forgets a token that the network refused, unless it was renewed meanwhile."""
        if token == self._token:
            self._token = ""

    async def use(self, request: Callable[[str], Awaitable[T]]) -> T:
        """Makes a request with the token. After TokenExpired it is made once more with a new one; then KeyRefused."""
        token = await self.get()
        try:
            return await request(token)
        except TokenExpired:
            self.discard(token)
        token = await self.get()
        try:
            return await request(token)
        except TokenExpired as error:
            self.discard(token)
            raise self._to_key_refused() from error
