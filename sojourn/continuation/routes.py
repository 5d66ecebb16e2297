"""`/api/plugins/continuation`: continue a session in another program, on the machine of the server."""

from __future__ import annotations

from pathlib import Path

from fastapi import APIRouter
from pydantic import BaseModel, Field

from sojourn.continuation.targets import TARGETS
from sojourn.continuation.writer import ContinuationPlan, ContinuationWriter
from sojourn.core.errors import NotFound
from sojourn.core.sessions import SessionId
from sojourn.ports.app import PluginContext

_MAX_PLANS = 20  # that wait for a yes


class ProgramBody(BaseModel):
    """A program in which a session can go on."""

    name: str
    label: str


class PlanRequest(BaseModel):
    """Where a session shall go on."""

    program: str
    folder: str = Field(default="", description="Where the program runs; empty: the session's own folder.")


class PlanBody(BaseModel):
    """What will be written."""

    id: str = Field(description="To be named when it is carried out.")
    program: str
    folder: str
    files: list[str] = Field(description="New files.")
    rows: int = Field(description="New rows in the program's database.")
    load: list[str] = Field(description="The program's own command that takes in what was written.")
    resume: list[str] = Field(description="The program's own command that resumes the session.")
    messages: int
    calls: int


class UndoneBody(BaseModel):
    """What was taken back."""

    program: str
    native_id: str


def router(app: PluginContext) -> APIRouter:
    """The routes. A plan is written exactly as it was shown."""
    api, writer = APIRouter(), ContinuationWriter(app)
    plans: dict[str, ContinuationPlan] = {}

    @api.get("/programs", summary="Programs to go on in")
    async def list_programs() -> list[ProgramBody]:
        """The programs in which a session can go on."""
        return [ProgramBody(name=one.name, label=one.label) for one in TARGETS.values()]

    @api.post("/sessions/{session}/plans", summary="What going on would write")
    async def plan(session: str, asked: PlanRequest) -> PlanBody:
        """Writes nothing yet."""
        found = await app.store.get(SessionId(session))
        plan = await writer.plan(found, asked.program, Path(asked.folder) if asked.folder else None)
        plans[plan.native.native_id] = plan
        while len(plans) > _MAX_PLANS:
            del plans[next(iter(plans))]
        return _to_body(plan)

    @api.post("/plans/{id}", summary="Write what was shown")
    async def carry_out(id: str) -> PlanBody:
        """Writes it, and returns how to resume it."""
        plan = plans.pop(id, None)
        if plan is None:
            raise NotFound("This plan is gone.", hint="Ask again what would be written.")
        await writer.write(plan)
        return _to_body(plan)

    @api.delete("/sessions/{session}", summary="Take back what was written")
    async def undo(session: str, program: str = "") -> UndoneBody:
        """Removes what was last written for a session, while the program has added nothing."""
        value = (await writer.undo(await app.store.get(SessionId(session)), program)).value
        return UndoneBody(program=value["program"], native_id=value["native_id"])

    return api


def _to_body(plan: ContinuationPlan) -> PlanBody:
    native = plan.native
    return PlanBody(
        id=native.native_id,
        program=plan.target.name,
        folder=native.folder,
        files=[str(path) for path in native.files] or [str(native.database)],
        rows=len(native.rows),
        load=list(native.load),
        resume=plan.resume,
        messages=plan.entries,
        calls=plan.calls,
    )
