"""What only the pages ask for, under `/api/plugins/dashboard/`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field

from sojourn.core.settings import SETTINGS, Secret
from sojourn.dashboard.import_job import ImportJobs, ImportState
from sojourn.dashboard.insights import Insights
from sojourn.dashboard.plugin_list import add_plugin_routes
from sojourn.ports.app import AppContext

_NO_SOURCE: dict[int | str, dict[str, Any]] = {404: {"description": "There is no such history."}}
_BUSY: dict[int | str, dict[str, Any]] = {409: {"description": "An import runs already."}}


class SettingSchema(BaseModel):
    """A setting as it is in force."""

    name: str
    value: str | float | bool | None
    origin: str = Field(description="default, file, environment or flag.")
    variable: str
    meaning: str


class ImportBody(BaseModel):
    """A history to bring in, as `/api/sources` names it."""

    model_config = ConfigDict(extra="forbid")
    source: str = Field(min_length=1, max_length=100)
    home: str = Field(min_length=1, max_length=4096)


class SampleCount(BaseModel):
    """How many sample sessions were added."""

    sessions: int


def router(kit: AppContext) -> APIRouter:
    """The routes for the owner's pages."""
    api = APIRouter()
    imports, insights = ImportJobs(kit), Insights(kit)
    add_plugin_routes(api, kit)

    @api.get("/settings")
    async def settings() -> list[SettingSchema]:
        """Every setting, its value and where it came from. Secrets stay secret."""
        return [
            SettingSchema(
                name=one.name,
                value=_to_setting_value(kit.settings[one.name]),
                origin=kit.settings.origins[one.name],
                variable=one.variable,
                meaning=one.meaning,
            )
            for one in SETTINGS
        ]

    @api.get("/import")
    async def importing() -> ImportState:
        """How the import goes, or how the last one went."""
        return imports.state()

    @api.post("/import", status_code=202, responses=_NO_SOURCE | _BUSY)
    async def bring(wanted: ImportBody) -> ImportState:
        """Begins to bring a history in. One at a time."""
        return await imports.begin(wanted.source, wanted.home)

    @api.post("/samples", status_code=201)
    async def samples() -> SampleCount:
        """A few sessions to look around in; those that are there already are not added again."""
        return SampleCount(sessions=await kit.add_samples())

    @api.get("/insights")
    async def figures(days: Annotated[int, Query(ge=1, le=3660, description="How far back.")] = 365) -> dict[str, Any]:
        """Usage and cost per day, model, source and project; what is not known is null, never 0."""
        return await insights.figures(days)

    @api.get("/tools")
    async def tools(sessions: Annotated[int, Query(ge=1, le=5000)] = 500) -> dict[str, Any]:
        """How often each tool worked, in the newest sessions."""
        return await insights.tools(sessions)

    return api


def _to_setting_value(value: Any) -> str | float | bool | None:
    return str(value) if isinstance(value, (Secret, Path)) else value
