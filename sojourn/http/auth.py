"""Authentication of requests: the Host, the token or browser session, the Origin, and the size of the body."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from urllib.parse import urlsplit

from fastapi import Response
from fastapi.responses import RedirectResponse
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sojourn.core.errors import NotAllowed, SojournError
from sojourn.http.access_token import AccessToken
from sojourn.http.admissions import Admissions, Right
from sojourn.http.browser_sessions import PAGE_KEY_HEADER, BrowserSessions
from sojourn.http.host_names import BROWSER_NAME, Host, HostNames, parse_host
from sojourn.http.plain_pages import build_page, is_page_visit
from sojourn.http.problems import OPENAI_PREFIX, problem_response, to_problem
from sojourn.http.user_agent import resolves_localhost_names

PUBLIC_PATHS = frozenset({"/healthz", "/enter", "/proof"})  # needs no token
BROWSER_SCOPE = "sojourn.browser"  # where a route finds the id of the browser session that asks
MAX_BODY_BYTES = 32 * 1024 * 1024
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})


class AuthMiddleware:
    """Checks every request before any route does, so that a plugin's routes are as guarded as ours."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        access: AccessToken,
        browsers: BrowserSessions,
        admissions: Admissions,
        host: str,
        public: str = "",
        shows: Callable[[str], bool] = PUBLIC_PATHS.__contains__,
    ) -> None:
        self._app, self._access, self._browsers, self._admissions = app, access, browsers, admissions
        self._names, self._shows = HostNames(host, public), shows

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        try:
            answer = await self._admit(scope)
        except SojournError as error:  # the store of the browser sessions cannot be used
            answer = to_problem(scope, error)
        if answer is None:
            await self._app(scope, _limit_body(receive), send)
        elif isinstance(answer, Right):
            await self._admissions.run(self._app, scope, _limit_body(receive), send, answer)
        elif scope["type"] == "http":
            await answer(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": 1008})

    async def _admit(self, scope: Scope) -> Response | Right | None:
        """The right that a request comes in with, None where none is needed, or the answer that refuses it."""
        header = _header(scope, b"host")
        host = parse_host(header)
        if host is None or host not in self._names:
            return problem_response(
                scope,
                421,
                "foreign_host",
                f"This server is not called {header!r}.",
                "Use the address it printed at start; a name of your own goes into `--host`.",
            )
        is_open = scope["path"] in PUBLIC_PATHS or self._shows(scope["path"])
        if is_open and _belongs_elsewhere(scope, host):
            return RedirectResponse(f"http://{BROWSER_NAME}:{host.port}{_target(scope)}")
        right = None if is_open and _reads(scope) else await self._find_right(scope, host)
        if right is None and not is_open:
            if is_page_visit(scope, _header(scope, b"accept")):
                return build_page("missing", _header(scope, b"accept-language"), status=404)
            return to_problem(
                scope,
                NotAllowed(
                    "This needs the server's token.",
                    hint="Send `Authorization: Bearer TOKEN`; `sojourn token show` prints it, and server.json has it.",
                ),
            )
        return _refuse_foreign_origin(scope, header, right) or _refuse_large_body(scope) or right

    async def _find_right(self, scope: Scope, host: Host) -> Right | None:
        scheme, _, shown = _header(scope, b"authorization").partition(" ")
        if not scheme and scope["path"].startswith(OPENAI_PREFIX):  # as programs send it that speak Anthropic's API
            shown = _header(scope, b"x-api-key")
            scheme = "bearer" if shown else ""
        if scheme.lower() == "bearer":
            address = scope["client"][0] if scope.get("client") else ""
            if await self._access.admits(shown.strip(), address):
                return Right(mark=self._access.mark)
        if _header(scope, b"sec-fetch-site") not in ("", "same-origin", "none"):
            return None  # another port of this machine is the same site to a browser
        page_key = _header(scope, PAGE_KEY_HEADER)
        session = await self._browsers.find(_header(scope, b"cookie"), page_key, host)
        if session is None:
            return None
        scope[BROWSER_SCOPE] = session.id
        return Right(mark=self._access.mark, browser=session.id)


def _reads(scope: Scope) -> bool:
    return scope["type"] == "http" and scope["method"] in _SAFE_METHODS


def _belongs_elsewhere(scope: Scope, host: Host) -> bool:
    """Whether a person opens a page under a name whose cookies other servers of this machine get, too."""
    return (
        scope["type"] == "http"
        and scope["method"] == "GET"
        and host.is_local
        and _header(scope, b"sec-fetch-mode") == "navigate"
        and _header(scope, b"sec-fetch-dest") == "document"
        and resolves_localhost_names(_header(scope, b"user-agent"))
    )


def _target(scope: Scope) -> str:
    query: bytes = scope.get("query_string", b"")
    path: bytes = scope.get("raw_path") or scope["path"].encode()
    return path.split(b"?")[0].decode("latin-1") + (f"?{query.decode('latin-1')}" if query else "")


def _refuse_foreign_origin(scope: Scope, host: str, right: Right | None) -> Response | None:
    """What changes something comes from a program that has the token, or from a page of ours."""
    by_token = right is not None and not right.browser
    origin = _header(scope, b"origin")
    if _reads(scope) or _netloc(origin) == host.lower() or (by_token and not origin):
        return None
    return problem_response(
        scope,
        403,
        "foreign_origin",
        f"A page of {origin!r} may not change things here.",
        "Only pages this server shows by itself may.",
    )


def _refuse_large_body(scope: Scope) -> Response | None:
    size = _header(scope, b"content-length")
    if not size or (size.isdigit() and int(size) <= MAX_BODY_BYTES):
        return None
    return problem_response(
        scope, 413, "too_large", f"A body of {size} bytes is too large.", f"At most {MAX_BODY_BYTES}."
    )


def _header(scope: Scope, name: bytes) -> str:
    """A header that may come only once; sent twice, it is a value that fits nothing."""
    headers: Iterable[tuple[bytes, bytes]] = scope["headers"]
    return ", ".join(value.decode("latin-1") for key, value in headers if key == name)


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
