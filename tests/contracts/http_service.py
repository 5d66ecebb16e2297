"""A service behind a real server, in a thread of its own, for the tests beside this file."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable
from types import TracebackType

import uvicorn

from sojourn.client.remote import RemoteService
from sojourn.http.app import make_app
from sojourn.ports.app import AppContext
from sojourn.server_file import Server

TOKEN = "a-token-for-tests"


class _Uvicorn(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: threading.Event) -> None:
        super().__init__(config)
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready.set()


class Served:
    """`with Served(make_kit) as served`: the kit is made, used and closed in the server's thread."""

    def __init__(self, make_kit: Callable[[], AppContext]) -> None:
        self._make_kit, self._ready = make_kit, threading.Event()
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.server = Server(address=f"http://127.0.0.1:{self._socket.getsockname()[1]}", token=TOKEN)
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    async def _run(self) -> None:
        kit = self._make_kit()
        app = make_app(kit, token=TOKEN)
        config = uvicorn.Config(app, log_config=None, ws="none", timeout_graceful_shutdown=1)
        self._uvicorn = _Uvicorn(config, self._ready)
        try:
            await self._uvicorn.serve([self._socket])
        finally:
            await kit.close()

    def __enter__(self) -> Served:
        self._thread.start()
        assert self._ready.wait(20)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._uvicorn.config.app.state.streams.close()  # type: ignore[union-attr]
        self._uvicorn.should_exit = True
        self._thread.join(20)
        self._socket.close()

    def client(self) -> RemoteService:
        return RemoteService(self.server, patience=5.0)
