"""What plugins bring, made when it is first needed. That may take seconds: it happens beside the turns that run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from sojourn.ports.app import AgentParts
from sojourn.ports.context import CanLearn, ContextSource
from sojourn.ports.runtime import Runtime
from sojourn.ports.tool import Tool

T = TypeVar("T")
_FRESH = 1.0  # seconds for which the tools are the same


class Loading:
    """The parts of a kit, made in a thread, one at a time."""

    def __init__(self, kit: AgentParts) -> None:
        self._kit, self._one = kit, asyncio.Lock()
        self._runtimes: dict[str, Runtime] = {}
        self._context: tuple[ContextSource, ...] | None = None
        self._learners: tuple[CanLearn, ...] | None = None
        self._tools, self._tools_until = tuple[Tool, ...](), 0.0

    async def _made(self, make: Callable[[], T]) -> T:
        async with self._one:
            return await asyncio.to_thread(make)

    async def runtime(self, name: str) -> Runtime:
        """NotFound, Missing, BadConfig."""
        if name not in self._runtimes:
            self._runtimes[name] = await self._made(partial(self._kit.runtime, name))
        return self._runtimes[name]

    async def tools(self) -> tuple[Tool, ...]:
        """Asked anew every second: a server that brings tools may have come or gone."""
        if time.monotonic() > self._tools_until:
            self._tools = await self._made(self._kit.tools)
            self._tools_until = time.monotonic() + _FRESH
        return self._tools

    async def context(self) -> tuple[ContextSource, ...]:
        if self._context is None:
            self._context = await self._made(self._kit.context)
        return self._context

    async def learners(self) -> tuple[CanLearn, ...]:
        """The sources that want to see a turn when it is over. Asking each what it can do is slow, and done once."""
        if self._learners is None:
            self._learners = tuple(one for one in await self.context() if isinstance(one, CanLearn))
        return self._learners
