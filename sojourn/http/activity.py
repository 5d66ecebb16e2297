"""Activity of a server: requests under way, open streams, running turns."""

from __future__ import annotations

import asyncio
import time

from starlette.types import ASGIApp, Receive, Scope, Send

from sojourn.core.errors import SojournError
from sojourn.core.sessions import SessionId
from sojourn.http.sse import Streams
from sojourn.ports.app import ServiceAccess

_POLL_SECONDS = 5.0  # at most


class Activity:
    """Counts requests, and remembers in which sessions a turn was started here."""

    def __init__(self) -> None:
        self.requests = 0
        self.last = time.monotonic()  # when somebody last needed the server
        self._sessions: set[SessionId] = set()

    def add_session(self, session: SessionId) -> None:
        """Notes that a turn was started in this session."""
        self._sessions.add(session)

    async def _has_running_turn(self, context: ServiceAccess) -> bool:
        """Whether a turn that was started here may still be running: it is, or the store cannot be asked."""
        for session in list(self._sessions):
            try:
                if await context.service.running(session) is not None:
                    return True
            except SojournError as error:
                if error.status == 503:
                    return True
            self._sessions.discard(session)
        return False

    async def wait_until_idle(self, context: ServiceAccess, streams: Streams, seconds: float) -> None:
        """Returns when there was no request, stream or turn for `seconds`, counted from now."""
        self.last = time.monotonic()
        while True:
            if self.requests or len(streams) or await self._has_running_turn(context):
                self.last = time.monotonic()
            left = self.last + seconds - time.monotonic()
            if left <= 0:
                return
            await asyncio.sleep(min(left, _POLL_SECONDS, seconds / 4))


class ActivityMiddleware:
    """Counts the requests that are under way."""

    def __init__(self, app: ASGIApp, activity: Activity) -> None:
        self._app, self._activity = app, activity

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        self._activity.requests += 1
        try:
            await self._app(scope, receive, send)
        finally:
            self._activity.requests -= 1
            self._activity.last = time.monotonic()
