"""What a route is given: the context, who asks, the session a path names; and how parameters are described."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Annotated, Any, cast
from urllib.parse import unquote

from fastapi import Depends, Path, Request, Response

from sojourn.core.errors import BadInput, NotFound
from sojourn.core.sessions import OWNER, Principal, Session, SessionId
from sojourn.http.sse import Streams
from sojourn.ports.app import AppContext
from sojourn.ports.service import Caller, Service
from sojourn.ports.store import Store
from sojourn.text.codec import encode_value

MAX_INTEGER = 2**63 - 1  # the largest number every store can hold
SURFACE_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,49}$"
CURSOR_PATTERN = r"^[0-9a-f]{16}-([0-9a-f]{2}){1,255}$"
Responses = dict[int | str, dict[str, Any]]


def get_context(request: Request) -> AppContext:
    return cast(AppContext, request.app.state.context)


def get_store(request: Request) -> Store:
    """A store that cannot be opened raises here, and that is the answer; next time it is tried again."""
    return get_context(request).store


async def _context(request: Request) -> AppContext:
    return get_context(request)


async def _store(request: Request) -> Store:
    return get_store(request)


async def _service(request: Request) -> Service:
    return get_context(request).service


async def _streams(request: Request) -> Streams:
    return cast(Streams, request.app.state.streams)


def _read_header(request: Request, name: str, otherwise: str = "") -> str:
    """A header of ours; percent-encoded, since headers carry no other letters."""
    return unquote(request.headers.get(f"sojourn-{name}", otherwise))[:200]


async def _principal(request: Request) -> Principal:
    """Whoever has the token is the owner, and may ask in a guest's place."""
    return Principal(_read_header(request, "principal") or OWNER)


async def _caller(request: Request, principal: Annotated[Principal, Depends(_principal)]) -> Caller:
    """Who talks, and where from. A client of ours says; anybody else is `api`."""
    surface = _read_header(request, "surface", "api")
    if not re.fullmatch(SURFACE_PATTERN, surface):
        raise BadInput(f"Sojourn-Surface is {surface!r}.", hint="A short word like `api`, `web` or `cli` is meant.")
    holder = _read_header(request, "holder") or request.headers.get("user-agent", "")[:100] or "somebody over HTTP"
    return Caller(surface=surface, principal=principal, holder=holder, name=_read_header(request, "name"))


async def _wants_exact_form(request: Request) -> bool:
    """Whether a client of ours asks, which wants values as they are and not as people read them (`exactly`)."""
    return request.headers.get("sojourn-form") == "exact"


ContextDep = Annotated[AppContext, Depends(_context)]
StoreDep = Annotated[Store, Depends(_store)]
ServiceDep = Annotated[Service, Depends(_service)]
StreamsDep = Annotated[Streams, Depends(_streams)]
PrincipalDep = Annotated[Principal, Depends(_principal)]
CallerDep = Annotated[Caller, Depends(_caller)]
ExactForm = Annotated[bool, Depends(_wants_exact_form)]
SessionReference = Annotated[
    str, Path(min_length=1, max_length=255, description="Its id, a unique beginning of it, or its title.")
]
ExactId = Annotated[str, Path(min_length=1, max_length=255, description="The full id: what changes things is exact.")]


async def _get_session(id: ExactId, service: ServiceDep, asker: PrincipalDep, form: ExactForm) -> Session:
    """By its whole id. A guest's session is there for a client that speaks for the guest, and for one of ours."""
    found = await service.get(SessionId(id), principal=asker)
    if found.principal != asker and not form:
        raise NotFound(f'There is no session "{id}".', hint="`sojourn sessions list` shows what there is.")
    return found


async def _resolve_session(id: SessionReference, service: ServiceDep, asker: PrincipalDep, form: ExactForm) -> Session:
    return await (_get_session(id, service, asker, form) if form else service.resolve(id, principal=asker))


ResolvedSession = Annotated[Session, Depends(_resolve_session)]
ExactSession = Annotated[Session, Depends(_get_session)]


def problem_responses(*statuses: int) -> Responses:
    """The problems a route may answer with, for its documentation."""
    return {status: {"description": HTTPStatus(status).phrase} for status in statuses}


def exact_response(value: Any) -> Response:
    """For a client of ours: nothing rounded, nothing left out."""
    return Response(json.dumps(encode_value(value)), media_type="application/json")


def parse_if_match(if_match: str | None) -> int | None:
    """The revision an `If-Match` header speaks of; `*` and nothing mean any."""
    if if_match is None or if_match.strip() == "*":
        return None
    found = re.fullmatch(r'\s*(?:W/)?"?(\d{1,18})"?\s*', if_match)
    if not found:
        raise BadInput(f"If-Match is {if_match!r}.", hint='Give the revision, e.g. If-Match: "3".')
    return int(found[1])


def etag_header(session: Session) -> Mapping[str, str]:
    return {"ETag": f'"{session.revision}"'}
