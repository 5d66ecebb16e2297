"""Plugin of the tools of MCP servers: [plugins.mcp.servers.<name>] in config.toml."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sojourn.ports.plugin import Plugin


@dataclass(frozen=True, slots=True, kw_only=True)
class McpSettings:
    """`servers` by name; each has `command`, `args`, `env`, `cwd`, or `url` and `headers`; and `trusted`."""

    servers: Mapping[str, Any] = field(default_factory=dict)
    seconds: float = 20.0  # how long a server may take to start and say what it offers


plugin = Plugin(
    name="mcp",
    summary="The tools of MCP servers, as mcp_<server>_<tool>.",
    tools=("sojourn.tools.registry:build_mcp_tools",),
    routes=("sojourn.tools.mcp.routes:router",),
    chat_commands={"mcp": "sojourn.tools.mcp.mcp_command:run_mcp"},
    settings=McpSettings,
)
