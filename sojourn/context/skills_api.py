"""HTTP routes under `/api/plugins/skills/`."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel
from starlette.concurrency import run_in_threadpool

from sojourn.context.skills import SkillIndex
from sojourn.context.skills_commands import MAX_RANKED, ranking_to_json, skill_to_json
from sojourn.ports.app import Shared

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


def router(app: Shared) -> APIRouter:
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

    @api.get("/why")
    async def why(request: Annotated[str, Query(min_length=1, max_length=4000)]) -> list[RankedShape]:
        """Which skills a request would bring up, best first."""
        ranked = await run_in_threadpool(app.shared(SkillIndex).rank, request)
        return [RankedShape(**ranking_to_json(one)) for one in ranked[:MAX_RANKED]]

    return api
