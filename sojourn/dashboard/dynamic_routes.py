"""Routes that are there only while a plugin is on."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from starlette.exceptions import HTTPException
from starlette.routing import Match, Mount
from starlette.types import ASGIApp, Receive, Scope, Send


class ConditionalRoute(Mount):
    """Fits a path only while `wanted` says so; at other times it is as if it had never been there.

    A Mount, because that is the kind of route the framework takes into another router as it is.
    """

    def __init__(self, app: ASGIApp, wanted: Callable[[str], bool], methods: Collection[str]) -> None:
        super().__init__("/live", app=app)  # the path is never looked at, and must not be empty
        self._wanted, self._methods = wanted, methods

    def matches(self, scope: Scope) -> tuple[Match, dict[str, Any]]:
        if scope["type"] != "http" or not self._wanted(scope["path"]):
            return Match.NONE, {}
        fits = Match.FULL if scope["method"] in self._methods else Match.PARTIAL
        return fits, {"endpoint": self.app, "path_params": {}}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] not in self._methods:
            raise HTTPException(405)
        await self.app(scope, receive, send)
