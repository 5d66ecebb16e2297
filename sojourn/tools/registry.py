"""Registry of the built-in tools, each guarded."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from sojourn.lazy import Lazy
from sojourn.ports.app import AgentContext, PluginContext, Shared
from sojourn.ports.tool import Tool
from sojourn.tools.background_processes import process_tool
from sojourn.tools.code import execute_code_tool
from sojourn.tools.delegate import delegate_task_tool
from sojourn.tools.files import read_file_tool, write_file_tool
from sojourn.tools.guard import guard
from sojourn.tools.memory import memory_tool
from sojourn.tools.patch import patch_tool
from sojourn.tools.search_files import search_files_tool
from sojourn.tools.send_file import send_file_tool
from sojourn.tools.session_list import session_list_tool
from sojourn.tools.session_search import session_search_tool
from sojourn.tools.skills import skill_view_tool, skills_list_tool
from sojourn.tools.terminal import terminal_tool
from sojourn.tools.todo import todo_tool
from sojourn.tools.web import web_fetch_tool

if TYPE_CHECKING:
    from sojourn.tools.mcp.hub import McpHub

MCP_HUB: Lazy[type[McpHub]] = Lazy("sojourn.tools.mcp.hub:McpHub")  # loads the MCP client library
FACTORIES: tuple[Callable[[AgentContext], Tool], ...] = (
    terminal_tool,
    process_tool,
    execute_code_tool,
    read_file_tool,
    write_file_tool,
    patch_tool,
    search_files_tool,
    send_file_tool,
    web_fetch_tool,
    session_search_tool,
    session_list_tool,
    memory_tool,
    todo_tool,
    skills_list_tool,
    skill_view_tool,
    delegate_task_tool,
)


class ToolSet:
    """The tools of one kit, built once, so that they share their state."""

    def __init__(self, kit: AgentContext) -> None:
        self.tools = tuple(guard(kit, build(kit)) for build in FACTORIES)


def build_tools(kit: Shared) -> list[Tool]:
    """The built-in tools; the same objects each time."""
    return list(kit.shared(ToolSet).tools)


def build_mcp_tools(kit: PluginContext) -> list[Tool]:
    """The tools of the configured MCP servers. The client library is loaded only when there are some."""
    if not kit.configured("mcp").servers:
        return []
    hub = kit.shared(kit.load(MCP_HUB))
    return [guard(kit, tool) for tool in hub.tools()]
