"""`/mcp`: the MCP servers that are set up, the state of each, and its tools."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from sojourn.chat_command_table import CommandOutput
from sojourn.core.sessions import SessionId
from sojourn.lazy import Lazy
from sojourn.ports.app import PluginContext
from sojourn.ports.service import Caller
from sojourn.text.formatting import pluralize
from sojourn.turn_support.lasting_approvals import require_owner

if TYPE_CHECKING:  # loads the MCP client
    from collections.abc import Callable

    from sojourn.tools.mcp.server_setup import ServerInfo, list_servers

    _typed = (list_servers,)

LIST: Lazy[Callable[[PluginContext], list[ServerInfo]]] = Lazy("sojourn.tools.mcp.server_setup:list_servers")

_HOW_TO = (
    "Add one in the dashboard under Settings → Tools & agents, or as [plugins.mcp.servers.NAME] with `command` or"
    " `url` in config.toml."
)


async def run_mcp(app: PluginContext, session: SessionId | None, arguments: str, by: Caller) -> CommandOutput:
    """Starts no server."""
    require_owner(by)
    if not app.configured("mcp").servers:
        return CommandOutput(lines=("No MCP server is set up.", _HOW_TO))
    found = await asyncio.to_thread(lambda: app.load(LIST)(app))
    return CommandOutput(rows=tuple(map(_to_row, found)))


def _to_row(one: ServerInfo) -> tuple[str, str, str]:
    if one.problem:
        return "✗", one.name, f"{one.problem} {one.hint}".strip()
    if one.tools is None:
        return "○", one.name, "not asked yet; it is started with the next turn"
    return "✓", one.name, f"{pluralize(len(one.tools), 'tool')}: {', '.join(one.tools)}" if one.tools else "no tools"
