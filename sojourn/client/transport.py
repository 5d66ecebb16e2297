"""HTTP transport to a server: sends requests, raises its problems as our errors, reconnects."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import quote

import httpx2

from sojourn.client.connection_proof import ConnectionProof
from sojourn.core.errors import NotAllowed, NotFound, ServerUnreachable, SojournError
from sojourn.core.sessions import OWNER, Principal
from sojourn.ports.service import Caller
from sojourn.server_file import Server
from sojourn.text.codec import error_from_code

RECONNECT_SECONDS = 15.0  # seconds a server may be away, to start again or to come back
_STREAM_TIMEOUT_SECONDS = 45.0  # a live stream sends something every 15 seconds
_TIMEOUT = httpx2.Timeout(60.0, connect=5.0)
_FIRST, _LONGEST = 0.05, 1.0  # pauses between two tries

FindServer = Callable[[], Awaitable[Server | None]]


def identity_headers(who: Caller | Principal) -> dict[str, str]:
    """Who asks, as headers: a caller with its surface, or a person alone."""
    if isinstance(who, str):
        return {"Sojourn-Principal": quote(who)}
    values = {"surface": who.surface, "principal": who.principal, "holder": who.holder, "name": who.name}
    return {f"Sojourn-{name.title()}": quote(value) for name, value in values.items() if value}


class HttpTransport:
    """The connection to one server; `again` finds the next one when that is gone, or has a new token.

    Each connection begins with the server's proof, so the token reaches no program that took over its port.
    """

    def __init__(self, server: Server, again: FindServer | None = None, *, patience: float = RECONNECT_SECONDS) -> None:
        self.server, self._again, self._patience = server, again, patience
        limits = httpx2.Limits(max_connections=None, max_keepalive_connections=20)
        is_secure = not server.address.startswith("http://")  # else no certificates need to be read
        self._http = httpx2.AsyncClient(trust_env=False, timeout=_TIMEOUT, limits=limits, verify=is_secure)

    async def close(self) -> None:
        await self._http.aclose()

    async def ask(self, method: str, path: str, who: Caller | Principal = OWNER, **given: Any) -> Any:
        """Sends a request (see `request`) and returns the JSON of the answer; None if it is empty."""
        answer = await self.request(method, path, who, **given)
        return answer.json() if answer.content else None

    async def request(
        self,
        method: str,
        path: str,
        who: Caller | Principal,
        *,
        safe: bool = False,
        endless: bool = False,
        headers: Mapping[str, str] | None = None,
        **given: Any,
    ) -> httpx2.Response:
        """Sends a request and returns the answer.

        safe: repeating it does no harm, as with every GET; any other is repeated only if it never left
        endless: the answer may take any time
        """
        waiting = Backoff(self._patience)
        timeout = httpx2.Timeout(None, connect=5.0) if endless else _TIMEOUT
        while True:
            given["headers"] = {**self._build_headers(who), **(headers or {})}
            proof = ConnectionProof(self.server)
            given["extensions"] = {"trace": proof.check}
            try:
                answer = await self._http.request(method, self.server.address + path, timeout=timeout, **given)
            except httpx2.TransportError as error:
                never_left = isinstance(error, (httpx2.ConnectError, httpx2.ConnectTimeout)) or proof.is_pending
                if not (safe or method == "GET" or never_left):
                    raise self._lost(error) from error
                await self._reconnect(waiting, error)
                continue
            if answer.status_code == 401 and await self._has_new_token():
                continue
            if answer.status_code >= 400:
                raise error_from_response(answer)
            return answer

    async def follow(
        self, path: str, who: Principal = OWNER, *, after: int | None = None
    ) -> AsyncGenerator[httpx2.ServerSentEvent, None]:
        """Yields the frames of a live answer and reconnects when the connection breaks. Ends when it is deleted.

        after: yields only frames with a higher number, each once
        """
        was_open, waiting = False, Backoff(self._patience)
        while True:
            why: Exception | None = None
            try:
                async with self._open(path, who, after) as answer:
                    was_open = True
                    async for frame in httpx2.EventSource(answer, max_event_size=None):
                        waiting.reset()
                        if frame.data and (after is None or int(frame.id) > after):
                            after = None if after is None else int(frame.id)
                            yield frame
            except NotFound:
                if was_open:
                    return
                raise
            except NotAllowed:
                if not await self._has_new_token():
                    raise
                continue
            except httpx2.TransportError as error:
                why = error
            await self._reconnect(waiting, why)

    @asynccontextmanager
    async def _open(self, path: str, who: Principal, after: int | None) -> AsyncIterator[httpx2.Response]:
        timeout = httpx2.Timeout(_STREAM_TIMEOUT_SECONDS, connect=5.0)
        headers = self._build_headers(who) | ({} if after is None else {"Last-Event-ID": str(after)})
        address, extensions = self.server.address + path, {"trace": ConnectionProof(self.server).check}
        async with self._http.stream("GET", address, headers=headers, timeout=timeout, extensions=extensions) as answer:
            if answer.status_code >= 400:
                await answer.aread()
                raise error_from_response(answer)
            yield answer

    def _build_headers(self, who: Caller | Principal) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.server.token}", "Sojourn-Form": "exact", **identity_headers(who)}

    async def _has_new_token(self) -> bool:
        """Whether the token was rotated and the new one could be found."""
        found = await self._again() if self._again is not None else None
        if found is None or found.token == self.server.token:
            return False
        self.server = found
        return True

    async def _reconnect(self, waiting: Backoff, why: Exception | None) -> None:
        """Waits a moment and looks for the server again. ServerUnreachable when the time is up."""
        if not await waiting.wait():
            raise self._lost(why) from why
        if self._again is not None and (found := await self._again()) is not None:
            self.server = found

    def _lost(self, why: Exception | None) -> ServerUnreachable:
        detail = f" ({why})" if why is not None and str(why) else ""
        return ServerUnreachable(
            f"The server at {self.server.address} does not answer{detail}.",
            hint="Start it again with `sojourn serve`. Nothing that was stored is lost, and a running turn continues.",
        )


class Backoff:
    """Pauses that double, until `patience` seconds have passed since the last reset."""

    def __init__(self, patience: float) -> None:
        self._patience = patience
        self.reset()

    def reset(self) -> None:
        self._until, self._pause = time.monotonic() + self._patience, _FIRST

    async def wait(self) -> bool:
        """Pauses; False when the time is up."""
        if time.monotonic() >= self._until:
            return False
        await asyncio.sleep(self._pause)
        self._pause = min(_LONGEST, self._pause * 2)
        return True


def error_from_response(answer: httpx2.Response) -> SojournError:
    """The error that the server raised."""
    try:
        problem = answer.json()
        return error_from_code(
            problem["code"], problem["detail"], hint=problem.get("hint", ""), about=problem.get("about")
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return ServerUnreachable(
            f"A program at {answer.url.host} answered {answer.status_code}, but it is not Sojourn.",
            hint="Check `server.json` in the home, and which program listens on that port.",
        )
