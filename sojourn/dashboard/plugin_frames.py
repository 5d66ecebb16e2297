"""The frame a plugin's page runs in, and its files: an origin of its own, no network, nothing but its own folder.

The frame sends no cookie, so its files are found by an address nobody can guess. Even one that is opened outside of
the frame is sandboxed, so that nothing a plugin brings ever runs as a page of ours.
"""

from __future__ import annotations

import hmac
import os
from html import escape
from pathlib import Path

from fastapi import Request, Response
from starlette.concurrency import run_in_threadpool

from sojourn.core.errors import NotFound
from sojourn.dashboard.host import PluginHost
from sojourn.dashboard_plugins.folders import resolve_inside
from sojourn.dashboard_plugins.manifest import Manifest

ADDRESS = "/dashboard-plugins/{name}/{key}/{path:path}"
FRAME_FOLDER = Path(__file__).with_name("frame")  # what every frame is given: the way to the host, and a look
_FRAME_PREFIX = "_sojourn/"
MAX_FILE_BYTES = 32 * 1024 * 1024
MEDIA_TYPES = {
    ".js": "text/javascript; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".html": "text/html; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".ico": "image/x-icon",
    ".woff": "font/woff",
    ".woff2": "font/woff2",
    ".ttf": "font/ttf",
    ".otf": "font/otf",
}
_DOCUMENT = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>{label}</title><link rel="stylesheet" href="_sojourn/frame.css">{css}
<script src="_sojourn/host.js"></script></head>
<body><div id="root"></div><script crossorigin src="{entry}"{module}></script></body></html>
"""


class Frames:
    """Documents and files of the plugins that are on."""

    def __init__(self, host: PluginHost) -> None:
        self._host = host

    def address(self, name: str) -> str:
        """Where the frame of a plugin is, as long as this server runs."""
        return f"/dashboard-plugins/{name}/{self._host.key(name)}/"

    async def show(self, request: Request) -> Response:
        name, key, path = (str(request.path_params[part]) for part in ("name", "key", "path"))
        folder = self._host.on(name)
        if (
            folder is None
            or folder.manifest is None
            or not hmac.compare_digest(key.encode(), self._host.key(name).encode())
        ):
            raise NotFound("There is no such plugin, or it is off.", hint="Load the page again.")
        headers = security_headers(_policy_source(request, self.address(name)))
        if not path:
            return Response(render_document(folder.manifest), headers=headers, media_type="text/html")
        if (kind := MEDIA_TYPES.get(Path(path).suffix.lower())) is None:
            raise NotFound(
                f"There is no {path!r} here.", hint=f"Files that are served end in {', '.join(MEDIA_TYPES)}."
            )
        place, inner = (
            (FRAME_FOLDER, path.removeprefix(_FRAME_PREFIX)) if path.startswith(_FRAME_PREFIX) else (folder.place, path)
        )
        found = await run_in_threadpool(_read, place, inner)
        return Response(found, headers={**headers, "Content-Type": kind})


def _policy_source(request: Request, address: str) -> str:
    """The plugin's own files, as a content policy names them; it has no words for an address like [::1]."""
    host = request.headers["host"]
    return "'self'" if host.startswith("[") else f"{request.url.scheme}://{host}{address}"


def render_document(manifest: Manifest) -> str:
    """The page: our way to the host first, then the plugin's script."""
    css = f'<link rel="stylesheet" href="{escape(manifest.css)}">' if manifest.css else ""
    module = ' type="module"' if manifest.entry.endswith(".mjs") else ""
    return _DOCUMENT.format(label=escape(manifest.label), css=css, entry=escape(manifest.entry), module=module)


def security_headers(base: str) -> dict[str, str]:
    """Its own files and nothing else; no request of any kind to anybody, us included."""
    policy = (
        "sandbox allow-scripts",
        "default-src 'none'",
        f"script-src {base}",
        f"style-src {base}",
        f"img-src {base} data: blob:",
        f"font-src {base}",
        f"media-src {base} blob:",
        "connect-src 'none'",
        "worker-src 'none'",
        "frame-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'self'",
        "object-src 'none'",
    )
    reachable = "response-origin" if base == "'self'" else f'"{base}*"'
    return {
        "Content-Security-Policy": "; ".join(policy),
        "Connection-Allowlist": f"({reachable})",  # the content policy knows neither preconnect nor calls
        "Referrer-Policy": "no-referrer",
        "X-Content-Type-Options": "nosniff",
        "X-DNS-Prefetch-Control": "off",
        "Cache-Control": "no-store",
        "Access-Control-Allow-Origin": "*",  # modules and fonts are asked for by an origin that has no name
        "Permissions-Policy": "camera=(), geolocation=(), microphone=(), usb=(), serial=(), clipboard-read=()",
    }


def _read(place: Path, path: str) -> bytes:
    file = resolve_inside(place, path)
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as opened:
            found = opened.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise NotFound(f"{path!r} cannot be read: {error.strerror}.", hint="Check its permissions.") from error
    if len(found) > MAX_FILE_BYTES:
        raise NotFound(f"{path!r} is larger than {MAX_FILE_BYTES} bytes.", hint="A page is made of smaller files.")
    return found
