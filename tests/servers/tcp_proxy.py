"""A TCP proxy between an adapter and a real server that can cut its connections."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Self

# Looks at what the adapter says; what it returns is answered instead of the server, and the line is closed.
Listener = Callable[[bytes], bytes | None]


class Line:
    """A port of its own; whatever is said there goes to the server and back."""

    def __init__(self, port: int) -> None:
        self._port, self.port = port, 0
        self.overhear: Listener = lambda said: None
        self.dead = False
        self._ends: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._take, "127.0.0.1", 0)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self.drop_connections()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def drop_connections(self) -> None:
        """Drops everybody who is connected."""
        for end in self._ends:
            end.transport.abort()

    def die(self) -> None:
        """Whoever speaks now is cut off, and whoever comes later."""
        self.dead = True

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        there, ends = None, [writer]
        try:
            if not self.dead:
                from_server, there = await asyncio.open_connection("127.0.0.1", self._port)
                ends.append(there)
                self._ends |= set(ends)
                back = asyncio.ensure_future(_pass(from_server, writer))
                await self._speak(reader, there, writer)
                back.cancel()
                await asyncio.gather(back, return_exceptions=True)
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            self._ends -= set(ends)
            self._tasks.discard(task)
            for end in ends:
                end.close()
            for end in ends:
                with suppress(OSError, asyncio.CancelledError):
                    await end.wait_closed()

    async def _speak(
        self, reader: asyncio.StreamReader, there: asyncio.StreamWriter, back: asyncio.StreamWriter
    ) -> None:
        while said := await reader.read(65536):
            if self.dead:
                return
            if (answer := self.overhear(said)) is not None:
                back.write(answer)
                await back.drain()
                return
            there.write(said)
            await there.drain()


async def _pass(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(OSError):
        while said := await reader.read(65536):
            writer.write(said)
            await writer.drain()
        writer.close()
