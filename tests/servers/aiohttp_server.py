"""An aiohttp server on this machine for as long as a test needs it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from aiohttp import web


@asynccontextmanager
async def serving(app: web.Application) -> AsyncIterator[str]:
    """Gives the address. What a caller no longer waits for is not worked on."""
    runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1, access_log=None)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    try:
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


def hang_up(request: web.BaseRequest) -> None:
    """The line is dead: no answer, not even a closing word."""
    if request.transport is not None:
        request.transport.abort()


class Signal:
    """Something changed; those who wait look again."""

    def __init__(self) -> None:
        self._waiting = set[asyncio.Future[None]]()

    def ring(self) -> None:
        for one in self._waiting:
            if not one.done():
                one.set_result(None)
        self._waiting.clear()

    async def until(self, true: Callable[[], bool]) -> None:
        while not true():
            self._waiting.add(waiting := asyncio.get_running_loop().create_future())
            await waiting
