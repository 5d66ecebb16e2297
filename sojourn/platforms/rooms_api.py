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
    value: str = Field(min_length=1, max_length=100, description="As it stands in the message's `buttons`.")
    sender: str = Field(default="owner", min_length=1, max_length=100, description="Only the owner's answers count.")
    name: str = Field(default="", max_length=100)


def to_json(note: RoomMessage) -> dict[str, Any]:
    return asdict(note) | {"id": note.id}


def is_in(note: RoomMessage, thread: str | None) -> bool:
    """`thread`: only this one; empty: only the room itself; None: everything."""
    return thread is None or (note.thread or "") == thread


async def to_sse_frames(notes: AsyncGenerator[RoomMessage, None], thread: str | None) -> AsyncGenerator[bytes, None]:
    """Yields each message as an SSE frame, and a comment as heartbeat."""
    async with aclosing(notes):
        coming: asyncio.Future[RoomMessage] | None = None
        try:
            while True:
                coming = coming or asyncio.ensure_future(anext(notes))
                done, _ = await asyncio.wait({coming}, timeout=_HEARTBEAT_SECONDS)
                if not done:
                    yield b":\n\n"
                    continue
                note, coming = coming.result(), None
                if is_in(note, thread):
                    yield b"event: message\ndata: %b\nid: %d\n\n" % (json.dumps(to_json(note)).encode(), note.n)
        finally:
            if coming is not None:
                coming.cancel()
                await asyncio.gather(coming, return_exceptions=True)
