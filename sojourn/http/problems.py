"""Every error in one shape: RFC 9457 `application/problem+json`. The edge of HTTP is here."""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any, cast

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.routing import BaseRoute, Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from sojourn.core.errors import BadInput, NotAllowed, SojournError
from sojourn.http.json_safe import JsonSafe, Text

MEDIA_TYPE = "application/problem+json"
OPENAI_PREFIX = "/v1/"
_OPENAI_KINDS = {401: "authentication_error", 404: "not_found_error", 429: "rate_limit_error"}
ANTHROPIC_PATH = "/v1/messages"
_ANTHROPIC_KINDS = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
}
_ABOUT = frozenset({"session", "holder", "surface", "since", "driver", "asked"})  # of SessionBusy and NotDriving
_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
logger = logging.getLogger(__name__)


class FieldError(BaseModel):
    """One part of a request that has a wrong form."""

    where: Text = Field(description="Where it is, e.g. `query.limit`.")
    message: Text


class Problem(BaseModel):
    """What went wrong, and what to do next (RFC 9457)."""

    type: str = Field(description="`urn:sojourn:problem:` and the code.")
    title: str
    status: int
    detail: Text = Field(description="What happened, naming the value.")
    code: str = Field(description="Stable; decide by this one.")
    hint: Text = Field(default="", description="What to do next.")
    instance: Text = Field(default="", description="The path that was asked for.")
    errors: list[FieldError] | None = Field(default=None, description="Only when a request has a wrong form.")
    about: dict[str, JsonSafe] | None = Field(
        default=None, description="The values it speaks of: who holds it, since when."
    )


class OpenAIFailure(BaseModel):
    message: Text
    type: str
    param: str | None = None
    code: str


class OpenAIProblem(BaseModel):
    """What went wrong, as OpenAI's API puts it; under `/v1` only."""

    error: OpenAIFailure


def problem_response(
    scope: Scope,
    status: int,
    code: str,
    detail: str,
    hint: str = "",
    *,
    errors: Sequence[FieldError] | None = None,
    headers: Mapping[str, str] | None = None,
    about: Mapping[str, Any] | None = None,
) -> Response:
    """The answer that describes a problem; under `/v1` in the form of OpenAI's API."""
    if _is_below(scope.get("path", ""), ANTHROPIC_PATH):
        return Response(_to_anthropic_json(status, code, detail, hint), status, headers, "application/json")
    if scope.get("path", "").startswith(OPENAI_PREFIX):
        return Response(_to_openai_json(status, code, detail, hint), status, headers, "application/json")
    problem = Problem(
        type=f"urn:sojourn:problem:{code}",
        title=code.replace("_", " ").capitalize(),
        status=status,
        detail=detail,
        code=code,
        hint=hint,
        instance=scope.get("path", ""),
        errors=list(errors) if errors else None,
        about=dict(about) if about else None,
    )
    return Response(problem.model_dump_json(exclude_none=True), status, headers, MEDIA_TYPE)


def _to_openai_json(status: int, code: str, detail: str, hint: str) -> str:
    kind = _OPENAI_KINDS.get(status, "invalid_request_error" if status < 500 else "server_error")
    failure = OpenAIFailure(message=f"{detail} {hint}".strip(), type=kind, code=code)
    return OpenAIProblem(error=failure).model_dump_json()


def _is_below(path: str, root: str) -> bool:
    return path == root or path.startswith(f"{root}/")


def _to_anthropic_json(status: int, code: str, detail: str, hint: str) -> str:
    kind = _ANTHROPIC_KINDS.get(status, "invalid_request_error" if status < 500 else "api_error")
    failure = OpenAIFailure(message=f"{detail} {hint}".strip(), type=kind, code=code)
    return json.dumps({"type": "error", "error": failure.model_dump()})


def to_anthropic_error(error: SojournError) -> str:
    """An error as Anthropic's API would put it, for the middle of a stream."""
    return _to_anthropic_json(error.status, error.code, str(error), error.hint)


def to_openai_error(error: SojournError) -> str:
    """An error as OpenAI's API would put it, for the middle of a stream."""
    return _to_openai_json(error.status, error.code, str(error), error.hint)


def to_problem(scope: Scope, error: SojournError) -> Response:
    headers = {"WWW-Authenticate": "Bearer"} if isinstance(error, NotAllowed) else None
    about = {name: value for name, value in vars(error).items() if name in _ABOUT}
    return problem_response(scope, error.status, error.code, str(error), error.hint, headers=headers, about=about)


async def _handle_sojourn_error(request: Request, error: Exception) -> Response:
    return to_problem(request.scope, cast(SojournError, error))


async def _handle_validation_error(request: Request, error: Exception) -> Response:
    found = cast(RequestValidationError, error).errors()
    flaws = [FieldError(where=".".join(map(str, one["loc"])), message=one["msg"]) for one in found]
    details = "; ".join(f"{flaw.where}: {flaw.message}" for flaw in flaws[:3])
    hint = "/openapi.json says what each request takes."
    return problem_response(
        request.scope, 422, BadInput.code, f"The request has a wrong form. {details}", hint, errors=flaws
    )


async def _handle_http_exception(request: Request, error: Exception) -> Response:
    """What the web framework says by itself: no such route, no such method."""
    raised = cast(HTTPException, error)
    path, hint, headers = request.url.path, "", dict(raised.headers or {})
    code, detail = HTTPStatus(raised.status_code).phrase.lower().replace(" ", "_"), str(raised.detail)
    if raised.status_code == 404:
        code, detail = "no_route", f"There is nothing at {path}."
        hint = "/openapi.json lists what there is."
    elif raised.status_code == 405:
        headers["Allow"] = ", ".join(_methods(request))
        detail, hint = f"{request.method} does not work on {path}.", f"Allowed: {headers['Allow']}."
    else:
        code = {400: BadInput.code, 413: "too_large"}.get(raised.status_code, code)
    return problem_response(request.scope, raised.status_code, code, detail, hint, headers=headers)


def _methods(request: Request) -> list[str]:
    """All that work on a path; the framework names only those of the first route that fits."""
    routes: Sequence[BaseRoute] = request.app.routes
    probe = {"type": "http", "path": request.scope["path"], "root_path": "", "headers": []}
    return [
        name for name in _METHODS if any(route.matches({**probe, "method": name})[0] is Match.FULL for route in routes)
    ]


def install(app: FastAPI) -> None:
    """From now on every error the app knows is answered as a problem."""
    app.add_exception_handler(SojournError, _handle_sojourn_error)
    app.add_exception_handler(RequestValidationError, _handle_validation_error)
    app.add_exception_handler(HTTPException, _handle_http_exception)


class ErrorMiddleware:
    """The outermost middleware: logs an unexpected exception with its traceback and answers without its details."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def watched(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                present = {name.lower() for name, _ in message.get("headers", ())}
                message["headers"] = [*message.get("headers", ()), *(h for h in _HEADERS if h[0] not in present)]
            await send(message)

        try:
            await self._app(scope, receive, watched)
        except Exception as error:  # the edge of HTTP
            mark = secrets.token_hex(4)
            logger.exception("%s %s failed [%s]", scope["method"], scope["path"], mark)
            if started:
                raise ConnectionAbortedError(f"broken off [{mark}]") from error  # half an answer is not an answer
            detail = f"Something went wrong inside Sojourn; it was logged as {mark}."
            await problem_response(scope, 500, "internal", detail, "Look for that word in the server's log.")(
                scope, receive, watched
            )


_HEADERS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
