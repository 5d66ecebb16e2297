"""Dependencies of the routes: the context, the caller, the session that a path names; and forms of answers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Annotated, Any, TypeVar, cast
from urllib.parse import unquote

from fastapi import Depends, Path, Request, Response

from sojourn.core.errors import BadInput, NotFound
from sojourn.core.sessions import OWNER, Principal, Session, SessionId
from sojourn.http.access_token import AccessToken
from sojourn.http.activity import Activity
from sojourn.http.admissions import Admissions
from sojourn.http.browser_sessions import BrowserSessions
from sojourn.http.one_time_links import OneTimeLinks
from sojourn.http.plugin_routes import PluginRoutes
from sojourn.http.schemas import SessionDetail
from sojourn.http.sse import Streams
from sojourn.http.stats_cache import StatsCache
from sojourn.ports.app import AppContext
from sojourn.ports.service import Caller, Service
from sojourn.ports.store import Store
from sojourn.text.codec import encode_value

T = TypeVar("T")
MAX_INTEGER = 2**63 - 1  # the largest number every store can hold
SURFACE_PATTERN = r"^[a-z0-9][a-z0-9_-]{0,49}$"
CURSOR_PATTERN = r"^[0-9a-f]{16}-([0-9a-f]{2}){1,255}$"
Responses = dict[int | str, dict[str, Any]]


def _from_state(name: str) -> Any:
    """A dependency on `app.state.<name>`. It is async: FastAPI runs any other function in a thread."""

    async def find(request: Request) -> Any:
        return getattr(request.app.state, name)

    return Depends(find)


ContextDep = Annotated[AppContext, _from_state("context")]
ActivityDep = Annotated[Activity, _from_state("activity")]
PluginRoutesDep = Annotated[PluginRoutes, _from_state("mounts")]
AccessTokenDep = Annotated[AccessToken, _from_state("access")]
BrowserSessionsDep = Annotated[BrowserSessions, _from_state("browsers")]
AdmissionsDep = Annotated[Admissions, _from_state("admissions")]
StatsCacheDep = Annotated[StatsCache, _from_state("stats")]
OneTimeLinksDep = Annotated[OneTimeLinks, _from_state("links")]


async def _streams(request: Request) -> Streams:
    """Refuses before anything is begun, when the visitor has too many streams open."""
    streams: Streams = request.app.state.streams
    streams.check_room(request.scope)
    return streams


StreamsDep = Annotated[Streams, Depends(_streams)]


async def _store(request: Request) -> Store:
    """A store that cannot be opened raises here, and that is the answer; the next request tries again."""
    context: AppContext = request.app.state.context  # a dependency of a dependency costs as much as a route
    return context.store


async def _service(request: Request) -> Service:
    context: AppContext = request.app.state.context
    return context.service


def _read_header(request: Request, name: str, otherwise: str = "") -> str:
    """One of our own headers; percent-encoded, since headers carry only ASCII."""
    return unquote(request.headers.get(f"sojourn-{name}", otherwise))[:200]


async def _principal(request: Request) -> Principal:
    """The bearer of the token is the owner, and may ask in a guest's place."""
    return Principal(_read_header(request, "principal") or OWNER)


async def find_caller(request: Request) -> Caller:
    """Who asks, and from which surface. Our own client names it; any other is `api`."""
    surface = _read_header(request, "surface", "api")
    if not re.fullmatch(SURFACE_PATTERN, surface):
        raise BadInput(f"Sojourn-Surface is {surface!r}.", hint="Send a short word like `api`, `web` or `cli`.")
    holder = _read_header(request, "holder") or request.headers.get("user-agent", "")[:100] or "somebody over HTTP"
    name, principal = _read_header(request, "name"), await _principal(request)
    return Caller(surface=surface, principal=principal, holder=holder, name=name)


async def _wants_exact_form(request: Request) -> bool:
    """Whether our own client asks: it wants values without loss (`core.codec`), not as people read them."""
    return request.headers.get("sojourn-form") == "exact"


StoreDep = Annotated[Store, Depends(_store)]
ServiceDep = Annotated[Service, Depends(_service)]
PrincipalDep = Annotated[Principal, Depends(_principal)]
CallerDep = Annotated[Caller, Depends(find_caller)]
ExactForm = Annotated[bool, Depends(_wants_exact_form)]
SessionReference = Annotated[
    str, Path(min_length=1, max_length=255, description="Its id, a unique beginning of it, or its title.")
]
ExactId = Annotated[str, Path(min_length=1, max_length=255, description="The full id: what changes things is exact.")]


async def _get_session(id: ExactId, service: ServiceDep, principal: PrincipalDep, form: ExactForm) -> Session:
    """The session with exactly this id. A guest's session is found only for that guest, and for our own client."""
    found = await service.get(SessionId(id), principal=principal)
    if found.principal != principal and not form:
        raise NotFound(f'There is no session "{id}".', hint="`sojourn sessions list` shows what there is.")
    return found


async def _resolve_session(
    id: SessionReference, service: ServiceDep, principal: PrincipalDep, form: ExactForm
) -> Session:
    return await (_get_session(id, service, principal, form) if form else service.resolve(id, principal=principal))


ResolvedSession = Annotated[Session, Depends(_resolve_session)]
ExactSession = Annotated[Session, Depends(_get_session)]


def problem_responses(*statuses: int) -> Responses:
    """The problems a route may answer with, for its documentation."""
    return {status: {"description": HTTPStatus(status).phrase} for status in statuses}


def exact_response(value: Any, schema: type[T]) -> T:
    """The lossless answer for our own client, typed as the schema of the route; FastAPI sends any Response as it is."""
    return cast(T, Response(json.dumps(encode_value(value)), media_type="application/json"))


async def _session_answer(response: Response, form: ExactForm) -> Callable[[Session], SessionDetail]:
    """Turns a session into the answer of a route, with its revision as `ETag`."""

    def answer(session: Session) -> SessionDetail:
        response.headers["ETag"] = f'"{session.revision}"'
        return exact_response(session, SessionDetail) if form else SessionDetail.model_validate(session)

    return answer


SessionAnswer = Annotated[Callable[[Session], SessionDetail], Depends(_session_answer)]


def parse_if_match(if_match: str | None) -> int | None:
    """The revision in an `If-Match` header; None, which means any, for `*` and for no header."""
    if if_match is None or if_match.strip() == "*":
        return None
    found = re.fullmatch(r'\s*(?:W/)?"?(\d{1,18})"?\s*', if_match)
    if not found:
        raise BadInput(f"If-Match is {if_match!r}.", hint='Give the revision, e.g. If-Match: "3".')
    return int(found[1])
