"""The built pages, as they were packed: read once, served by name, with a strict content policy.

Nothing here is private. A page without a visitor's cookie can ask for nothing.
"""

from __future__ import annotations

import mimetypes
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from fastapi import APIRouter, Request, Response
from fastapi.responses import RedirectResponse
from starlette.routing import request_response

from sojourn.core.errors import MissingPackage, NotFound
from sojourn.dashboard import diagram_frame, plugin_frames
from sojourn.dashboard.host import ConditionalRoute, PluginHost
from sojourn.dashboard_plugins.folders import PAGE_PATHS
from sojourn.ports.app import Shared

STATIC = Path(__file__).with_name("static")
SERVICE_WORKER = "/service-worker.js"  # at the root: it answers for what is below it
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "font-src 'self'",
        "manifest-src 'self'",
        "frame-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "object-src 'none'",
    )
)
_SECURITY_HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Frame-Options": "DENY",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}
_ENCODINGS = {"br": "br", "gzip": "gz"}  # and the ending of a file that was compressed so when the pages were built
_ASSET_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "Access-Control-Allow-Origin": "*",  # the frame of diagrams has an origin without a name
}
_CHANGEABLE = {"Cache-Control": "no-cache"}
_WORKER_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; connect-src 'self'",
    "X-Content-Type-Options": "nosniff",
}
_HASHED_NAME = re.compile(r".{1,200}-[\w-]{8}\.\w{1,20}")
_IMMUTABLE = {"Cache-Control": "public, max-age=31536000, immutable"}  # the name changes with the content


@dataclass(slots=True)
class BuiltPages:
    """The files of one build, by name. Only these can be asked for, so no path leads elsewhere."""

    folder: Path
    _files: dict[str, bytes] = field(default_factory=dict)

    def read(self, name: str) -> bytes:
        if not self._files:
            self._files = {
                one.relative_to(self.folder).as_posix(): one.read_bytes()
                for one in sorted(self.folder.rglob("*"))
                if one.is_file()
            }
        if "index.html" not in self._files:
            raise MissingPackage(
                "The pages are not built.", hint="In a clone, `make web` builds them; a package has them."
            )
        if name not in self._files:
            raise NotFound(f"There is no {name}.", hint="Load the page again: it may be from an older version.")
        return self._files[name]

    def read_encoded(self, name: str, accepted: str) -> tuple[bytes, dict[str, str]]:
        """A file in the smallest form that a client accepts (its header `Accept-Encoding`), and the headers for it."""
        content, encodings = self.read(name), _parse_encodings(accepted)
        for encoding, ending in _ENCODINGS.items():
            if encoding in encodings and (smaller := self._files.get(f"{name}.{ending}")):
                return smaller, {"Content-Encoding": encoding, "Vary": "Accept-Encoding"}
        return content, {"Vary": "Accept-Encoding"}


def _parse_encodings(header: str) -> set[str]:
    """The encodings of an `Accept-Encoding`, without those it rules out."""
    parts = [part.replace(" ", "").partition(";") for part in header.lower().split(",")]
    return {name for name, _, weight in parts if weight not in ("q=0", "q=0.0", "q=0.00", "q=0.000")}


def _guess_type(name: str) -> str:
    return mimetypes.guess_type(name)[0] or "application/octet-stream"


def router(app: Shared) -> APIRouter:
    """The pages of this installation, and those of plugins that are on."""
    host = app.shared(PluginHost)
    api = page_router(BuiltPages(STATIC), host.has_tab)
    api.add_route(plugin_frames.ADDRESS, plugin_frames.Frames(host).show, methods=["GET"], include_in_schema=False)
    return api


def page_router(built: BuiltPages, has_tab: Callable[[str], bool] = lambda _: False) -> APIRouter:
    """The document at each of its places and where plugins have tabs, and its files."""
    api = APIRouter()

    def read(request: Request, name: str, headers: dict[str, str]) -> Response:
        content, encoded = built.read_encoded(name, request.headers.get("accept-encoding", ""))
        return Response(content, headers={**headers, **encoded}, media_type=_guess_type(name))

    async def document(request: Request) -> Response:
        return read(request, "index.html", {**_SECURITY_HEADERS, **_CHANGEABLE})

    async def diagrams(request: Request) -> Response:
        return read(request, diagram_frame.FILE_NAME, {**diagram_frame.HEADERS, **_CHANGEABLE})

    async def asset(request: Request) -> Response:
        name: str = request.path_params["name"]
        kept = _IMMUTABLE if _HASHED_NAME.fullmatch(name) else _CHANGEABLE
        return read(request, f"assets/{name}", {**kept, **_ASSET_HEADERS})

    async def worker(request: Request) -> Response:
        return read(request, SERVICE_WORKER.removeprefix("/"), {**_WORKER_HEADERS, **_CHANGEABLE})

    async def icon(request: Request) -> Response:
        return RedirectResponse("/assets/icon.svg")

    for place in PAGE_PATHS:
        api.add_route(place, document, methods=["GET"], include_in_schema=False)
    api.routes.append(ConditionalRoute(request_response(document), has_tab, ("GET",)))
    api.add_route(SERVICE_WORKER, worker, methods=["GET"], include_in_schema=False)
    api.add_route(diagram_frame.ADDRESS, diagrams, methods=["GET"], include_in_schema=False)
    api.add_route("/assets/{name}", asset, methods=["GET"], include_in_schema=False)
    api.add_route("/favicon.ico", icon, methods=["GET"], include_in_schema=False)
    return api
