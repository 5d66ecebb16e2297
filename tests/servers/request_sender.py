"""A network that sends us requests: one after the other, and each again until it is accepted."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import httpx2

Request = tuple[str, bytes, Mapping[str, str]]  # the path with its query, the body, the headers


class RequestSender:
    """Posts to one receiver."""

    def __init__(self, port: int, *, accepted: int = 200) -> None:
        self._accepted = accepted
        self.http = httpx2.AsyncClient(base_url=f"http://127.0.0.1:{port}", verify=False, timeout=5)
        self._sends: set[asyncio.Task[None]] = set()
        self._last: asyncio.Task[None] | None = None
        self.answers: list[httpx2.Response] = []  # to what was accepted

    def send(self, build: Callable[[], Request]) -> None:
        """Sends what `build` makes, which is built anew for every attempt: some signatures have a time."""
        self._last = asyncio.create_task(self._send(build, self._last))
        self._sends.add(self._last)

    async def _send(self, build: Callable[[], Request], before: asyncio.Task[None] | None) -> None:
        if before is not None:
            await asyncio.wait({before})
        while True:
            path, body, headers = build()
            try:
                reply = await self.http.post(path, content=body, headers=dict(headers))
                if reply.status_code == self._accepted:
                    self.answers.append(reply)
                    return
            except httpx2.TransportError:
                pass
            await asyncio.sleep(0.02)

    async def until_sent(self) -> None:
        """Waits until everything is accepted."""
        await asyncio.gather(*self._sends)

    async def until_listening(self) -> None:
        while True:
            try:
                await self.http.get("/")
                return
            except httpx2.TransportError:
                await asyncio.sleep(0.01)

    async def close(self) -> None:
        for task in self._sends:
            task.cancel()
        await asyncio.gather(*self._sends, return_exceptions=True)
        await self.http.aclose()


class ReceiverHarness:
    """The part of a harness that knows who sends requests."""

    sender: RequestSender

    async def until_listening(self) -> None:
        await self.sender.until_listening()

    async def drop_connections(self) -> None:
        raise NotImplementedError

    async def close(self) -> None: ...

    @property
    def http(self) -> Any:
        return self.sender.http


NO_LINE = "we are the server, and hold no connection of ours"
