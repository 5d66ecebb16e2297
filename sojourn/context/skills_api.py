"""HTTP routes under `/api/plugins/skills/`."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, ConfigDict, Field
from starlette.concurrency import run_in_threadpool

from sojourn.context.skills import SkillIndex
from sojourn.context.skills_commands import MAX_RANKED, ranking_to_json, skill_to_json
from sojourn.ports.app import PluginContext
from sojourn.skill_files import delete_own_skill, save_own_skill

SkillName = Annotated[str, Path(pattern=r"^[a-z0-9][a-z0-9-]{0,63}$", description="Small letters, digits and -.")]
_REFUSED: dict[int | str, dict[str, Any]] = {400: {"description": "It is refused; `detail` says why."}}
_UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"description": "There is no such skill."}}


class SkillShape(BaseModel):
    """A skill, or a SKILL.md that cannot be used and the problem with it."""

    name: str
    description: str
    path: str
    problem: str


class WholeSkill(SkillShape):
    """A skill with its instructions."""

    body: str


class RankedShape(BaseModel):
    """A skill a request would bring up, and why."""

    name: str
    description: str
    score: float
    nearness: float
    words: list[str]
    reason: str


class SkillBody(BaseModel):
    """A skill to keep: when it is of use, and what to do."""

    model_config = ConfigDict(extra="forbid")
    description: str = Field(min_length=1, max_length=1024)
    body: str = Field(min_length=1, max_length=200_000)


def router(app: PluginContext) -> APIRouter:
    """The routes for the skills of this installation."""
    api = APIRouter()

    @api.get("/skills")
    async def list_skills() -> list[SkillShape]:
        """Every skill, and every SKILL.md that cannot be used."""
        entries = await run_in_threadpool(app.shared(SkillIndex).list_all)
        return [SkillShape(**skill_to_json(one)) for one in entries]

    @api.get("/skills/{name}", responses=_UNKNOWN)
    async def view_skill(name: Annotated[str, Path(min_length=1, max_length=64)]) -> WholeSkill:
        """One skill in full."""
        one = await run_in_threadpool(app.shared(SkillIndex).get, name)
        return WholeSkill(**skill_to_json(one), body=one.body)

    @api.put("/skills/{name}", responses=_REFUSED)
    async def save_skill(name: SkillName, body: SkillBody) -> WholeSkill:
        """Adds or changes a skill of the folder `skills` in the home."""
        one = await run_in_threadpool(save_own_skill, app.settings, name, body.description, body.body)
        app.shared(SkillIndex).clear()
        return WholeSkill(**skill_to_json(one), body=one.body)

    @api.delete("/skills/{name}", status_code=204, responses=_UNKNOWN | _REFUSED)
    async def delete_skill(name: SkillName) -> None:
        """Deletes the SKILL.md of a skill of the folder `skills` in the home; what else is there stays."""
        await run_in_threadpool(delete_own_skill, app.settings, name)
        app.shared(SkillIndex).clear()

    @api.get("/why")
    async def why(request: Annotated[str, Query(min_length=1, max_length=4000)]) -> list[RankedShape]:
        """Which skills a request would bring up, best first."""
        ranked = await run_in_threadpool(app.shared(SkillIndex).rank, request)
        return [RankedShape(**ranking_to_json(one)) for one in ranked[:MAX_RANKED]]

    return api
