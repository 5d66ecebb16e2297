"""The tool `terminal`: runs one command line to its end."""

from __future__ import annotations

from collections.abc import Mapping

from sojourn.core.errors import BadInput
from sojourn.core.messages import Json
from sojourn.ports.app import HasSettings
from sojourn.ports.tool import Question, Tool, ToolResult, Workspace
from sojourn.tool_schema import tool
from sojourn.tools.danger import FIND_DANGERS
from sojourn.tools.run_command import run_command, shell_argv, working_folder


def ask_about_command(command: str, verb: str = "Run") -> Question:
    """The question before a command line; dangerous when one of the known dangers is in it."""
    reasons = FIND_DANGERS.load()(command)
    why = f" It {'; it '.join(reasons)}." if reasons else ""
    return Question(id="", text=f"{verb} this command?{why}", detail=command, dangerous=bool(reasons))


def terminal_tool(kit: HasSettings) -> Tool:
    def asks(_: Workspace, given: Mapping[str, Json]) -> Question | None:
        return ask_about_command(given["command"])

    @tool(effect="runs", asks=asks)
    async def terminal(at: Workspace, command: str, cwd: str = "", timeout: int = 0) -> ToolResult:
        """Runs a command line in a shell and waits for its end. It has no input and no screen; what it leaves
        running is ended. For servers and other things that keep running use the process tool.

        command: the command line
        cwd: the folder to start in, from the workspace
        timeout: seconds it may take, at most the limit of the settings
        """
        if not command.strip():
            raise BadInput("The command is empty.", hint="Give a command line.")
        seconds = min(timeout, at.seconds) if timeout > 0 else at.seconds
        folder = working_folder(at, cwd, kit.settings)
        return await run_command(shell_argv(command), at, cwd=folder, settings=kit.settings, seconds=seconds)

    return terminal
