"""Server-sent events: frames with an event name, one line of JSON and a number as `id:`, and the streaming response.

The same item always gives the same bytes, so a client that reconnects ends up with the same data as one that stayed.
Closing a stream stops only the stream.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress
from typing import Any, TypeVar

from fastapi import Response
from pydantic_core import to_json
from starlette.types import Receive, Scope, Send

from sojourn.core.errors import RateLimited, SojournError
from sojourn.core.events import Chunk, Event, Metadata
from sojourn.core.messages import Message
from sojourn.core.sessions import Change, Recorded
from sojourn.http import schemas
from sojourn.http.json_safe import replace_surrogates, to_iso_date, to_json_value
from sojourn.text.codec import encode_recorded
from sojourn.text.event_codec import FIELDS

logger = logging.getLogger(__name__)
T = TypeVar("T")
MAX_STREAMS_PER_VISITOR = 256  # open at once
_MAX_READY_FRAMES = 256  # that wait for a slow client; then the source waits
HEARTBEAT_FRAME = b":\n\n"
RETRY_FRAME = b"retry: 1000\n\n"  # milliseconds until a browser that lost the line comes back


def event_frame(recorded: Recorded) -> bytes | None:
    """One of the five events, with its own fields, when it was kept and in which turn. None for a message."""
    return None if isinstance(recorded.item, Message) else log_frame(recorded)


def log_frame(recorded: Recorded) -> bytes:
    """An event, or a row of the transcript under the name `message`."""
    item = recorded.item
    if isinstance(item, Message):
        return _format("message", schemas.MessageSchema.of(recorded).model_dump_json().encode(), recorded.seq)
    return _format(item.name, _encode(recorded, item), recorded.seq)


def exact_frame(recorded: Recorded) -> bytes:
    """A log entry for our own client, without loss."""
    name, values = encode_recorded(recorded)
    return _format(name, json.dumps(values).encode(), recorded.seq)


def change_frame(found: Change) -> bytes:
    values = {"n": found.n, "session": to_json_value(found.session), "kind": found.kind, "at": to_iso_date(found.at)}
    return _format(found.kind, to_json(values), found.n)


def cursor_frame(number: int) -> bytes:
    """Only a number: where a client that heard nothing yet can come back to."""
    return b": from here\nid: %d\n\n" % number


def _format(name: str, data: bytes, number: int) -> bytes:
    return b"event: %b\ndata: %b\nid: %d\n\n" % (name.encode(), data, number)


def _encode(recorded: Recorded, item: Event) -> bytes:
    if isinstance(item, Chunk):  # nearly all of them
        values: dict[str, Any] = {"text": replace_surrogates(item.text)}
    else:
        values = {name: to_json_value(getattr(item, name)) for name in FIELDS[type(item)]}
    if isinstance(item, Metadata):
        values["session_id"] = values["session_id"] or recorded.session
    values["at"], values["turn_id"] = to_iso_date(recorded.at), recorded.turn or values.get("turn_id")
    return to_json(values, inf_nan_mode="null")


FRAME_SCHEMA = {
    "type": "object",
    "properties": {
        "event": {"type": "string"},
        "data": {"type": "string"},
        "id": {"type": "string"},
        "retry": {"type": "integer"},
    },
}
STREAM_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"description": "Frames, as they come.", "content": {"text/event-stream": {"itemSchema": FRAME_SCHEMA}}}
}


async def to_frames(
    source: AsyncGenerator[T, None], frame: Callable[[T], bytes | None], first: bytes = b""
) -> AsyncGenerator[bytes, None]:
    """A frame for each item that has one."""
    async with aclosing(source) as items:
        if first:
            yield first
        async for item in items:
            if (made := frame(item)) is not None:
                yield made


class Streams:
    """The open streams of a server, so that it can end them and stop, and knows that it is needed."""

    def __init__(self, heartbeat: float = 15.0) -> None:
        self.heartbeat = heartbeat
        self._open: dict[asyncio.Task[None], str] = {}  # each with its visitor
        self._closed = False

    def check_room(self, scope: Scope) -> None:
        """RateLimited when this visitor has too many streams open."""
        if sum(one == _visitor(scope) for one in self._open.values()) >= MAX_STREAMS_PER_VISITOR:
            raise RateLimited(
                f"You have {MAX_STREAMS_PER_VISITOR} streams open, which is the most.",
                hint="Close pages or clients that follow sessions, then try again.",
            )

    def __len__(self) -> int:
        return len(self._open)

    def close(self) -> None:
        """Every stream ends at once, and cleanly; new ones end before they begin."""
        self._closed = True
        for stream in self._open:
            stream.cancel()

    @contextmanager
    def holding(self, stream: asyncio.Task[None], scope: Scope) -> Iterator[None]:
        self._open[stream] = _visitor(scope)
        if self._closed:
            stream.cancel()
        try:
            yield
        finally:
            del self._open[stream]


def _visitor(scope: Scope) -> str:
    """Tells visitors apart: by the token or the cookie that let them in."""
    shown = [value for name, value in scope.get("headers", ()) if name in (b"authorization", b"cookie")]
    return hashlib.sha256(b"\n".join(shown)).hexdigest()


class EventStream(Response):
    """Server-sent events. The source yields whole frames; when it fails, the client comes back and is told why."""

    media_type = "text/event-stream"

    def __init__(
        self,
        streams: Streams,
        source: AsyncGenerator[bytes, None],
        headers: Mapping[str, str] | None = None,
        *,
        resumable: bool = True,
        status_code: int = 200,
    ) -> None:
        super().__init__(status_code=status_code, headers={"X-Accel-Buffering": "no", **(headers or {})})
        del self.headers["content-length"]
        self._streams, self._source, self._resumable = streams, source, resumable

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self._streams.check_room(scope)
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        tell = asyncio.create_task(self._tell(send))
        hung_up = asyncio.create_task(_wait_for_disconnect(receive))
        try:
            with self._streams.holding(tell, scope):
                await asyncio.wait([tell, hung_up], return_when=asyncio.FIRST_COMPLETED)
        finally:
            tell.cancel()
            hung_up.cancel()
            ended = await asyncio.gather(tell, hung_up, return_exceptions=True)
        if isinstance(ended[0], Exception):
            raise ended[0]
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _tell(self, send: Send) -> None:
        """Sends frames as they come; those that are ready at the same moment together, since each write costs. A
        stream without any says now and then that it is there."""
        ready: asyncio.Queue[bytes | None] = asyncio.Queue(_MAX_READY_FRAMES)  # None: that was all
        collecting = asyncio.create_task(self._collect(ready))
        try:
            is_open = True
            while is_open:
                frames: list[bytes | None] = [HEARTBEAT_FRAME]
                with suppress(TimeoutError):
                    async with asyncio.timeout(self._streams.heartbeat):
                        frames = [await ready.get()]
                while not ready.empty():
                    frames.append(ready.get_nowait())
                is_open = frames[-1] is not None
                await send({"type": "http.response.body", "body": b"".join(filter(None, frames)), "more_body": True})
            await collecting
        finally:
            collecting.cancel()
            await asyncio.gather(collecting, return_exceptions=True)

    async def _collect(self, ready: asyncio.Queue[bytes | None]) -> None:
        if self._resumable:
            await ready.put(RETRY_FRAME)
        try:
            async with aclosing(self._source) as frames:
                async for frame in frames:
                    await ready.put(frame)
        except SojournError as error:
            logger.warning("a stream ended early: %s", error)
        finally:
            await ready.put(None)


async def _wait_for_disconnect(receive: Receive) -> None:
    """Ends when the client has hung up."""
    with suppress(OSError):
        while (await receive())["type"] != "http.disconnect":
            pass
