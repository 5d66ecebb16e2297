"""Whether a server is needed: requests under way, open streams, turns that run."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, cast

from fastapi import Depends, Request
from starlette.types import ASGIApp, Receive, Scope, Send

from sojourn.core.errors import SojournError
from sojourn.core.sessions import SessionId
from sojourn.http.sse import Streams
from sojourn.ports.app import ServiceAccess

_POLL_SECONDS = 5.0  # seconds between two looks, at most


class Activity:
    """Counts requests, and remembers in which sessions a turn was started here."""

    def __init__(self) -> None:
        self.requests = 0
        self.last = time.monotonic()  # when somebody last needed the server
        self._talking: set[SessionId] = set()

    def started(self, session: SessionId) -> None:
        self._talking.add(session)

    async def _turns(self, context: ServiceAccess) -> bool:
        """Whether a turn that was started here still runs. What cannot be asked may still be running."""
        for session in list(self._talking):
            try:
                if await context.service.running(session) is not None:
                    return True
            except SojournError as error:
                if error.status == 503:
                    return True
            self._talking.discard(session)
        return False

    async def until_idle(self, context: ServiceAccess, streams: Streams, seconds: float) -> None:
        """Returns when for that long, from now on, nobody asked, followed, or was being answered."""
        self.last = time.monotonic()
        while True:
            if self.requests or len(streams) or await self._turns(context):
                self.last = time.monotonic()
            left = self.last + seconds - time.monotonic()
            if left <= 0:
                return
            await asyncio.sleep(min(left, _POLL_SECONDS, seconds / 4))


class ActivityMiddleware:
    """Outermost but for the edge: notes every request."""

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


async def _activity(request: Request) -> Activity:
    return cast(Activity, request.app.state.activity)


ActivityDep = Annotated[Activity, Depends(_activity)]
