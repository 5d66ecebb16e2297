"""Sessions: list, open, change, take away."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Header, Query, Response
from pydantic import BaseModel, ConfigDict, Field, StrictBool

from sojourn.core.errors import BadInput, Conflict
from sojourn.core.sessions import OWNER, Session, SessionId
from sojourn.http import shapes
from sojourn.http.params import CURSOR, Exact, KitHere, Named, StoreHere, cursor, etag, faults, place, revision
from sojourn.http.texts import Instant, Revision, seconds
from sojourn.ports.store import Listing, SessionStore

router = APIRouter(prefix="/api/sessions", tags=["sessions"])
_RETRIES = 5
_ARCHIVED = {"yes": True, "no": False, "any": None}
Name = Annotated[str, Field(min_length=1, max_length=200)]


class Asked(BaseModel):
    """Which sessions a list shows, newest activity first."""

    model_config = ConfigDict(extra="forbid")
    text: str = Field(default="", max_length=2048, description="Words of the title.")
    source: list[Name] = Field(default=[], max_length=50)
    tag: list[Name] = Field(default=[], max_length=50, description="All of them must be there.")
    model: str = Field(default="", max_length=200)
    parent: str | None = Field(
        default=None, min_length=1, max_length=255, description="Only what this session started."
    )
    since: Instant | None = Field(default=None, description="Active at that moment or later. No zone means UTC.")
    until: Instant | None = Field(default=None, description="Active before that moment.")
    archived: Literal["yes", "no", "any"] = "no"
    pinned: bool | None = None
    limit: int = Field(default=50, ge=1, le=1000)
    before: str | None = Field(default=None, pattern=CURSOR, description="The `next` of the page before.")

    def listing(self) -> Listing:
        return Listing(
            principal=OWNER, text=self.text, sources=tuple(self.source), tags=tuple(self.tag), model=self.model,
            parent=SessionId(self.parent) if self.parent else None, since=seconds(self.since),
            until=seconds(self.until), archived=_ARCHIVED[self.archived], pinned=self.pinned,
            limit=self.limit + 1, before=place(self.before),
        )  # fmt: skip


class NewSession(BaseModel):
    """A session to begin."""

    model_config = ConfigDict(extra="forbid")
    title: str | None = Field(default=None, max_length=1000)
    source: str = Field(default="api", pattern=r"^[a-z0-9][a-z0-9_-]{0,49}$", description="The surface it begins on.")
    parent: str | None = Field(default=None, min_length=1, max_length=255)
    model: str | None = Field(default=None, max_length=200)
    cwd: str | None = Field(default=None, max_length=4096)


class Changes(BaseModel):
    """What to change; what is left out stays."""

    model_config = ConfigDict(extra="forbid")
    title: str | None = Field(default=None, max_length=1000, description="null takes the title away.")
    tags: list[str] = Field(default=[], max_length=200, description="The whole new set.")
    pinned: StrictBool = False
    archived: StrictBool = False
    revision: Revision | None = Field(default=None, description="Change only what still has this revision.")

    def applied_to(self, session: Session) -> Session:
        asked: dict[str, Any] = {name: getattr(self, name) for name in self.model_fields_set - {"revision"}}
        if "tags" in asked:
            asked["tags"] = tuple(asked["tags"])
        return replace(session, **asked)


class Forgetting(BaseModel):
    """How far forgetting goes."""

    model_config = ConfigDict(extra="forbid")
    purge_backups: StrictBool = Field(default=False, description="Also remove the copies that hold it.")


@router.get("", summary="List sessions", responses=faults(400))
async def list_sessions(asked: Annotated[Asked, Query()], store: StoreHere) -> shapes.Sessions:
    found: Sequence[Session] = await store.find(asked.listing())
    shown = found[: asked.limit]
    more = cursor(shown[-1]) if len(found) > asked.limit else None
    return shapes.Sessions(sessions=[shapes.Session.model_validate(one) for one in shown], next=more)


@router.post("", status_code=201, summary="Begin a session", responses=faults(400, 404, 409))
async def create_session(wanted: NewSession, store: StoreHere, response: Response) -> shapes.WholeSession:
    parent = await store.get(SessionId(wanted.parent), principal=OWNER) if wanted.parent else None
    made = await store.create(
        principal=OWNER, source=wanted.source, title=wanted.title, parent=parent.id if parent else None,
        model=wanted.model, cwd=wanted.cwd,
    )  # fmt: skip
    response.headers.update({**etag(made), "Location": f"/api/sessions/{made.id}"})
    return shapes.WholeSession.of(made)


@router.get("/{id}", summary="Show a session", responses=faults(404, 409))
async def get_session(session: Named, response: Response) -> shapes.WholeSession:
    response.headers.update(etag(session))
    return shapes.WholeSession.of(session)


@router.patch("/{id}", summary="Title, tag, pin or archive", responses=faults(400, 404, 409))
async def change_session(
    session: Exact, wanted: Changes, store: StoreHere, response: Response,
    if_match: Annotated[str | None, Header(description="The revision, if it is not in the body.")] = None,
) -> shapes.WholeSession:  # fmt: skip
    by_header = revision(if_match)
    if None not in (by_header, wanted.revision) and by_header != wanted.revision:
        raise BadInput("If-Match and `revision` disagree.", hint="Give one of them.")
    changed = await _change(store, session, wanted, wanted.revision if by_header is None else by_header)
    response.headers.update(etag(changed))
    return shapes.WholeSession.of(changed)


async def _change(store: SessionStore, session: Session, wanted: Changes, expected: int | None) -> Session:
    """Who names a revision is told of a conflict; who does not wants it done, whatever else changed meanwhile."""
    if expected is not None:
        return await store.change(replace(session, revision=expected), wanted.applied_to(session))
    for _ in range(_RETRIES):
        try:
            return await store.change(session, wanted.applied_to(session))
        except Conflict as conflict:
            if type(conflict) is not Conflict:
                raise
            session = await store.get(session.id, principal=OWNER)
    return await store.change(session, wanted.applied_to(session))


@router.delete("/{id}", summary="Delete a session and its sub-agents", responses=faults(404, 409))
async def delete_session(session: Exact, store: StoreHere) -> shapes.Removed:
    return shapes.Removed.model_validate(await store.delete(session.id))


@router.post("/{id}/forget", summary="Forget a session everywhere, for good", responses=faults(404, 409))
async def forget_session(session: Exact, kit: KitHere, how: Forgetting | None = None) -> shapes.Removed:
    purge = how.purge_backups if how else False
    return shapes.Removed.model_validate(await kit.forget(session.id, purge_backups=purge))
