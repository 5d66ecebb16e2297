"""A small Starlette server on this machine, for networks whose own server cannot be installed here."""

import asyncio
import socket
from collections.abc import Sized
from typing import Any, Self

import uvicorn
from starlette.applications import Starlette

from tests.servers.adapter_context import AdapterKit


class WebServer:
    """Serves an app on a free port in the loop of the test."""

    def __init__(self, app: Starlette) -> None:
        self._app = app
        self.dead = False

    async def __aenter__(self) -> Self:
        listening = socket.create_server(("127.0.0.1", 0))
        self.port = listening.getsockname()[1]
        config = uvicorn.Config(
            self._answer,
            log_config=None,
            access_log=False,
            lifespan="off",
            interface="asgi3",
            http="h11",
            ws="websockets-sansio",
        )
        config.load()
        self._server = uvicorn.Server(config)
        self._server.lifespan = config.lifespan_class(config)
        await self._server.startup([listening])
        return self

    async def _answer(self, scope: Any, receive: Any, send: Any) -> None:
        if self.dead:
            self.drop_connections()
            return
        await self._app(scope, receive, send)

    async def __aexit__(self, *_: object) -> None:
        for one in self._server.servers:
            one.close()
        self.drop_connections()

    def drop_connections(self) -> None:
        """Drops everybody who is connected."""
        for line in list(self._server.server_state.connections):
            if line.transport is not None:
                line.transport.abort()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


class WebHarness:
    """The part of a harness that only its web server knows. `lines` are those who are told what happens."""

    def __init__(self, app: Starlette, lines: Sized) -> None:
        self._web, self._lines = WebServer(app), lines

    async def __aenter__(self) -> Self:
        await self._web.__aenter__()
        self._kit = AdapterKit(None)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._web.__aexit__()
        await self._kit.close()

    async def drop_connections(self) -> None:
        self._web.drop_connections()
        while self._lines:
            await asyncio.sleep(0.01)

    async def break_sending(self) -> None:
        self._web.dead = True

    async def close(self) -> None: ...
