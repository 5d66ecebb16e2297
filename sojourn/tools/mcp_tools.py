"""The tools of the MCP servers that are configured. The client library is loaded only when there are some."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, cast

from sojourn.ports.app import AppContext
from sojourn.ports.tool import Tool
from sojourn.tools.calling import guard


class _Hub(Protocol):
    def tools(self) -> Sequence[Tool]: ...


def make(kit: AppContext) -> list[Tool]:
    """Each safe to call."""
    if not kit.configured("mcp").servers:
        return []
    hub = kit.shared(cast(type[_Hub], kit.load("sojourn.tools.mcp_hub:McpHub")))
    return [guard(kit, tool) for tool in hub.tools()]
