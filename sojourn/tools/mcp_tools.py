"""The tools of the MCP servers that are configured. The client library is loaded only when there are some."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sojourn.lazy import Lazy
from sojourn.ports.app import PluginContext
from sojourn.ports.tool import Tool
from sojourn.tools.calling import guard

if TYPE_CHECKING:
    from sojourn.tools.mcp_hub import McpHub

_HUB: Lazy[type[McpHub]] = Lazy("sojourn.tools.mcp_hub:McpHub")  # the MCP client library: an extra


def make(kit: PluginContext) -> list[Tool]:
    """Each safe to call."""
    if not kit.configured("mcp").servers:
        return []
    hub = kit.shared(kit.load(_HUB))
    return [guard(kit, tool) for tool in hub.tools()]
