"""`/api/plugins/<name>/…` of plugins that are not ours: passed on to their own program, within limits.

Answers count as hostile: few headers pass, and nothing in them can run as a page of ours.
"""

from __future__ import annotations

from collections.abc import Mapping

from fastapi import APIRouter, Request, Response
from starlette.exceptions import HTTPException
from starlette.routing import request_response
from starlette.types import Scope

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
    "Cache-Control": "no-store",
}


def router(app: Shared) -> APIRouter:
    """One route for all of them; it exists for a plugin as long as the plugin is on."""
    host = app.shared(PluginHost)

    async def pass_on(request: Request) -> Response:
        folder = host.on(_plugin_name(request.scope["path"]))
        if folder is None:
            raise HTTPException(404)
        backend = await host.backend(folder)
        answer = await backend.ask(
            BackendRequest(
                method=request.method,
                target=require_plain_path(_target(request.scope)),
                headers=_select_headers(request.headers, _REQUEST_HEADERS),
                body=await _read_body(request),
            )
        )
        headers = _select_headers(answer.headers, _RESPONSE_HEADERS) | _SECURITY_HEADERS
        return Response(answer.body, _map_status(answer.status), headers)

    api = APIRouter()
    api.routes.append(
        ConditionalRoute(request_response(pass_on), lambda path: host.on(_plugin_name(path)) is not None, _METHODS)
    )
    return api


def _plugin_name(path: str) -> str:
    name, slash, _ = path.removeprefix(PREFIX).partition("/")
    return name if path.startswith(PREFIX) and slash else ""


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
