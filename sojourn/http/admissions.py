"""Admissions: open streams end when the right they were opened with does, by sign-out or by a new token."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sojourn.core.errors import SojournError
from sojourn.http.access_token import AccessToken
from sojourn.http.browser_sessions import BrowserSessions

_POLL_SECONDS = 1.0  # between two looks whether a browser was signed out by another process

_REVOKED: Message = {"type": "http.disconnect", "reason": "revoked"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Right:
    """How a request came in."""

    mark: str  # of the token that was in force
    browser: str = ""  # the id of a browser session; empty for the token itself


class Admissions:
    """The requests that wait for their client to hang up, by their right."""

    def __init__(self, access: AccessToken, browsers: BrowserSessions) -> None:
        self._access, self._browsers = access, browsers
        self._waiting: dict[Right, set[asyncio.Future[None]]] = {}
        self._poll: asyncio.Task[None] | None = None

    async def end_revoked(self) -> None:
        """Ends the streams of everybody whose right is gone."""
        for right in list(self._waiting):
            if not await self._holds(right):
                for ended in self._waiting.get(right, ()):
                    if not ended.done():
                        ended.set_result(None)

    async def _holds(self, right: Right) -> bool:
        if right.mark != self._access.mark:
            return False
        with suppress(SojournError):  # a store that cannot be asked ends nothing; the next request says so
            return not right.browser or await self._browsers.is_signed_in(right.browser)
        return True

    async def run(self, app: ASGIApp, scope: Scope, receive: Receive, send: Send, right: Right) -> None:
        """Runs a request. After its body, the application hears that the client hung up as soon as the right ends."""
        is_read = is_revoked = is_open = False

        async def guarded() -> Message:
            nonlocal is_read, is_revoked
            if is_read:
                message = await self._wait(receive, right)
                is_revoked = message == _REVOKED
            else:
                message = await receive()
                is_read = not message.get("more_body", False)
            return message

        async def watched(message: Message) -> None:
            nonlocal is_open
            is_open = message["type"] == "http.response.start" or bool(message.get("more_body"))
            await send(message)

        await app(scope, guarded, watched)
        if is_revoked and is_open:  # the client is still there, and gets an answer that is complete
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _wait(self, receive: Receive, right: Right) -> Message:
        with self._register(right) as ended:
            client = asyncio.ensure_future(receive())
            try:
                await asyncio.wait((client, ended), return_when=asyncio.FIRST_COMPLETED)
                return client.result() if client.done() else _REVOKED
            finally:
                client.cancel()

    @contextmanager
    def _register(self, right: Right) -> Iterator[asyncio.Future[None]]:
        ended = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(right, set()).add(ended)
        if self._poll is None or self._poll.done():
            self._poll = asyncio.create_task(self._look())
        try:
            yield ended
        finally:
            self._waiting[right].discard(ended)
            if not self._waiting[right]:
                del self._waiting[right]

    async def _look(self) -> None:
        while self._waiting:
            await self.end_revoked()
            await asyncio.sleep(_POLL_SECONDS)
