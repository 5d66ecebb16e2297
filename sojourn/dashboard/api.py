"""What only the pages ask for, under `/api/plugins/dashboard/`."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from fastapi import Path as PathParam
from pydantic import BaseModel, ConfigDict, Field

from sojourn.dashboard.host import PluginHost
from sojourn.dashboard.import_job import ImportJobs, ImportState
from sojourn.dashboard.insights import Insights
from sojourn.dashboard.plugin_frames import Frames
from sojourn.dashboard.prompt_routes import add_prompt_routes
from sojourn.dashboard.push_routes import add_push_routes, build_push_lifespan
from sojourn.dashboard.setting_routes import add_setting_routes
from sojourn.dashboard.web_push import PushNotifier
from sojourn.dashboard_plugins.manifest import NEEDS
from sojourn.dashboard_plugins.state import PageState
from sojourn.ports.app import AppContext, PluginContext
from sojourn.sandbox.landlock import landlock_version

Name = Annotated[str, PathParam(min_length=1, max_length=64)]
_UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"description": "There is no such plugin."}}
_CHANGED: dict[int | str, dict[str, Any]] = {409: {"description": "It needs something else by now."}}
_NO_SOURCE: dict[int | str, dict[str, Any]] = {404: {"description": "There is no such history."}}
_BUSY: dict[int | str, dict[str, Any]] = {409: {"description": "An import runs already."}}


class ImportBody(BaseModel):
    """A history to bring in, as `/api/sources` names it."""

    model_config = ConfigDict(extra="forbid")
    source: str = Field(min_length=1, max_length=100)
    home: str = Field(min_length=1, max_length=4096)


class SampleCount(BaseModel):
    """How many sample sessions were added."""

    sessions: int


def router(app: AppContext) -> APIRouter:
    """The routes for the owner's pages."""
    notifier = PushNotifier(app)
    api = APIRouter(lifespan=build_push_lifespan(notifier))
    imports, insights = ImportJobs(app), Insights(app)
    add_push_routes(api, notifier)
    add_plugin_routes(api, app)
    add_setting_routes(api, app)
    add_prompt_routes(api, app)

    @api.get("/import")
    async def importing() -> ImportState:
        """How the import goes, or how the last one went."""
        return imports.state

    @api.post("/import", status_code=202, responses=_NO_SOURCE | _BUSY)
    async def bring(wanted: ImportBody) -> ImportState:
        """Begins to bring a history in. One at a time."""
        return await imports.begin(wanted.source, wanted.home)

    @api.post("/import/file", status_code=202, responses=_BUSY)
    async def bring_file(request: Request, name: Annotated[str, Query(min_length=1, max_length=255)]) -> ImportState:
        """Begins to bring in a file that another program exported; its bytes are the body."""
        return await imports.begin_file(app.settings.home / "imports", name, await request.body())

    @api.delete("/import")
    async def cancel() -> ImportState:
        """Cancels the import that runs. What is there already stays, and the next import goes on from there."""
        return imports.cancel()

    @api.post("/samples", status_code=201)
    async def samples() -> SampleCount:
        """A few sessions to look around in; those that are there already are not added again."""
        return SampleCount(sessions=await app.add_samples())

    @api.get("/insights")
    async def figures(
        days: Annotated[int, Query(ge=1, le=3660, description="How far back.")] = 365,
        year: Annotated[int | None, Query(ge=1970, le=9999, description="Instead: sessions begun in a year.")] = None,
    ) -> dict[str, Any]:
        """Usage and cost per day, model, source and project; what is not known is null, never 0."""
        return await insights.totals(days, year)

    @api.get("/tools")
    async def tools(sessions: Annotated[int, Query(ge=1, le=5000)] = 500) -> dict[str, Any]:
        """How often each tool worked, in the newest sessions."""
        return await insights.tool_results(sessions)

    return api


class Need(BaseModel):
    """Something a plugin asks for."""

    name: str
    meaning: str


class PagePlugin(BaseModel):
    """A plugin with a page."""

    name: str
    label: str
    description: str = ""
    icon: str = ""
    version: str = ""
    path: str = Field(default="", description="Where its page is.")
    position: str = Field(default="end", description="end, after:<page> or before:<page>.")
    built_in: bool
    state: str = Field(description="on, off, asks (needs more than was agreed to) or broken.")
    needs: list[Need] = []
    has_api: bool = False
    frame: str | None = Field(
        default=None, description="What its frame shows; only for one that is on and not built in."
    )
    confined: bool = Field(default=True, description="Whether this system can keep its program to what it needs.")
    problem: str = ""
    hint: str = ""


_MANIFEST_FIELDS = ("label", "description", "icon", "version", "path", "position")  # as they are in the manifest


class ConsentBody(BaseModel):
    """What the person was shown and agrees to."""

    model_config = ConfigDict(extra="forbid")
    needs: list[str] = Field(max_length=20)


def add_plugin_routes(api: APIRouter, app: PluginContext) -> None:
    """The routes under `/api/plugins/dashboard/plugins`."""
    host = app.shared(PluginHost)
    frames = Frames(host)

    @api.get("/plugins")
    async def plugins() -> list[PagePlugin]:
        """Every plugin with a page, whatever its state. The tabs of the application come from here."""
        return [_to_schema(one, host, frames) for one in await asyncio.to_thread(host.pages.list_pages)]

    @api.post("/plugins/{name}/enable", responses=_UNKNOWN | _CHANGED)
    async def enable(name: Name, agreed: ConsentBody) -> PagePlugin:
        """Turns it on, at once. `needs` must be what it declares, so that nobody agrees to what they did not see."""
        return _to_schema(host.pages.enable(name, agreed.needs), host, frames)

    @api.post("/plugins/{name}/disable", responses=_UNKNOWN)
    async def disable(name: Name) -> list[PagePlugin]:
        """Turns it off, at once: its program ends, its page and its routes are gone."""
        host.pages.disable(name)
        await host.settle()
        return await plugins()


def _to_schema(page: PageState, host: PluginHost, frames: Frames) -> PagePlugin:
    known = PagePlugin(
        name=page.name, label=page.name, built_in=page.built_in, state=page.state, problem=page.problem, hint=page.hint
    )
    manifest = page.manifest
    if manifest is None:
        return known
    known = known.model_copy(update={name: getattr(manifest, name) for name in _MANIFEST_FIELDS})
    known.needs = [Need(name=need, meaning=NEEDS[need]) for need in manifest.needs]
    known.has_api, known.confined = bool(manifest.api), landlock_version() > 0
    if page.state == "on" and not page.built_in:
        known.frame = frames.address(page.name)
        known.problem = page.problem or host.problem(page.name)
    return known
