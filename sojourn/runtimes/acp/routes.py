"""The ACP agent over HTTP, under `/api/plugins/acp/`: which one, try it, change it, take it away."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Annotated, Any

from fastapi import APIRouter
from pydantic import BaseModel, ConfigDict, Field

from sojourn.core.errors import BadConfig, BadInput
from sojourn.ports.app import AppContext
from sojourn.runtimes.acp import PLUGIN, AcpSettings
from sojourn.runtimes.acp.agent import AcpAgent, split_command
from sojourn.runtimes.acp.runtime import AcpRuntime
from sojourn.settings.config_file import change_file, remove_plugin_table, remove_value, set_value
from sojourn.turn_support.workspace_folders import make_workspace

Command = Annotated[
    str, Field(min_length=1, max_length=2000, description="`hermes acp`, `gemini --experimental-acp` …")
]
_REFUSED: dict[int | str, dict[str, Any]] = {
    400: {"description": "It is refused; `detail` says why. Nothing was changed."},
    503: {"description": "The agent does not start; `detail` says why. Nothing was changed."},
}


class AgentSchema(BaseModel):
    """The agent that is set up. Of its command only the program is told: the rest may hold a key."""

    program: str
    name: str
    ok: bool = Field(description="Whether it could be started.")
    detail: str
    hint: str


class AgentBody(BaseModel):
    """An agent that speaks the Agent Client Protocol."""

    model_config = ConfigDict(extra="forbid")
    command: Command
    name: str = Field(default="", max_length=100, description="What it is called on screen; else what it calls itself.")


class Introduction(BaseModel):
    """What an agent says about itself."""

    name: str
    version: str


def router(app: AppContext) -> APIRouter:
    """The routes for the owner's pages."""
    api = APIRouter()

    @api.get("/agent", summary="The ACP agent that is set up")
    async def agent() -> AgentSchema:
        return await _describe(app)

    @api.put("/agent", summary="Set up an ACP agent", responses=_REFUSED)
    async def save(body: AgentBody) -> AgentSchema:
        """Starts it once, and keeps it if it introduces itself; the next turn of the runtime `acp` uses it."""
        await _introduce(app, _to_settings(app, body))

        def change(document: Any) -> None:
            set_value(document, f"plugins.{PLUGIN}.command", body.command)
            if body.name:
                set_value(document, f"plugins.{PLUGIN}.name", body.name)
            else:
                remove_value(document, f"plugins.{PLUGIN}.name")

        await asyncio.to_thread(change_file, app.settings.home, change)
        return await _describe(app)

    @api.post("/agent/test", summary="Try an ACP agent", responses=_REFUSED)
    async def test(body: AgentBody | None = None) -> Introduction:
        """The one that is set up, or the one in the body, which is not kept."""
        return await _introduce(app, _to_settings(app, body))

    @api.delete("/agent", status_code=204, summary="Take the ACP agent away")
    async def remove() -> None:
        """Only that one: others under `agents` stay."""
        known: AcpSettings = app.configured(PLUGIN)

        def change(document: Any) -> None:
            if not known.agents:
                return remove_plugin_table(document, PLUGIN)
            for name in ("command", "name"):
                remove_value(document, f"plugins.{PLUGIN}.{name}")

        await asyncio.to_thread(change_file, app.settings.home, change)

    return api


def _to_settings(app: AppContext, body: AgentBody | None) -> AcpSettings:
    known: AcpSettings = app.configured(PLUGIN)
    settings = known if body is None else replace(known, command=body.command, name=body.name)
    try:
        split_command(settings.command)
    except BadConfig as error:
        raise BadInput(str(error), hint=error.hint) from error
    return settings


async def _introduce(app: AppContext, settings: AcpSettings) -> Introduction:
    """Starts the agent, hears who it is and ends it."""
    started = await AcpAgent.start(settings, make_workspace(app.settings), dict(app.settings.for_children) or None)
    try:
        return Introduction(name=started.name, version=started.version)
    finally:
        await started.close()


async def _describe(app: AppContext) -> AgentSchema:
    settings: AcpSettings = app.configured(PLUGIN)
    status = await AcpRuntime(settings, dict(app.settings.for_children) or None).ready()
    try:
        program = split_command(settings.command)[0]
    except BadConfig:
        program = ""
    return AgentSchema(program=program, name=settings.name, ok=status.ok, detail=status.detail, hint=status.hint)
