"""Presence signals, where a network has them: a reaction on receipt, and a typing indicator."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from sojourn.core.errors import PlatformFailed
from sojourn.gateway.asyncio_tasks import cancel_tasks
from sojourn.gateway.context import GatewayContext
from sojourn.gateway.payloads import InboundPayload, ReplyTarget
from sojourn.ports.platform import CanReact, CanType, Sent

_TYPING_SECONDS = 4.0  # between two typing signals
_REACTION_TIMEOUT_SECONDS = 10.0


@asynccontextmanager
async def show_presence(context: GatewayContext, to: ReplyTarget, prompt: InboundPayload) -> AsyncIterator[None]:
    """Reacts to the prompt of a person, and shows the typing indicator as long as the block runs.

    Both are optional: what a network refuses is not tried again.
    """
    adapter, tasks = context.find_adapter(to), list[asyncio.Task[None]]()
    emoji = str(context.settings["gateway.reaction"]).strip()
    has_reaction = emoji and prompt.id and not prompt.handoff
    if has_reaction and adapter is not None and isinstance(adapter, CanReact):
        tasks.append(asyncio.create_task(_react(adapter, prompt, emoji)))
    if adapter is not None and isinstance(adapter, CanType):
        tasks.append(asyncio.create_task(_show_typing(adapter, to)))
    try:
        yield
    finally:
        await cancel_tasks(tasks)


async def _react(adapter: CanReact, prompt: InboundPayload, emoji: str) -> None:
    with suppress(PlatformFailed, TimeoutError):
        async with asyncio.timeout(_REACTION_TIMEOUT_SECONDS):
            await adapter.react(Sent(place=prompt.place, id=prompt.id), emoji)


async def _show_typing(adapter: CanType, to: ReplyTarget) -> None:
    with suppress(PlatformFailed):
        while True:
            await adapter.typing(to.place)
            await asyncio.sleep(_TYPING_SECONDS)
