"""Shared HTTP server: networks that listen on the same address use one port, each below a path of its own.

`/whatsapp` and `/sms` can so be reached through one reverse proxy or tunnel. It is never the port of the dashboard.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from sojourn.core.errors import PlatformDown
from sojourn.http_limits import limited_config

_METHODS = ["GET", "POST"]

Handler = Callable[[Request, str], Awaitable[Response]]  # a request, and its path below the network's


class _SharedServer:
    """One listening socket and the networks behind it."""

    def __init__(self, listening: socket.socket) -> None:
        routes = [Route(path, self._route_request, methods=_METHODS) for path in ("/{name}", "/{name}/{tail:path}")]
        config = uvicorn.Config(
            Starlette(routes=routes),
            log_config=None,
            access_log=False,
            server_header=False,
            lifespan="off",
            ws="none",
            **limited_config(),
        )
        config.load()
        self._listening, self._server = listening, uvicorn.Server(config)
        self._server.lifespan = config.lifespan_class(config)
        self.handlers: dict[str, Handler] = {}
        self.started = asyncio.ensure_future(self._server.startup([listening]))

    async def _route_request(self, request: Request) -> Response:
        if request.method not in _METHODS:  # HEAD, which comes with GET
            return Response(status_code=405)
        handler = self.handlers.get(request.path_params["name"])
        if handler is None:
            return refuse_sender()
        return await handler(request, request.path_params.get("tail", ""))

    def close(self) -> None:
        self.started.cancel()
        for one in self._server.servers if self._server.started else (self._listening,):
            one.close()
        for connection in list(self._server.server_state.connections):
            connection.shutdown()


_servers: dict[tuple[asyncio.AbstractEventLoop, str, int], _SharedServer] = {}


def refuse_sender() -> Response:
    """The same answer for an unknown path and a wrong signature: who cannot sign must not learn what exists."""
    return JSONResponse({"error": "no such route, or not signed as it demands"}, 401)


@asynccontextmanager
async def serve_path(name: str, host: str, port: int, handler: Handler) -> AsyncGenerator[None, None]:
    """Serves `/<name>` and what is below it, in our event loop and without signal handlers. PlatformDown."""
    key = (asyncio.get_running_loop(), host, port)
    server = _servers.get(key)
    if server is None:
        try:
            listening = socket.create_server((host, port))
        except OSError as error:
            raise _to_port_taken(name, host, port, error.strerror or str(error)) from error
        server = _servers[key] = _SharedServer(listening)
    if name in server.handlers:
        raise _to_port_taken(name, host, port, f"/{name} is served already")
    server.handlers[name] = handler
    try:
        await asyncio.shield(server.started)
        yield
    finally:
        del server.handlers[name]
        if not server.handlers:
            del _servers[key]
            server.close()


def _to_port_taken(name: str, host: str, port: int, reason: str) -> PlatformDown:
    hint = f"Set another `port` under [plugins.{name}]."
    return PlatformDown(f"The {name} server cannot listen on {host}:{port}: {reason}.", hint=hint)
