"""MCP servers over HTTP, under `/api/plugins/mcp/`: listed, tried, added, removed. Their secrets are never told."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated, Any

from fastapi import APIRouter, Path
from pydantic import BaseModel, ConfigDict, Field

from sojourn.lazy import Lazy
from sojourn.ports.app import AppContext

if TYPE_CHECKING:  # loads the MCP client
    from collections.abc import Awaitable, Callable

    from sojourn.tools.mcp.server_setup import ServerInfo, list_servers, remove_server, save_server, try_server

    _typed = (list_servers, remove_server, save_server, try_server)

LIST: Lazy[Callable[[AppContext], list[ServerInfo]]] = Lazy("sojourn.tools.mcp.server_setup:list_servers")
TRY: Lazy[Callable[..., Awaitable[tuple[str, ...]]]] = Lazy("sojourn.tools.mcp.server_setup:try_server")
SAVE: Lazy[Callable[..., Awaitable[tuple[str, ...]]]] = Lazy("sojourn.tools.mcp.server_setup:save_server")
REMOVE: Lazy[Callable[[AppContext, str], None]] = Lazy("sojourn.tools.mcp.server_setup:remove_server")
Name = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,40}$")]
Text = Annotated[str, Field(max_length=4096)]
_REFUSED: dict[int | str, dict[str, Any]] = {
    400: {"description": "It is refused; `detail` says why. Nothing was changed."},
    503: {"description": "The server does not start or answer; `detail` says why. Nothing was changed."},
}


class ServerSchema(BaseModel):
    """A configured server; of variables and headers only the names."""

    model_config = ConfigDict(from_attributes=True)
    name: str
    command: str
    args: list[str]
    url: str
    variables: list[str]
    headers: list[str]
    trusted: bool
    network: bool
    sandbox: bool
    tools: list[str] | None = Field(description="What it offers; null: it was not asked yet.")
    problem: str
    hint: str


class ServerBody(BaseModel):
    """A server: a program with its arguments, or an address."""

    model_config = ConfigDict(extra="forbid")
    command: Text = ""
    args: list[Text] = Field(default=[], max_length=100)
    env: dict[str, Text] = Field(default={}, max_length=100)
    cwd: Text = ""
    url: Text = ""
    headers: dict[str, Text] = Field(default={}, max_length=100)
    trusted: bool = Field(default=False, description="Its word is taken for which tools only read.")
    network: bool = Field(default=False, description="The program may reach the network.")
    read: list[Text] = Field(default=[], max_length=100, description="Folders it may read.")
    write: list[Text] = Field(default=[], max_length=100, description="Folders it may change.")

    def to_table(self) -> dict[str, Any]:
        return self.model_dump(exclude_defaults=True)


class OfferedTools(BaseModel):
    """What a server offers."""

    tools: list[str]


def router(app: AppContext) -> APIRouter:
    """The routes for the owner's pages."""
    api = APIRouter()

    @api.get("/servers", summary="MCP servers")
    async def servers() -> list[ServerSchema]:
        """Those of config.toml, and why one cannot be used. Starts none."""
        if not app.configured("mcp").servers:
            return []
        found = await asyncio.to_thread(lambda: app.load(LIST)(app))
        return [ServerSchema.model_validate(one) for one in found]

    @api.put("/servers/{name}", summary="Add an MCP server", responses=_REFUSED)
    async def save(name: Name, body: ServerBody) -> OfferedTools:
        """Starts it, asks what it offers, and keeps it if it answers; its tools are there with the next turn."""
        run = await asyncio.to_thread(app.load, SAVE)
        return OfferedTools(tools=list(await run(app, name, body.to_table())))

    @api.post("/servers/{name}/test", summary="Try an MCP server", responses=_REFUSED)
    async def test(name: Name, body: ServerBody | None = None) -> OfferedTools:
        """The configured one, or the one in the body, which is not kept."""
        run = await asyncio.to_thread(app.load, TRY)
        return OfferedTools(tools=list(await run(app, name, body.to_table() if body else None)))

    @api.delete("/servers/{name}", status_code=204, summary="Remove an MCP server", responses=_REFUSED)
    async def remove(name: Name) -> None:
        await asyncio.to_thread(lambda: app.load(REMOVE)(app, name))

    return api
