"""HTTP routes under `/api/plugins/memory/`: facts, and the context that turns were given."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import APIRouter, Depends, Path, Query, Request
from pydantic import BaseModel, Field

from sojourn.context.context_log import read_context_log
from sojourn.context.facts import MAX_FACT_CHARS, FactRecords
from sojourn.context.memory_commands import fact_to_json
from sojourn.context.notes_api import add_note_routes
from sojourn.core.sessions import OWNER, Principal
from sojourn.ports.app import AgentContext

FactId = Annotated[str, Path(pattern=r"^[0-9a-f]{8}$", description="The id of a fact.")]
_UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"description": "There is no such thing."}}
_STALE: dict[int | str, dict[str, Any]] = {409: {"description": "It was changed meanwhile."}}
_REFUSED: dict[int | str, dict[str, Any]] = {400: {"description": "The text is empty."}}


class NewFact(BaseModel):
    """A fact to remember."""

    text: str = Field(min_length=1, max_length=MAX_FACT_CHARS)
    why: str = Field(default="", max_length=MAX_FACT_CHARS)


class ChangedFact(BaseModel):
    """A reworded fact. With `revision`, only if the fact still has that revision."""

    text: str = Field(min_length=1, max_length=MAX_FACT_CHARS)
    revision: int | None = Field(default=None, ge=1, le=2**53)


class FactShape(BaseModel):
    """One fact."""

    id: str
    text: str
    why: str
    source_session: str | None
    revision: int
    created_at: str
    updated_at: str


class UsedShape(BaseModel):
    """What one turn was given: each piece with kind, title, origin, reason and tokens."""

    turn: str
    pieces: list[dict[str, Any]]
    left_out: list[str]


def _find_principal(request: Request) -> Principal:
    """Returns the principal that our own client names in a header, else the owner."""
    return Principal(unquote(request.headers.get("sojourn-principal", "")) or OWNER)


Whose = Annotated[Principal, Depends(_find_principal)]


def router(app: AgentContext) -> APIRouter:
    """The routes for the owner's memory."""
    api, facts = APIRouter(), FactRecords(app)
    add_note_routes(api, app)

    @api.get("/facts")
    async def list_facts(
        principal: Whose, text: Annotated[str, Query(max_length=MAX_FACT_CHARS)] = ""
    ) -> list[FactShape]:
        """Every fact, oldest first; with `text`, those that have its words, best first."""
        return [FactShape(**fact_to_json(one)) for one in await facts.list_facts(text=text, principal=principal)]

    @api.post("/facts", status_code=201, responses=_REFUSED)
    async def add_fact(principal: Whose, new: NewFact) -> FactShape:
        """Remembers a fact; returns the existing one if its text is the same."""
        return FactShape(**fact_to_json(await facts.add_fact(new.text, why=new.why, principal=principal)))

    @api.patch("/facts/{id}", responses={**_REFUSED, **_UNKNOWN, **_STALE})
    async def edit_fact(principal: Whose, id: FactId, new: ChangedFact) -> FactShape:
        """Rewords a fact."""
        fact = await facts.edit_fact(id, new.text, principal=principal, expect=new.revision)
        return FactShape(**fact_to_json(fact))

    @api.delete("/facts/{id}", responses=_UNKNOWN)
    async def delete_fact(principal: Whose, id: FactId) -> FactShape:
        """Forgets a fact; answers with what it was."""
        return FactShape(**fact_to_json(await facts.delete_fact(id, principal=principal)))

    @api.get("/used/{session}", responses={**_UNKNOWN, 409: {"description": "Several sessions fit."}})
    async def used(
        principal: Whose,
        session: Annotated[str, Path(min_length=1, max_length=255, description="A session's id or title.")],
        turn: Annotated[str, Query(max_length=64, description="A turn's id, or `last`.")] = "",
    ) -> list[UsedShape]:
        """What each turn of a session was given, and why."""
        found = await app.store.resolve(session, principal=principal)
        return [UsedShape(**asdict(one)) for one in await read_context_log(app.store, found.id, turn)]

    return api
