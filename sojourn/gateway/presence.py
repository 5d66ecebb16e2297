"""Presence signals, where a network has them: a reaction on receipt, and a typing indicator."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from sojourn.core.errors import PlatformFailed
from sojourn.gateway.context import GatewayContext
from sojourn.gateway.payloads import InboundPayload, ReplyTarget
from sojourn.ports.platform import CanReact, CanType, Sent

_TYPING_SECONDS = 4.0  # between two typing signals
_REACTION_TIMEOUT_SECONDS = 10.0


class PresenceSignals:
    """Sends presence signals. They are optional: what a network refuses is not tried again."""

    def __init__(self, context: GatewayContext) -> None:
        self._context, self._emoji = context, str(context.settings["gateway.reaction"]).strip()

    @asynccontextmanager
    async def while_answering(self, to: ReplyTarget, prompt: InboundPayload) -> AsyncIterator[None]:
        """Reacts to the prompt of a person, and shows the typing indicator as long as the block runs."""
        connection = self._context.connections.get((to.platform, to.account))
        tasks = list[asyncio.Task[None]]()
        has_reaction = self._emoji and prompt.id and not prompt.handoff
        if has_reaction and connection is not None and isinstance(connection.adapter, CanReact):
            tasks.append(asyncio.create_task(self._react(connection.adapter, prompt)))
        if connection is not None and isinstance(connection.adapter, CanType):
            tasks.append(asyncio.create_task(_show_typing(connection.adapter, to)))
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _react(self, adapter: CanReact, prompt: InboundPayload) -> None:
        with suppress(PlatformFailed, TimeoutError):
            async with asyncio.timeout(_REACTION_TIMEOUT_SECONDS):
                await adapter.react(Sent(place=prompt.place, id=prompt.id), self._emoji)


async def _show_typing(adapter: CanType, to: ReplyTarget) -> None:
    with suppress(PlatformFailed):
        while True:
            await adapter.typing(to.place)
            await asyncio.sleep(_TYPING_SECONDS)
