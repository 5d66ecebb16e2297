"""WebSocket for requests and pushes: requests are answered under their own id, the rest is pushed to us."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Generic, TypeVar

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, WebSocketException

from sojourn.core.errors import PlatformDown, SendRefused

_MAX_MESSAGE_BYTES = 16 * 1024 * 1024
_MAX_WAITING = 1000  # pushes

T = TypeVar("T")


async def dial(label: str, url: str) -> ClientConnection:
    """Opens a WebSocket whose heartbeat is the network's own. PlatformDown."""
    try:
        return await connect(url, max_size=_MAX_MESSAGE_BYTES, close_timeout=1, ping_interval=None)
    except (WebSocketException, OSError, TimeoutError) as error:
        raise PlatformDown(f"{label} does not answer: {str(error) or type(error).__name__}.") from error


class RequestSocket(Generic[T]):
    """One connection. `pushes` gets what is pushed, and None at its end. A network overrides `take` and `beat`."""

    def __init__(self, label: str, socket: ClientConnection, *, reply_seconds: float) -> None:
        self._label, self._socket, self._reply_seconds = label, socket, reply_seconds
        self.pushes: asyncio.Queue[T | None] = asyncio.Queue(_MAX_WAITING)
        self._replies: dict[str, asyncio.Future[T]] = {}
        self._tasks = [asyncio.create_task(self._read())]

    def take(self, message: str | bytes) -> bool:
        """Handles a message with `resolve` or `push`; false ends the connection."""
        raise NotImplementedError

    async def beat(self) -> None:
        """Sends heartbeats; returns when the connection is dead."""
        raise NotImplementedError

    async def beat_every(self, seconds: float, ping: Callable[[], Awaitable[object]]) -> None:
        """Pings until one is not answered."""
        with suppress(PlatformDown, SendRefused):
            while True:
                await asyncio.sleep(seconds)
                await ping()

    @property
    def is_open(self) -> bool:
        return not self._tasks[0].done()

    def start_heart(self) -> None:
        self._tasks.append(asyncio.create_task(self._watch_heart()))

    async def _watch_heart(self) -> None:
        await self.beat()
        await self._socket.close()

    async def exchange(self, id: str, message: str | bytes) -> T:
        """Sends a request and waits for its reply. PlatformDown."""
        reply: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._replies[id] = reply
        try:
            await self._socket.send(message)
            async with asyncio.timeout(self._reply_seconds):
                return await reply
        except (ConnectionClosed, TimeoutError) as error:
            raise PlatformDown(f"{self._label} does not answer.") from error
        finally:
            self._replies.pop(id, None)

    def resolve(self, id: str, reply: T) -> None:
        future = self._replies.get(id)
        if future is not None and not future.done():
            future.set_result(reply)

    def push(self, frame: T) -> None:
        """Queues what is pushed. What does not fit is dropped, and so is not acknowledged."""
        if not self.pushes.full():
            self.pushes.put_nowait(frame)

    async def _read(self) -> None:
        try:
            async for message in self._socket:
                if not self.take(message):
                    return
        except ConnectionClosed:
            pass
        finally:
            for future in self._replies.values():
                if not future.done():
                    future.set_exception(PlatformDown(f"The connection to {self._label} was lost."))
            if self.pushes.full():
                self.pushes.get_nowait()
            self.pushes.put_nowait(None)

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with suppress(WebSocketException, OSError):
            await self._socket.close()
