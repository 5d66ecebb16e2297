"""Answers that go on: frames as they come, a comment when it is quiet, a clean end when the server stops.

Closing one stops nothing but itself.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterator, Mapping
from contextlib import aclosing, contextmanager, suppress

from fastapi import Response
from starlette.types import Receive, Scope, Send

from sojourn.core.errors import SojournError
from sojourn.http.sse_format import HEARTBEAT_FRAME, RETRY_FRAME

logger = logging.getLogger(__name__)


class Streams:
    """The open streams of a server, so that it can end them and stop, and knows that it is needed."""

    def __init__(self, heartbeat: float = 15.0) -> None:
        self.heartbeat = heartbeat
        self._open: set[asyncio.Task[None]] = set()
        self._closed = False

    def __len__(self) -> int:
        return len(self._open)

    def close(self) -> None:
        """Every stream ends at once, and cleanly; new ones end before they begin."""
        self._closed = True
        for stream in self._open:
            stream.cancel()

    @contextmanager
    def holding(self, stream: asyncio.Task[None]) -> Iterator[None]:
        self._open.add(stream)
        if self._closed:
            stream.cancel()
        try:
            yield
        finally:
            self._open.discard(stream)


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
        self._streams, self._source, self._quiet, self._resumable = streams, source, True, resumable

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        tell = asyncio.create_task(self._tell(send))
        others = [asyncio.create_task(self._beat(send)), asyncio.create_task(_wait_for_disconnect(receive))]
        try:
            with self._streams.holding(tell):
                await asyncio.wait([tell, others[1]], return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in (tell, *others):
                task.cancel()
            ended = await asyncio.gather(tell, *others, return_exceptions=True)
        if isinstance(ended[0], Exception):
            raise ended[0]
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _tell(self, send: Send) -> None:
        async with aclosing(self._source) as frames:
            if self._resumable:
                await send({"type": "http.response.body", "body": RETRY_FRAME, "more_body": True})
            try:
                async for frame in frames:
                    self._quiet = False
                    await send({"type": "http.response.body", "body": frame, "more_body": True})
            except SojournError as error:
                logger.warning("a stream ended early: %s", error)

    async def _beat(self, send: Send) -> None:
        while True:
            self._quiet = True
            await asyncio.sleep(self._streams.heartbeat / 2)  # twice as often as promised: a frame may just have come
            if self._quiet:
                await send({"type": "http.response.body", "body": HEARTBEAT_FRAME, "more_body": True})


async def _wait_for_disconnect(receive: Receive) -> None:
    """Ends when the client has hung up."""
    with suppress(OSError):
        while (await receive())["type"] != "http.disconnect":
            pass
