"""`/api/plugins/<name>/…` of plugins that are not ours: passed on to their own program, within limits.

Whatever comes back is held to be hostile: few headers pass, and nothing in it can run as a page of ours.
"""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from sojourn.dashboard.backends import BackendRequest, require_plain_path
from sojourn.dashboard.host import ConditionalRoute, PluginHost
from sojourn.ports.app import Shared

PREFIX = "/api/plugins/"
MAX_BODY_BYTES = 8 * 1024 * 1024
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"})
_REQUEST_HEADERS = ("accept", "accept-language", "content-type", "if-match", "if-none-match", "range")
_RESPONSE_HEADERS = (
    "content-type",
    "content-disposition",
    "content-language",
    "content-range",
    "etag",
    "last-modified",
)
_SECURITY_HEADERS = {
    "Content-Security-Policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
}


def router(app: Shared) -> APIRouter:
    """One route for all of them; it is there for a plugin as long as the plugin is on."""
    host = app.shared(PluginHost)
    api = APIRouter()
    api.routes.append(ConditionalRoute(_Proxy(host), lambda path: host.on(_plugin_name(path)) is not None, _METHODS))
    return api


def _plugin_name(path: str) -> str:
    name, slash, _ = path.removeprefix(PREFIX).partition("/")
    return name if path.startswith(PREFIX) and slash else ""


class _Proxy:
    def __init__(self, host: PluginHost) -> None:
        self._host = host

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        answer = await self._pass(Request(scope, receive))
        await answer(scope, receive, send)

    async def _pass(self, request: Request) -> Response:
        folder = self._host.on(_plugin_name(request.scope["path"]))
        if folder is None:
            raise HTTPException(404)
        backend = await self._host.backend(folder)
        asked = BackendRequest(
            method=request.method,
            target=require_plain_path(_target(request.scope)),
            headers=_select_headers(request.headers, _REQUEST_HEADERS),
            body=await _read_body(request),
        )
        told = await backend.ask(asked)
        headers = {**_select_headers(told.headers, _RESPONSE_HEADERS), **_SECURITY_HEADERS, "Cache-Control": "no-store"}
        return Response(told.body, _map_status(told.status), headers)


def _target(scope: Scope) -> str:
    raw: bytes = scope.get("raw_path") or scope["path"].encode()
    query: bytes = scope.get("query_string", b"")
    return (raw.split(b"?")[0] + (b"?" + query if query else b"")).decode("latin-1")


async def _read_body(request: Request) -> bytes:
    body = bytearray()
    async for part in request.stream():
        body += part
        if len(body) > MAX_BODY_BYTES:
            raise HTTPException(413, f"A plugin takes at most {MAX_BODY_BYTES} bytes at once.")
    return bytes(body)


def _select_headers(headers: Mapping[str, str], names: tuple[str, ...]) -> dict[str, str]:
    return {name: headers[name] for name in names if name in headers}


def _map_status(status: int) -> int:
    """Its 401 is not ours: it does not mean that the visitor has to sign in. It leads nobody elsewhere, either."""
    return 403 if status == 401 else 502 if 300 <= status < 400 and status != 304 else status
