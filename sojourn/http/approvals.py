"""Lasting approvals: list and revoke. And what the owner has to be told once."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import APIRouter, Path
from pydantic import BaseModel, Field

from sojourn.http.dependencies import CallerDep, ExactForm, ServiceDep, exact_response, problem_responses
from sojourn.ports.service import Approval
from sojourn.text.formatting import to_iso

router = APIRouter(prefix="/api", tags=["approvals"], responses=problem_responses(401))
ApprovalName = Annotated[str, Path(min_length=1, max_length=200, description="The id of an approval.")]


class ApprovalSchema(BaseModel):
    """What the owner allowed for longer than once."""

    id: str
    choice: Literal["session", "always"]
    tool: str
    scope: Literal["sandbox", "network", "outside"]
    covers: Literal["exact", "tool"] = Field(description="One exact text, or every call of the tool in its scope.")
    text: str = Field(description="The redacted beginning of what it covers exactly; empty for a whole tool.")
    by: str
    session_id: str | None = Field(description="The session of a `session` approval.")
    given_at: str


class ApprovalPage(BaseModel):
    """All of them, newest first."""

    approvals: list[ApprovalSchema]


class Revoked(BaseModel):
    """How many were revoked."""

    revoked: int


class Notices(BaseModel):
    """Sentences for the owner."""

    notices: list[str]


@router.get("/approvals", summary="What was allowed for longer than once")
async def list_approvals(service: ServiceDep, caller: CallerDep, form: ExactForm) -> ApprovalPage:
    found = await service.list_approvals(caller)
    if form:
        return exact_response({"approvals": list(found)}, ApprovalPage)
    return ApprovalPage(approvals=[_to_schema(one) for one in found])


@router.delete("/approvals/{id}", summary="Revoke an approval", responses=problem_responses(404))
async def revoke(id: ApprovalName, service: ServiceDep, caller: CallerDep, form: ExactForm) -> ApprovalSchema:
    """In force at once, in running turns too."""
    found = await service.revoke_approval(id, caller)
    return exact_response(found, ApprovalSchema) if form else _to_schema(found)


@router.delete("/approvals", summary="Revoke all approvals")
async def revoke_all(service: ServiceDep, caller: CallerDep) -> Revoked:
    found = await service.list_approvals(caller)
    for one in found:
        await service.revoke_approval(one.id, caller)
    return Revoked(revoked=len(found))


@router.post("/notices", summary="Take what the owner has to be told once")
async def take_notices(service: ServiceDep, caller: CallerDep) -> Notices:
    """Each notice is returned once, to whoever asks first: show it."""
    return Notices(notices=list(await service.take_notices(caller)))


def _to_schema(one: Approval) -> ApprovalSchema:
    return ApprovalSchema(
        id=one.id,
        choice=one.choice,
        tool=one.tool,
        scope=one.scope,
        covers=one.covers,
        text=one.text,
        by=one.by,
        session_id=one.session,
        given_at=to_iso(one.given_at) or "",
    )
