"""`/mcp`: the MCP server over streamable HTTP, behind the same token as everything else."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING
from urllib.parse import unquote

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from sojourn.core.errors import NotAllowed
from sojourn.core.sessions import OWNER
from sojourn.http.problems import problem_response
from sojourn.lazy import Lazy

if TYPE_CHECKING:
    from sojourn.mcp_server.http_endpoint import McpEndpoint

PATH = "/mcp"
MCP_ENDPOINT: Lazy[type[McpEndpoint]] = Lazy("sojourn.mcp_server.http_endpoint:McpEndpoint")  # the SDK takes a second


class McpRoute:
    """An ASGI application: hands requests to the endpoint, and ends open streams when the server stops."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers, state = Headers(scope=scope), scope["app"].state
        if (refused := _refuse(scope, headers)) is not None:
            await refused(scope, receive, send)
            return
        state.streams.check_room(scope)
        context = state.context
        endpoint = context.shared(await asyncio.to_thread(context.load, MCP_ENDPOINT))
        is_open = False

        async def watched(message: Message) -> None:
            nonlocal is_open
            is_open = message["type"] == "http.response.start" or bool(message.get("more_body"))
            await send(message)

        task = asyncio.create_task(endpoint.answer(scope, receive, watched))
        try:
            with state.streams.holding(task, scope):
                await asyncio.wait([task])
        finally:
            task.cancel()
        if not task.cancelled():
            task.result()
        elif is_open:  # the server stops, and the client gets an answer that is complete
            await send({"type": "http.response.body", "body": b"", "more_body": False})


def _refuse(scope: Scope, headers: Headers) -> Response | None:
    """Pages of others are refused whatever they ask for, and so is who asks in a guest's place."""
    origin = headers.get("origin", "")
    if origin and origin.lower() not in {f"{kind}://{headers.get('host', '').lower()}" for kind in ("http", "https")}:
        text = f"A page of {origin!r} may not ask here."
        return problem_response(scope, 403, "foreign_origin", text, "MCP is for programs, not for pages.")
    if unquote(headers.get("sojourn-principal", "")) not in ("", OWNER):
        hint = "Leave the header Sojourn-Principal out."
        return problem_response(scope, 403, NotAllowed.code, "MCP is for the owner alone.", hint)
    return None


route = Route(PATH, endpoint=McpRoute())
