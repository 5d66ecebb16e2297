"""`/tools`: the tools that the agent may use in a session."""

from __future__ import annotations

import asyncio

from sojourn.chat_command_table import CommandOutput
from sojourn.core.sessions import SessionId
from sojourn.ports.app import AgentContext
from sojourn.ports.service import Caller
from sojourn.text.formatting import one_line

_DESCRIPTION_CHARS = 100
_OTHERS = "Agents that bring tools of their own, such as Hermes, use those instead."


async def run_tools(app: AgentContext, session: SessionId, arguments: str, by: Caller) -> CommandOutput:
    """Name, effect and purpose of each; of a guest's session those that guests may use."""
    principal = (await app.store.get(session)).principal
    found = await asyncio.to_thread(app.tools)  # it may wait for MCP servers
    rows = [
        (one.name, one.effect, one_line(one.description, _DESCRIPTION_CHARS))
        for one in found
        if one.for_whom(principal)
    ]
    return CommandOutput(rows=tuple(rows), lines=(_OTHERS if rows else "The agent has no tools here.",))
