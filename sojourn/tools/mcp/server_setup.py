"""Set-up of MCP servers: described without their secrets, tried, added to config.toml and removed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.core.errors import BadConfig, BadInput, NotFound, SojournError
from sojourn.ports.app import PluginContext
from sojourn.settings.config_file import change_file, remove_table, set_table
from sojourn.tools.mcp.hub import McpHub
from sojourn.tools.mcp.server import McpConnection, McpServer, parse_server, require_distinct_name

_SERVERS = ("plugins", "mcp", "servers")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerInfo:
    """A configured server. Values of variables and headers are never told."""

    name: str
    command: str = ""
    args: tuple[str, ...] = ()
    url: str = ""
    variables: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    trusted: bool = False
    network: bool = False
    sandbox: bool = True
    tools: tuple[str, ...] | None = None  # None: it was not asked yet
    problem: str = ""
    hint: str = ""


def list_servers(app: PluginContext) -> list[ServerInfo]:
    """Every configured server, and why one cannot be used. Starts none."""
    settings = app.configured("mcp")
    if not settings.servers:
        return []
    hub = app.shared(McpHub)
    hub.follow_settings()
    return [_describe(hub, name, table, settings.seconds) for name, table in settings.servers.items()]


def _describe(hub: McpHub, name: str, table: Any, seconds: float) -> ServerInfo:
    problem = hub.problems.get(name)
    try:
        server = parse_server(name, table, seconds)
    except BadConfig as error:
        return ServerInfo(name=name, problem=str(error), hint=error.hint)
    tools = hub.list_tool_names(name)
    return ServerInfo(
        name=name,
        command=server.command,
        args=server.args,
        url=server.url,
        variables=tuple(server.env),
        headers=tuple(server.headers),
        trusted=server.trusted,
        network=server.network,
        sandbox=server.sandbox,
        tools=None if tools is None else tuple(tools),
        problem=str(problem) if problem else "",
        hint=problem.hint if problem else "",
    )


async def try_server(app: PluginContext, name: str, table: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Starts a server, asks what it offers and ends it; `table`: not the configured one. BadInput, PlatformDown."""
    settings = app.configured("mcp")
    given = settings.servers.get(name) if table is None else table
    if given is None:
        raise NotFound(f'There is no MCP server "{name}".', hint="Add it first.")
    connection = McpConnection(_parse(name, given, settings.seconds), app.settings)
    try:
        return tuple(str(one["name"]) for one in await connection.tools())
    finally:
        await connection.close()


def _parse(name: str, table: Any, seconds: float) -> McpServer:
    try:
        return parse_server(name, table, seconds)
    except (BadConfig, ValueError, TypeError) as error:
        hint = error.hint if isinstance(error, SojournError) else "Look at the table of settings."
        raise BadInput(str(error), hint=hint) from error


async def save_server(app: PluginContext, name: str, table: Mapping[str, Any]) -> tuple[str, ...]:
    """Tries a server and keeps it if it works; its tools are there with the next turn. BadInput, PlatformDown."""
    try:
        require_distinct_name(name, app.configured("mcp").servers)
    except BadConfig as error:
        raise BadInput(str(error), hint=error.hint) from error
    tools = await try_server(app, name, table)
    await asyncio.to_thread(
        change_file, app.settings.home, lambda document: set_table(document, [*_SERVERS, name], table)
    )
    return tools


def remove_server(app: PluginContext, name: str) -> None:
    """Takes a server out of config.toml and ends it. NotFound."""
    if name not in app.configured("mcp").servers:
        raise NotFound(f'There is no MCP server "{name}".', hint="`GET servers` lists them.")
    change_file(app.settings.home, lambda document: remove_table(document, [*_SERVERS, name]))
    app.shared(McpHub).follow_settings()
