"""Token client: the API of a network whose requests carry a token that expires."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import httpx2

from sojourn.platforms.expiring_token import ExpiringToken
from sojourn.platforms.rest_client import RestClient

T = TypeVar("T")


class TokenClient:
    """One account. A network overrides `fetch_token` and `check`, and `authorize` where the token is no bearer."""

    def __init__(self, label: str, url: str, *, key: str) -> None:
        self._http = RestClient(label, url, key=key)
        self.token = ExpiringToken(self.fetch_token, to_key_refused=self._http.to_key_refused)

    async def fetch_token(self) -> tuple[str, float]:
        """Exchanges the secret for a token and its lifetime in seconds. KeyRefused, SendRefused, PlatformDown."""
        raise NotImplementedError

    def authorize(self, token: str) -> dict[str, dict[str, str]]:
        """The headers or the query that a request carries the token in."""
        return {"headers": {"Authorization": f"Bearer {token}"}}

    def check(self, reply: httpx2.Response) -> dict[str, Any]:
        """The body of an answer that reports success. SendRefused, KeyRefused, TokenExpired."""
        raise NotImplementedError

    async def call(self, method: str, path: str, **options: Any) -> dict[str, Any]:
        """Calls the API. SendRefused, KeyRefused, PlatformDown."""
        return await self.request(method, path, self.check, **options)

    async def request(
        self, method: str, path: str, read: Callable[[httpx2.Response], T], *, params: Any = None, **options: Any
    ) -> T:
        """Calls the API, and gives what `read` makes of the answer: of a file, say. As `call`."""

        async def send(token: str) -> T:
            carried = self.authorize(token)
            query = {**carried.get("params", {}), **(params or {})} or None
            return read(
                await self._http.exchange(method, path, params=query, headers=carried.get("headers"), **options)
            )

        return await self.token.use(send)

    async def close(self) -> None:
        await self._http.close()
