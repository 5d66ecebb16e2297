"""The line to a server: requests, their problems as our errors, and coming back when it was cut."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import httpx2

from sojourn.core.errors import ServerUnreachable, SojournError, error_from_code
from sojourn.core.sessions import Principal
from sojourn.ports.service import Caller
from sojourn.server_file import Server

RECONNECT_SECONDS = 15.0  # seconds a server may be away, to start again or to come back
_STREAM_TIMEOUT_SECONDS = 45.0  # a live stream says something every 15 seconds
_TIMEOUT = httpx2.Timeout(60.0, connect=5.0)
_FIRST, _LONGEST = 0.05, 1.0  # pauses between two tries

FindServer = Callable[[], Awaitable[Server | None]]


def caller_headers(by: Caller) -> dict[str, str]:
    """Who talks, as headers."""
    said = {"surface": by.surface, "principal": by.principal, "holder": by.holder, "name": by.name}
    return {f"Sojourn-{name.title()}": quote(value) for name, value in said.items() if value}


def principal_header(principal: Principal) -> dict[str, str]:
    return {"Sojourn-Principal": quote(principal)}


class HttpTransport:
    """Knows one server; when that is gone, `again` may say where the next one is."""

    def __init__(self, server: Server, again: FindServer | None = None, *, patience: float = RECONNECT_SECONDS) -> None:
        self.server, self._again, self._patience = server, again, patience
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
        self._http = httpx2.AsyncClient(trust_env=False, timeout=_TIMEOUT, limits=limits)

    async def close(self) -> None:
        await self._http.aclose()

    async def ask(
        self, method: str, path: str, *, headers: Mapping[str, str], safe: bool, endless: bool = False, **given: Any
    ) -> Any:
        """The answer's JSON. `safe`: asking twice does no harm; else only a request that never left is repeated."""
        answer = await self._answer(method, path, headers=headers, safe=safe, endless=endless, **given)
        return answer.json() if answer.content else None

    async def ask_text(self, method: str, path: str, *, headers: Mapping[str, str], **given: Any) -> str:
        """The answer as text; the request is repeated when the connection breaks."""
        return (await self._answer(method, path, headers=headers, safe=True, **given)).text

    async def _answer(
        self, method: str, path: str, *, headers: Mapping[str, str], safe: bool, endless: bool = False, **given: Any
    ) -> httpx2.Response:
        waiting = Backoff(self._patience)
        timeout = httpx2.Timeout(None, connect=5.0) if endless else _TIMEOUT
        while True:
            try:
                answer = await self._http.request(
                    method, self.server.address + path, headers=self._with_token(headers), timeout=timeout, **given
                )
            except httpx2.TransportError as error:
                if not safe and not isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout)):
                    raise self._lost(error) from error
                await self.come_back(waiting, error)
                continue
            if answer.status_code >= 400:
                raise error_from_response(answer)
            return answer

    @asynccontextmanager
    async def open(self, path: str, *, headers: Mapping[str, str], params: Any) -> AsyncIterator[httpx2.Response]:
        """A live answer."""
        timeout = httpx2.Timeout(_STREAM_TIMEOUT_SECONDS, connect=5.0)
        async with self._http.stream(
            "GET", self.server.address + path, headers=self._with_token(headers), params=params, timeout=timeout
        ) as answer:
            if answer.status_code >= 400:
                await answer.aread()
                raise error_from_response(answer)
            yield answer

    def _with_token(self, headers: Mapping[str, str]) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.server.token}", "Sojourn-Form": "exact", **headers}

    async def come_back(self, waiting: Backoff, why: Exception | None) -> None:
        """Waits a moment, or says that there is nobody to come back to."""
        if not await waiting.once_more():
            raise self._lost(why) from why
        if self._again is not None and (found := await self._again()) is not None:
            self.server = found

    def _lost(self, why: Exception | None) -> ServerUnreachable:
        detail = f" ({why})" if why is not None and str(why) else ""
        return ServerUnreachable(
            f"The server at {self.server.address} does not answer{detail}.",
            hint="Start it again with `sojourn serve`. What was kept is safe, and a turn it runs goes on.",
        )


class Backoff:
    """Longer and longer pauses, until patience is at its end."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self.reset()

    def reset(self) -> None:
        self._until, self._pause = time.monotonic() + self._patience, _FIRST

    async def once_more(self) -> bool:
        if time.monotonic() >= self._until:
            return False
        await asyncio.sleep(self._pause)
        self._pause = min(_LONGEST, self._pause * 2)
        return True


def error_from_response(answer: httpx2.Response) -> SojournError:
    """The error a server raised, as if it had been raised here."""
    try:
        told = answer.json()
        return error_from_code(told["code"], told["detail"], hint=told.get("hint", ""), about=told.get("about"))
    except (ValueError, KeyError, TypeError, AttributeError):
        return ServerUnreachable(
            f"Something at {answer.url.host} answered {answer.status_code}, but it is no Sojourn.",
            hint="Look at `server.json` in the home, and at what listens on that port.",
        )
