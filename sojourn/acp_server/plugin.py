"""Plugin: Sojourn as an agent of Zed and other editors, over the Agent Client Protocol."""

from __future__ import annotations

from sojourn.ports.plugin import Plugin

plugin = Plugin(
    name="acp-server",
    summary="Makes Sojourn an agent of Zed and other editors, over the Agent Client Protocol.",
    commands=("sojourn.acp_server.commands:acp",),
)
