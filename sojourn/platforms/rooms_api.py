"""HTTP bodies of rooms: messages and button presses as JSON, live ones as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from sojourn.platforms.rooms import MAX_TEXT_CHARS, RoomMessage

_HEARTBEAT_SECONDS = 15.0


class RoomMessageBody(BaseModel):
    """A message to post."""

    model_config = ConfigDict(extra="forbid")
    text: str = Field(min_length=1, max_length=MAX_TEXT_CHARS)
    thread: str | None = Field(default=None, max_length=20)
    sender: str = Field(default="owner", min_length=1, max_length=100, description="Others than you have to be paired.")
    name: str = Field(default="", max_length=100)


class ButtonPressBody(BaseModel):
    """A button press."""

    model_config = ConfigDict(extra="forbid")
    value: str = Field(min_length=1, max_length=100, description="From the message's `buttons`.")
    sender: str = Field(default="owner", min_length=1, max_length=100, description="Only the owner's answers count.")
    name: str = Field(default="", max_length=100)


def to_json(message: RoomMessage) -> dict[str, Any]:
    return asdict(message) | {"id": message.id}


def is_in(message: RoomMessage, thread: str | None) -> bool:
    """`thread`: only this one; empty: only the room itself; None: everything."""
    return thread is None or (message.thread or "") == thread


async def to_sse_frames(messages: AsyncGenerator[RoomMessage, None], thread: str | None) -> AsyncGenerator[bytes, None]:
    """Yields each message as an SSE frame, and a comment as heartbeat."""
    async with aclosing(messages):
        pending: asyncio.Future[RoomMessage] | None = None
        try:
            while True:
                pending = pending or asyncio.ensure_future(anext(messages))
                done, _ = await asyncio.wait({pending}, timeout=_HEARTBEAT_SECONDS)
                if not done:
                    yield b":\n\n"
                    continue
                message, pending = pending.result(), None
                if is_in(message, thread):
                    yield b"event: message\ndata: %b\nid: %d\n\n" % (json.dumps(to_json(message)).encode(), message.n)
        finally:
            if pending is not None:
                pending.cancel()
                await asyncio.gather(pending, return_exceptions=True)
