"""Lazy router: imports and builds routes when the first request under their addresses comes."""

from __future__ import annotations

from collections.abc import Callable

from fastapi import APIRouter
from starlette.routing import Match
from starlette.types import Scope


class LazyRouter(APIRouter):
    """The routes below some addresses, which `build` adds to the router it is given.

    A server that is to answer one question starts without the routes of every page.
    """

    def __init__(self, starts: tuple[str, ...], build: Callable[[APIRouter], None]) -> None:
        super().__init__()
        self._starts, self._build = starts, build
        self._is_built = False

    def build_routes(self) -> None:
        """Adds the routes, once."""
        if not self._is_built:
            self._is_built = True
            self._build(self)

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        if not str(scope["path"]).startswith(self._starts):
            return Match.NONE, {}
        self.build_routes()
        return super().matches(scope)
