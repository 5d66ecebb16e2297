"""Registry of the built-in tools, each guarded."""

from __future__ import annotations

from collections.abc import Callable

from sojourn.ports.app import AgentContext, PluginContext, Shared
from sojourn.ports.tool import Tool
from sojourn.tools.background_processes import process_tool
from sojourn.tools.delegate import delegate_task_tool
from sojourn.tools.files import read_file_tool, send_file_tool, write_file_tool
from sojourn.tools.guard import guard
from sojourn.tools.lazy_parts import MCP_HUB
from sojourn.tools.memory import memory_tool
from sojourn.tools.patch import patch_tool
from sojourn.tools.search_files import search_files_tool
from sojourn.tools.sessions import session_list_tool, session_search_tool
from sojourn.tools.skills import skill_view_tool, skills_list_tool
from sojourn.tools.terminal import execute_code_tool, terminal_tool
from sojourn.tools.todo import todo_tool
from sojourn.tools.web import web_fetch_tool
from sojourn.tools.web_search import web_search_tool

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
    web_search_tool,
    session_search_tool,
    session_list_tool,
    memory_tool,
    todo_tool,
    skills_list_tool,
    skill_view_tool,
    delegate_task_tool,
)


class ToolSet:
    """The tools of one application, built once, so that they share their state."""

    def __init__(self, app: AgentContext) -> None:
        self.tools = tuple(guard(app, build(app)) for build in FACTORIES)


def build_tools(app: Shared) -> list[Tool]:
    """Returns the built-in tools; the same objects each time."""
    return list(app.shared(ToolSet).tools)


def build_mcp_tools(app: PluginContext) -> list[Tool]:
    """Builds the tools of the configured MCP servers; loads the client library only when there are some."""
    if not app.configured("mcp").servers:
        return []
    hub = app.shared(app.load(MCP_HUB))
    return [guard(app, tool) for tool in hub.tools()]
