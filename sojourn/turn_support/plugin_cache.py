"""Plugin cache: builds runtimes, tools and context sources on first use, in a thread, while turns go on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from sojourn.ports.app import AgentParts
from sojourn.ports.context import ContextSource
from sojourn.ports.runtime import Runtime
from sojourn.ports.tool import Tool

T = TypeVar("T")
_TOOLS_TTL_SECONDS = 1.0


class PluginCache:
    """Caches what plugins offer; builds one thing at a time."""

    def __init__(self, app: AgentParts) -> None:
        self._app, self._lock = app, asyncio.Lock()
        self._runtimes: dict[str, Runtime] = {}
        self._context: tuple[ContextSource, ...] | None = None
        self._tools, self._tools_until = tuple[Tool, ...](), 0.0

    async def _build(self, make: Callable[[], T]) -> T:
        async with self._lock:
            return await asyncio.to_thread(make)

    async def runtime(self, name: str) -> Runtime:
        """NotFound, MissingPackage, BadConfig."""
        if name not in self._runtimes:
            self._runtimes[name] = await self._build(partial(self._app.runtime, name))
        return self._runtimes[name]

    async def tools(self) -> tuple[Tool, ...]:
        """Rebuilt every second: an MCP server may have come or gone."""
        if time.monotonic() > self._tools_until:
            self._tools = await self._build(self._app.tools)
            self._tools_until = time.monotonic() + _TOOLS_TTL_SECONDS
        return self._tools

    async def context(self) -> tuple[ContextSource, ...]:
        if self._context is None:
            self._context = await self._build(self._app.context)
        return self._context
