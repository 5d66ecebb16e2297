"""Plugin: what was said, for other agents, over the Model Context Protocol. Light to import: `mcp` loads the SDK."""

from __future__ import annotations

from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="mcp-server",
    summary="Gives other agents your sessions and your memory, over MCP.",
    commands=("sojourn.mcp_server.commands:mcp",),
)
