"""Authentication of requests: the token or cookie, the Host, the Origin, and the size of the body."""

from __future__ import annotations

import hmac
import ipaddress
import socket
from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from fastapi import Response
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sojourn.core.errors import NotAllowed
from sojourn.http.browser_sessions import BrowserSessions
from sojourn.http.problems import problem_response, to_problem

PUBLIC_PATHS = frozenset({"/healthz", "/enter"})  # needs no token
MAX_BODY_BYTES = 32 * 1024 * 1024
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens there."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower().rstrip(".") == "localhost"


class AuthMiddleware:
    """Checks every request before any route does, so that a plugin's routes are as guarded as ours."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        token: str,
        host: str,
        visitors: BrowserSessions | None = None,
        shows: Callable[[str], bool] = PUBLIC_PATHS.__contains__,
    ) -> None:
        self._app, self._token = app, token.encode()
        self._visitors, self._shows = visitors or BrowserSessions(token), shows
        self._only_loopback = is_loopback(host)
        names = {"localhost", host.lower()} | (set() if self._only_loopback else {socket.gethostname().lower()})
        self._names = frozenset(names)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif (refusal := self._refusal(scope)) is None:
            await self._app(scope, _limit_body(receive), send)
        elif scope["type"] == "http":
            await refusal(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    def _refusal(self, scope: Scope) -> Response | None:
        host = _header(scope, b"host")
        if not self._knows(host):
            return problem_response(
                scope,
                421,
                "foreign_host",
                f"This server is not called {host!r}.",
                "Use the address it printed at start; a name of your own goes into `--host`.",
            )
        by_token = self._has_token(_header(scope, b"authorization"))
        if not (by_token or self._is_open(scope["path"]) or self._is_visitor(scope, host)):
            return to_problem(
                scope,
                NotAllowed(
                    "This needs the server's token.",
                    hint="Send `Authorization: Bearer TOKEN`; the token is printed at start and kept in server.json.",
                ),
            )
        reads = scope["type"] == "http" and scope["method"] in _SAFE_METHODS
        origin = _header(scope, b"origin")
        if not reads and _netloc(origin) != host.lower() and (origin or not by_token):
            return problem_response(
                scope,
                403,
                "foreign_origin",
                f"A page of {origin!r} may not change things here.",
                "Only pages this server shows by itself may.",
            )
        if (size := _header(scope, b"content-length")) and (not size.isdigit() or int(size) > MAX_BODY_BYTES):
            return problem_response(
                scope, 413, "too_large", f"A body of {size} bytes is too large.", f"At most {MAX_BODY_BYTES}."
            )
        return None

    def _is_open(self, path: str) -> bool:
        return path in PUBLIC_PATHS or self._shows(path)

    def _knows(self, host: str) -> bool:
        """Names are listed, since a foreign name can be made to point here; a plain address cannot lie."""
        name = _hostname(host)
        try:
            address = ipaddress.ip_address(name)
        except ValueError:
            return name in self._names
        return address.is_loopback or not self._only_loopback

    def _is_visitor(self, scope: Scope, host: str) -> bool:
        """A cookie counts only where our own page asks: another port of this machine is the same site to a browser."""
        from_here = _header(scope, b"sec-fetch-site") in ("", "same-origin", "none")
        return from_here and self._visitors.accepts(_header(scope, b"cookie"), host)

    def _has_token(self, header: str) -> bool:
        scheme, _, shown = header.partition(" ")
        return scheme.lower() == "bearer" and hmac.compare_digest(shown.strip().encode(), self._token)


def _header(scope: Scope, name: bytes) -> str:
    """A header that may come only once; sent twice, it is a value that fits nothing."""
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    return ", ".join(value.decode("latin-1") for key, value in headers if key == name)


def _hostname(host: str) -> str:
    bare = host.partition("]")[0].removeprefix("[") if host.startswith("[") else host.rpartition(":")[0] or host
    return bare.lower().rstrip(".")


def _netloc(origin: str) -> str:
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return ""


def _limit_body(receive: Receive) -> Receive:
    """A body without a stated length is counted while it comes."""
    so_far = 0

    async def counted() -> Message:
        nonlocal so_far
        message = await receive()
        so_far += len(message.get("body", b""))
        if so_far > MAX_BODY_BYTES:
            raise HTTPException(413, f"A body of more than {MAX_BODY_BYTES} bytes is too large.")
        return message

    return counted
