"""Every call of a tool passes here, whoever made the tool and whichever runtime calls it.

    who    guests get what is harmless and what `tools.guest_tools` names
    what   the arguments are checked against the tool's schema
    may I  what writes or runs asks first, what is dangerous asks always        (approvals.py)
    limit  `Workspace.seconds`; a tool that is cancelled ends what it started
    clean  secrets blacked out, long results cut and kept whole elsewhere       (results.py)

Whatever goes wrong becomes a ToolResult the model can act on; only cancellation passes through.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Mapping
from dataclasses import replace

from sojourn.core.arguments import check
from sojourn.core.errors import BadInput, NotAllowed, SojournError
from sojourn.core.messages import Json
from sojourn.ports.app import PluginContext
from sojourn.ports.tool import Question, Tool, ToolResult, Workspace
from sojourn.tools.approvals import Approvals
from sojourn.tools.results import fitted

logger = logging.getLogger(__name__)
GRACE = 5.0  # seconds a tool has beyond the limit to tidy up and say what it has
LONGER = {"delegate_task": "tools.delegate_seconds"}  # tools with a limit of their own


def guard(kit: PluginContext, tool: Tool) -> Tool:
    """The same tool, safe to call: `tool.run` asks, limits and redacts. One that is safe already stays as it is."""
    if isinstance(tool.run, Call):
        return tool
    named = {one.strip() for one in str(kit.settings["tools.guest_tools"]).split(",")}
    return replace(tool, run=Call(kit, tool), asks=None, guests=tool.guests or tool.name in named)


class Call:
    """`run` of a guarded tool."""

    def __init__(self, kit: PluginContext, tool: Tool) -> None:
        self._kit, self._tool = kit, tool

    async def __call__(self, at: Workspace, given: Mapping[str, Json]) -> ToolResult:
        started = time.monotonic()
        try:
            result = await self._allowed(at, given)
        except SojournError as error:
            result = failed(f"{error} {error.hint}".strip(), error=error.code)
        except OSError as error:
            where = f" {error.filename}" if error.filename else ""
            result = failed(f"{self._tool.name} failed:{where} {error.strerror or error}.", error="os_error")
        except Exception as error:  # the edge of a turn: a stranger's tool may raise anything
            logger.exception("tool %s failed in session %s, turn %s", self._tool.name, at.session, at.turn)
            result = failed(f"{self._tool.name} broke: {type(error).__name__}: {error}. Try another way.", error="bug")
        facts = {"duration": round(time.monotonic() - started, 3)}
        return await fitted(result, at, self._kit.settings.home, facts)

    async def _allowed(self, at: Workspace, given: Mapping[str, Json]) -> ToolResult:
        tool = self._tool
        if not guard(self._kit, tool).for_whom(at.principal):
            raise NotAllowed(f"Guests may not use {tool.name}.", hint="Do without it, or ask the owner.")
        arguments, problems = check(tool.parameters, given)
        if problems:
            raise BadInput(" ".join(problems), hint=f"Call {tool.name} again with corrected arguments.")
        question = await asyncio.to_thread(self._question, at, arguments)  # it may read files and compare them
        await self._kit.shared(Approvals).allow(tool, question, at)
        started = time.monotonic()
        limit = float(self._kit.settings[LONGER[tool.name]]) if tool.name in LONGER else at.seconds
        try:
            async with asyncio.timeout(limit + GRACE):
                return await tool.run(at, arguments)
        except TimeoutError:
            if time.monotonic() - started < limit:
                raise  # the tool's own trouble, not our limit
            return failed(
                f"{tool.name} was stopped: it took longer than {limit:g} seconds. Do less at once.", error="timeout"
            )

    def _question(self, at: Workspace, given: Mapping[str, Json]) -> Question | None:
        tool = self._tool
        if tool.asks is not None:
            return tool.asks(at, given)
        if tool.effect == "reads":
            return None
        detail = "\n".join(f"{name}: {value}" for name, value in given.items())
        return Question(id="", text=f"{tool.name} {tool.effect} something. May it?", tool=tool.name, detail=detail)


def failed(text: str, **facts: Json) -> ToolResult:
    """A result that says what went wrong and what to do."""
    return ToolResult(text=text, ok=False, facts=facts)
