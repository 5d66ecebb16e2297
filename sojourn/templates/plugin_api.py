"""The routes under `/api/plugins/templates/`."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from sojourn.ports.app import ScanContext
from sojourn.templates.extract import MAX_EXAMPLES
from sojourn.templates.service import TOKENS, TemplateChanges, TemplateService

TypeName = Literal["code", "file", "research", "terminal", "mixed"]
Answer = dict[str, Any]


class Making(BaseModel):
    """A template to make of a session."""

    session: str = Field(min_length=1, max_length=300, description="A session by id, beginning of an id, or title.")
    name: str | None = Field(default=None, max_length=300, description="Default: type, end of the id, time.")
    type: TypeName | None = Field(default=None, description="Default: by the tools it used.")
    max_examples: int = Field(default=MAX_EXAMPLES, ge=1, le=1000)


class Approving(BaseModel):
    """The name a suggestion gets as a template; empty lets one be chosen."""

    name: str | None = Field(default=None, max_length=300)


class Rejecting(BaseModel):
    """Whether it may be suggested again."""

    never: bool = False


class Editing(BaseModel):
    """What is to be different; what is left out stays."""

    name: str | None = Field(default=None, max_length=300)
    type: TypeName | None = None
    description: str | None = Field(default=None, max_length=2000)
    drop: list[int] = Field(default=[], max_length=1000, description="Numbers of examples, from 1.")


class Previewing(BaseModel):
    """The messages a template would be put before, and the tools the session has."""

    messages: list[dict[str, Any]] = Field(default=[], max_length=2000)
    tools: list[str] = Field(default=[], max_length=1000)
    budget: int = Field(default=TOKENS, ge=0, le=1_000_000, description="Tokens there is room for, as in a turn.")


def router(app: ScanContext) -> APIRouter:
    """List, show, create, approve, edit, delete, preview; every answer comes from the library as it is now."""
    service = TemplateService(app)
    api = APIRouter()
    _add_read_routes(api, service)
    _add_change_routes(api, service)
    _add_suggestion_routes(api, service)
    return api


def _add_read_routes(api: APIRouter, service: TemplateService) -> None:
    @api.get("/templates")
    async def list_templates(type: Annotated[TypeName | None, Query()] = None) -> Answer:
        """All templates, newest first, and those that cannot be read."""
        contents = await service.library.all()
        broken = [{"name": one.name, "problem": one.problem} for one in contents.unreadable]
        return {"templates": [one.to_dict() for one in contents.of_type(type)], "unreadable": broken}

    @api.get("/templates/{name}")
    async def show_template(name: str) -> Answer:
        """One template with everything in it."""
        return (await service.library.get(name)).to_dict()

    @api.get("/stats")
    async def stats() -> Answer:
        """Sessions with each template beside those of its type without."""
        return {"templates": [one.to_dict() for one in await service.stats()]}

    @api.post("/templates/{name}/preview")
    async def preview(name: str, body: Previewing) -> Answer:
        """What would be sent, and how many tokens it is. Nothing is counted."""
        return asdict(await service.preview(name, body.messages, body.tools, body.budget))


def _add_change_routes(api: APIRouter, service: TemplateService) -> None:
    @api.post("/templates", status_code=201)
    async def create(body: Making) -> Answer:
        """A template of what worked in a session."""
        stored = await service.create(body.session, name=body.name, kind=body.type, most=body.max_examples)
        return stored.to_dict()

    @api.patch("/templates/{name}")
    async def edit(name: str, body: Editing) -> Answer:
        """Changes a template, or a suggestion by its id."""
        changes = TemplateChanges(name=body.name, kind=body.type, description=body.description, drop=tuple(body.drop))
        return (await service.edit(name, changes)).to_dict()

    @api.delete("/templates/{name}", status_code=204)
    async def delete(name: str) -> Response:
        """Deletes a template."""
        await service.delete(name)
        return Response(status_code=204)


def _add_suggestion_routes(api: APIRouter, service: TemplateService) -> None:
    @api.get("/suggestions")
    async def suggestions() -> Answer:
        """What waits for a decision, best first."""
        return {"suggestions": [one.to_dict() for one in await service.inbox.waiting()]}

    @api.post("/suggestions/mine")
    async def mine() -> Answer:
        """Looks through the whole history for what comes back; only what changed since last time is read."""
        found = await service.suggest()
        return {**found.to_dict(), "suggestions": [one.to_dict() for one in await service.inbox.waiting()]}

    @api.post("/suggestions/{id}/approve", status_code=201)
    async def approve(id: str, body: Approving | None = None) -> Answer:
        """Makes a template of a suggestion."""
        return (await service.inbox.approve(id, name=body.name if body else None)).to_dict()

    @api.post("/suggestions/{id}/reject")
    async def reject(id: str, body: Rejecting | None = None) -> Answer:
        """Turns a suggestion down, until its evidence has doubled or for ever."""
        gone = await service.inbox.reject(id, never=bool(body and body.never))
        return {"id": gone.id, "state": gone.state}
