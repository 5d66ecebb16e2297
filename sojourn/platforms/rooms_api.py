"""The HTTP API of rooms: parameters, messages and button presses as JSON, live ones as server-sent events."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import asdict
from typing import Annotated, Any

from fastapi import Path, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import StreamingResponse

from sojourn.platforms.rooms import MAX_TEXT_CHARS, RoomMessage, Rooms, parse_room_name

_HEARTBEAT_SECONDS = 15.0
Number = Annotated[int, Path(ge=1, le=10**12, description="The message's number.")]
After = Annotated[int, Query(ge=0, le=10**12, description="Only messages with a higher number.")]
Thread = Annotated[str | None, Query(max_length=20, description="Only this thread; empty: only what is in none.")]
Limit = Annotated[int, Query(ge=1, le=1000)]
FAULTS: dict[int | str, dict[str, Any]] = {
    400: {"description": "The name is not valid."},
    404: {"description": "The thread, message or button does not exist."},
}


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


def _is_in(message: RoomMessage, thread: str | None) -> bool:
    """`thread`: only this one; empty: only the room itself; None: everything."""
    return thread is None or (message.thread or "") == thread


async def read_room(rooms: Rooms, room: str, after: int, thread: str | None, limit: int) -> dict[str, Any]:
    messages = await rooms.read(room, after=after, limit=limit)
    return {"messages": [to_json(one) for one in messages if _is_in(one, thread)]}


def follow_room(rooms: Rooms, room: str, after: int, thread: str | None) -> StreamingResponse:
    """Streams events called `message`; an edited message comes again with the same number."""
    messages = rooms.watch(parse_room_name(room), after=after)
    return StreamingResponse(_to_sse_frames(messages, thread), media_type="text/event-stream")


async def _to_sse_frames(
    messages: AsyncGenerator[RoomMessage, None], thread: str | None
) -> AsyncGenerator[bytes, None]:
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
                if _is_in(message, thread):
                    yield b"event: message\ndata: %b\nid: %d\n\n" % (json.dumps(to_json(message)).encode(), message.n)
        finally:
            if pending is not None:
                pending.cancel()
                await asyncio.gather(pending, return_exceptions=True)
