"""A plugin of somebody else, with one tool."""

from sojourn.ports.plugin import Plugin
from sojourn.ports.tool import Tool, Workspace
from sojourn.tool_schema import tool


@tool(effect="runs")
async def launch(at: Workspace) -> str:
    """Launches something."""
    return "gone"


def make(kit: object) -> list[Tool]:
    return [launch]


plugin = Plugin(name="stranger", summary="Launches.", tools=("tests.integration.tools.stranger:make",))
