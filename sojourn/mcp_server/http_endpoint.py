"""The MCP server over streamable HTTP: an ASGI application, and the clients that are connected to it."""

from __future__ import annotations

import asyncio

from mcp.server.transport_security import TransportSecuritySettings
from starlette.types import Receive, Scope, Send

from sojourn.mcp_server.server import HistoryServer
from sojourn.ports.app import AppContext

MAX_CLIENTS = 256  # connected at once
MAX_BODY_BYTES = 1_000_000


class McpEndpoint:
    """One server for all clients: `app.shared(McpEndpoint)`. Host, token and Origin were checked before."""

    def __init__(self, app: AppContext) -> None:
        server = HistoryServer(app)
        server.streamable_http_app(
            max_sessions=MAX_CLIENTS,
            max_request_body_size=MAX_BODY_BYTES,
            transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
        )
        self._manager = server.session_manager
        self._ready, self._over = asyncio.Event(), asyncio.Event()
        self._run: asyncio.Task[None] | None = None

    async def answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answers one request."""
        if self._run is None:
            self._run = asyncio.create_task(self._hold_clients())
        await self._ready.wait()
        await self._manager.handle_request(scope, receive, send)

    async def _hold_clients(self) -> None:
        """The task that all connections belong to: it has to be entered and left by the same one."""
        async with self._manager.run():
            self._ready.set()
            await self._over.wait()

    async def close(self) -> None:
        self._over.set()
        if self._run is not None:
            await self._run
