"""Which plugins have a page, for the application; and the switches that turn them on and off."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter
from fastapi import Path as InPath
from pydantic import BaseModel, ConfigDict, Field

from sojourn.dashboard.host import PluginHost
from sojourn.dashboard.plugin_frames import Frames
from sojourn.dashboard.plugin_state import Listed, turn_off, turn_on
from sojourn.ports.app import PluginContext
from sojourn.ports.pages import NEEDS
from sojourn.sandbox import landlock_version

Name = Annotated[str, InPath(min_length=1, max_length=64)]
_UNKNOWN: dict[int | str, dict[str, Any]] = {404: {"description": "There is no such plugin."}}
_CHANGED: dict[int | str, dict[str, Any]] = {409: {"description": "It needs something else by now."}}


class Need(BaseModel):
    """Something a plugin asks for."""

    name: str
    meaning: str


class PageShape(BaseModel):
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


class Agreed(BaseModel):
    """What the person was shown and agrees to."""

    model_config = ConfigDict(extra="forbid")
    needs: list[str] = Field(max_length=20)


def add_switches(api: APIRouter, kit: PluginContext) -> None:
    """The routes under `/api/plugins/dashboard/plugins`."""
    host = kit.shared(PluginHost)
    frames = Frames(host)

    @api.get("/plugins")
    async def plugins() -> list[PageShape]:
        """Every plugin with a page, whatever its state. The tabs of the application come from here."""
        return [_shape(one, host, frames) for one in await asyncio.to_thread(host.listed)]

    @api.post("/plugins/{name}/enable", responses=_UNKNOWN | _CHANGED)
    async def enable(name: Name, agreed: Agreed) -> PageShape:
        """Turns it on, at once. `needs` must be what it declares, so that nobody agrees to what they did not see."""
        return _shape(turn_on(kit, name, agreed.needs), host, frames)

    @api.post("/plugins/{name}/disable", responses=_UNKNOWN)
    async def disable(name: Name) -> list[PageShape]:
        """Turns it off, at once: its program ends, its page and its routes are gone."""
        turn_off(kit, name)
        await host.settle()
        return await plugins()


def _shape(one: Listed, host: PluginHost, frames: Frames) -> PageShape:
    made = one.manifest
    if made is None:
        return PageShape(
            name=one.name, label=one.name, built_in=one.built_in, state=one.state, problem=one.problem, hint=one.hint
        )
    framed = one.state == "on" and not one.built_in
    return PageShape(
        name=one.name,
        label=made.label,
        description=made.description,
        icon=made.icon,
        version=made.version,
        path=made.path,
        position=made.position,
        built_in=one.built_in,
        state=one.state,
        has_api=bool(made.api),
        needs=[Need(name=need, meaning=NEEDS[need]) for need in made.needs],
        frame=frames.address(one.name) if framed else None,
        confined=landlock_version() > 0,
        problem=one.problem or (host.problem(one.name) if framed else ""),
        hint=one.hint,
    )
