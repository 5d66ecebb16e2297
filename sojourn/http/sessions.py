"""Sessions: list, open, change, take away."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Response
from pydantic import Field, StrictBool

from sojourn.core.errors import BadInput, Conflict
from sojourn.core.sessions import Principal, Session, SessionId
from sojourn.http import schemas
from sojourn.http.dependencies import (
    CURSOR_PATTERN,
    SURFACE_PATTERN,
    CallerDep,
    ContextDep,
    ExactForm,
    ExactSession,
    PrincipalDep,
    ResolvedSession,
    ServiceDep,
    SessionAnswer,
    StoreDep,
    exact_response,
    parse_if_match,
    problem_responses,
)
from sojourn.http.json_safe import Instant, Revision, to_timestamp
from sojourn.ports.store import Listing, SessionStore, Store
from sojourn.service.turn_record import list_active_turns
from sojourn.text.codec import make_cursor, parse_cursor

router = APIRouter(prefix="/api/sessions", tags=["sessions"])
_RETRIES = 5
ARCHIVED = {"yes": True, "no": False, "any": None}
Name = Annotated[str, Field(min_length=1, max_length=200)]
Folder = Annotated[str, Field(min_length=1, max_length=512)]


class SessionListParams(schemas.StrictSchema):
    """Which sessions a list shows, newest activity first. A filter may be repeated: any of its values fits."""

    text: str = Field(default="", max_length=2048, description="Words of the title.")
    source: list[Name] = Field(default=[], max_length=50)
    tag: list[Name] = Field(default=[], max_length=50, description="All of them must be there.")
    program: list[Name] = Field(default=[], max_length=50, description="Whose history it was imported from; `sojourn`.")
    project: list[Folder] = Field(default=[], max_length=5, description="Its folder.")
    model: list[Name] = Field(default=[], max_length=50)
    tool: list[Name] = Field(default=[], max_length=50, description="Tools it called.")
    trashed: bool = Field(default=False, description="Those in the trash instead.")
    subagents: bool = Field(default=True, description="false leaves out what agents gave to sub-agents.")
    parent: str | None = Field(
        default=None, min_length=1, max_length=255, description="Only what this session started."
    )
    since: Instant | None = Field(default=None, description="Active at that moment or later. No zone means UTC.")
    until: Instant | None = Field(default=None, description="Active before that moment.")
    archived: Literal["yes", "no", "any"] = "no"
    pinned: bool | None = None
    limit: int = Field(default=50, ge=1, le=1000)
    before: str | None = Field(default=None, pattern=CURSOR_PATTERN, description="The `next` of the page before.")
    skip: int = Field(
        default=0, ge=0, le=10**9, description="Rows to leave out first, to look at the middle of a list."
    )
    count: bool = Field(default=False, description="Say how many there are in all, too.")

    def listing(self, principal: Principal) -> Listing:
        return Listing(
            principal=principal,
            text=self.text,
            sources=tuple(self.source),
            tags=tuple(self.tag),
            programs=tuple(self.program),
            projects=tuple(self.project),
            models=tuple(self.model),
            tools=tuple(self.tool),
            trashed=self.trashed,
            subagents=self.subagents,
            parent=SessionId(self.parent) if self.parent else None,
            since=to_timestamp(self.since),
            until=to_timestamp(self.until),
            archived=ARCHIVED[self.archived],
            pinned=self.pinned,
            limit=self.limit + 1,
            before=parse_cursor(self.before) if self.before else None,
            skip=self.skip,
        )


class NewSession(schemas.StrictSchema):
    """A session to begin."""

    title: str | None = Field(default=None, max_length=1000)
    source: str | None = Field(default=None, pattern=SURFACE_PATTERN, description="The surface it begins on; `api`.")
    runtime: str = Field(default="", max_length=200, description="What shall answer; left out: the default.")
    parent: str | None = Field(default=None, min_length=1, max_length=255)
    model: str | None = Field(default=None, max_length=200)
    cwd: str | None = Field(default=None, max_length=4096)


class SessionChanges(schemas.StrictSchema):
    """What to change; what is left out stays."""

    title: str | None = Field(default=None, max_length=1000, description="null takes the title away.")
    tags: list[str] = Field(default=[], max_length=200, description="The whole new set.")
    pinned: StrictBool = False
    archived: StrictBool = False
    trashed: StrictBool = Field(default=False, description="true puts it with its sub-agents into the trash.")
    model: str | None = Field(default=None, max_length=200)
    cwd: str | None = Field(default=None, max_length=4096)
    revision: Revision | None = Field(default=None, description="Change only what still has this revision.")

    def applied_to(self, session: Session) -> Session:
        changes: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set - {"revision"}}
        if "tags" in changes:
            changes["tags"] = tuple(changes["tags"])
        if "trashed" in changes:
            changes["trashed_at"] = (session.trashed_at or time.time()) if changes.pop("trashed") else None
        return replace(session, **changes)


class BranchPoint(schemas.StrictSchema):
    """Where a branch begins."""

    at: Revision = Field(description="The `seq` of its last message; 0 begins with nothing.")


class ForgetOptions(schemas.StrictSchema):
    """How far forgetting goes."""

    purge_backups: StrictBool = Field(default=False, description="Also remove the copies that hold it.")


@router.get("", summary="List sessions", responses=problem_responses(400))
async def list_sessions(
    params: Annotated[SessionListParams, Query()], store: StoreDep, principal: PrincipalDep, form: ExactForm
) -> schemas.SessionPage:
    """`skip` jumps into the list; `next` goes on from where a page ended, whatever happens meanwhile."""
    listing = params.listing(principal)
    found: Sequence[Session] = await store.find(listing)
    shown = found[: params.limit]
    more = make_cursor(shown[-1].last_active, shown[-1].id) if len(found) > params.limit else None
    total = await store.count(listing) if params.count else None
    if form:
        return exact_response({"sessions": shown, "next": more, "total": total}, schemas.SessionPage)
    return schemas.SessionPage(sessions=await _to_rows(shown, store), next=more, total=total)


async def _to_rows(sessions: Sequence[Session], store: Store) -> list[schemas.ListedSession]:
    """Rows of a list, each with what happens in it now."""
    running = {one.session for one in await store.snapshot(list_active_turns) if one.state == "running"}
    waiting = set(await store.list_waiting()) & running
    return [
        schemas.ListedSession.model_validate(one).model_copy(
            update={"running": one.id in running, "waiting": one.id in waiting}
        )
        for one in sessions
    ]


@router.post("", status_code=201, summary="Begin a session", responses=problem_responses(400, 404, 409))
async def create_session(
    wanted: NewSession, service: ServiceDep, caller: CallerDep, response: Response, answer: SessionAnswer
) -> schemas.SessionDetail:
    """`source` is the surface it begins on, and that drives it."""
    made = await service.open(
        replace(caller, surface=wanted.source or caller.surface),
        title=wanted.title,
        model=wanted.model,
        runtime=wanted.runtime,
        cwd=wanted.cwd or "",
        parent=SessionId(wanted.parent) if wanted.parent else None,
    )
    response.headers["Location"] = f"/api/sessions/{made.id}"
    return answer(made)


@router.get("/{id}", summary="Show a session", responses=problem_responses(404, 409))
async def get_session(session: ResolvedSession, answer: SessionAnswer) -> schemas.SessionDetail:
    return answer(session)


@router.patch("/{id}", summary="Title, tag, pin or archive", responses=problem_responses(400, 404, 409))
async def change_session(
    session: ExactSession,
    wanted: SessionChanges,
    store: StoreDep,
    answer: SessionAnswer,
    if_match: Annotated[str | None, Header(description="The revision, if it is not in the body.")] = None,
) -> schemas.SessionDetail:
    by_header = parse_if_match(if_match)
    if None not in (by_header, wanted.revision) and by_header != wanted.revision:
        raise BadInput("If-Match and `revision` disagree.", hint="Give one of them.")
    return answer(await _change(store, session, wanted, wanted.revision if by_header is None else by_header))


async def _change(store: SessionStore, session: Session, wanted: SessionChanges, expected: int | None) -> Session:
    """Applies the changes. With an expected revision, Conflict if it is another; without, retries on the newest."""
    if expected is not None:
        return await store.change(replace(session, revision=expected), wanted.applied_to(session))
    for _ in range(_RETRIES):
        try:
            return await store.change(session, wanted.applied_to(session))
        except Conflict as conflict:
            if type(conflict) is not Conflict:
                raise
            session = await store.get(session.id, principal=session.principal)
    return await store.change(session, wanted.applied_to(session))


@router.post("/{id}/branch", status_code=201, summary="Branch at a message", responses=problem_responses(404))
async def branch_session(
    session: ExactSession,
    wanted: BranchPoint,
    service: ServiceDep,
    caller: CallerDep,
    response: Response,
    answer: SessionAnswer,
) -> schemas.SessionDetail:
    """A new session with the messages up to `at` and the files; the original stays as it is. To ask again, or
    otherwise, branch at the message before the request and say it there."""
    made = await service.branch(session.id, wanted.at, caller)
    response.headers["Location"] = f"/api/sessions/{made.id}"
    return answer(made)


@router.delete("/{id}", summary="Delete a session and its sub-agents", responses=problem_responses(404, 409))
async def delete_session(session: ExactSession, context: ContextDep) -> schemas.RemovalSchema:
    return schemas.RemovalSchema.model_validate(await context.delete(session.id))


@router.post("/{id}/forget", summary="Forget a session everywhere, for good", responses=problem_responses(404, 409))
async def forget_session(
    session: ExactSession, context: ContextDep, how: ForgetOptions | None = None
) -> schemas.RemovalSchema:
    purge = how.purge_backups if how else False
    return schemas.RemovalSchema.model_validate(await context.forget(session.id, purge_backups=purge))
