"""All tools of this installation, each safe to call."""

from __future__ import annotations

from collections.abc import Callable

from sojourn.ports.app import AgentContext, Shared
from sojourn.ports.tool import Tool
from sojourn.tools.calling import guard
from sojourn.tools.code import execute_code_tool
from sojourn.tools.delegate import delegate_task_tool
from sojourn.tools.files import read_file_tool, write_file_tool
from sojourn.tools.giving import send_file_tool
from sojourn.tools.memory import memory_tool
from sojourn.tools.patch import patch_tool
from sojourn.tools.processes import process_tool
from sojourn.tools.recall import session_search_tool
from sojourn.tools.searching import search_files_tool
from sojourn.tools.skills import skill_view_tool, skills_list_tool
from sojourn.tools.terminal import terminal_tool
from sojourn.tools.todo import todo_tool
from sojourn.tools.web import web_fetch_tool

MAKERS: tuple[Callable[[AgentContext], Tool], ...] = (
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
    memory_tool,
    todo_tool,
    skills_list_tool,
    skill_view_tool,
    delegate_task_tool,
)


class Ours:
    """The tools of one kit, made once; they share what they remember."""

    def __init__(self, kit: AgentContext) -> None:
        self.tools = tuple(guard(kit, maker(kit)) for maker in MAKERS)


def make(kit: Shared) -> list[Tool]:
    """The same each time."""
    return list(kit.shared(Ours).tools)
