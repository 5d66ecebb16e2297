"""Signs that something happens, where a network can show them: a reaction on receipt, and that an answer is written."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from sojourn.core.errors import PlatformFailed
from sojourn.gateway.context import GatewayContext
from sojourn.gateway.payloads import InboundPayload, ReplyTarget
from sojourn.ports.platform import CanReact, CanType, Sent

_TYPING = 4.0
_PATIENCE = 10.0


class PresenceSignals:
    """Nobody misses them: what a network refuses is not tried again."""

    def __init__(self, desk: GatewayContext) -> None:
        self._desk, self._sign = desk, str(desk.settings["gateway.reaction"]).strip()

    @asynccontextmanager
    async def showing(self, to: ReplyTarget, heard: InboundPayload | None = None) -> AsyncIterator[None]:
        """While an answer is written. `heard`: to what, if a person wrote it."""
        line = self._desk.lines.get((to.platform, to.account))
        tasks = list[asyncio.Task[None]]()
        is_said = self._sign and heard is not None and heard.id and not heard.handoff
        if heard is not None and is_said and line is not None and isinstance(line.adapter, CanReact):
            tasks.append(asyncio.create_task(self._seen(line.adapter, heard)))
        if line is not None and isinstance(line.adapter, CanType):
            tasks.append(asyncio.create_task(_type(line.adapter, to)))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _seen(self, adapter: CanReact, heard: InboundPayload) -> None:
        with suppress(PlatformFailed, TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                await adapter.react(Sent(place=heard.place, id=heard.id), self._sign)


async def _type(adapter: CanType, to: ReplyTarget) -> None:
    with suppress(PlatformFailed):
        while True:
            await adapter.typing(to.place)
            await asyncio.sleep(_TYPING)
