"""Guard around every tool call, whichever runtime makes it: checks, asks, limits and cleans.

    who      guests get harmless tools and those that `tools.guest_tools` names
    what     the arguments are validated against the tool's schema
    consent  a tool that writes or runs asks first (`tools.approval`), a dangerous call asks every time
    time     `Workspace.seconds`; a tool that is cancelled ends the processes it started
    result   secrets are redacted, long results truncated and kept whole in a file       (result_limits.py)

Every error becomes a ToolResult the model can act on; only cancellation passes through.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from collections.abc import Mapping
from dataclasses import replace

from sojourn.core.errors import BadConfig, BadInput, NotAllowed, SojournError
from sojourn.core.messages import Json
from sojourn.ports.app import HasStore, PluginContext
from sojourn.ports.tool import Question, Scope, Tool, ToolResult, Workspace
from sojourn.tool_schema import validate_arguments
from sojourn.tools.judged_call import begin_call
from sojourn.tools.result_limits import limit_result

logger = logging.getLogger(__name__)
GRACE_SECONDS = 5.0  # a tool has beyond the limit to clean up and report
OWN_LIMIT_SETTINGS = {"delegate_task": "tools.delegate_seconds"}  # tools with a limit of their own

CHOICES: Mapping[Scope, tuple[str, ...]] = {
    "sandbox": ("once", "session", "always", "deny"),
    "network": ("once", "session", "deny"),
    "outside": ("once", "deny"),
}
OTHERS = ""  # in a policy: all tools that it does not name


def parse_policy(raw: str) -> dict[str, str]:
    """Parses `ask, terminal=deny, write_file=always` to a word for each named tool and for OTHERS. BadConfig."""
    policy = {OTHERS: "ask"}
    for one in filter(None, (part.strip() for part in raw.split(","))):
        name, separator, word = (part.strip() for part in one.rpartition("="))
        if word.lower() not in ("ask", "always", "deny") or (separator and not name):
            raise BadConfig(
                f"tools.approval has {one!r}, which is none of ask, always, deny.",
                hint='Example: "ask, terminal=deny, write_file=always".',
            )
        policy[name or OTHERS] = word.lower()
    return policy


class ToolApprovals:
    """Applies the approval policy and asks the person; a dangerous call is asked about every time."""

    def __init__(self, app: HasStore) -> None:
        self.policy = parse_policy(str(app.settings["tools.approval"]))

    async def allow(self, tool: Tool, question: Question | None, at: Workspace) -> None:
        """Returns when the call may go on. NotAllowed says why it may not, in words for the model."""
        word = self.policy.get(tool.name, self.policy[OTHERS])
        if word == "deny" and (question is not None or tool.effect != "reads" or tool.name in self.policy):
            raise NotAllowed(
                f"The person's settings do not allow {tool.name}.", hint="Do without it, or say what you would do."
            )
        if question is None or (word == "always" and question.scope == "sandbox" and not question.dangerous):
            return
        choices = ("once", "deny") if question.dangerous else CHOICES[question.scope]
        reply = await at.ask(replace(question, id=f"q_{os.urandom(8).hex()}", tool=tool.name, choices=choices))
        if reply.choice not in choices or not reply.allowed:
            raise NotAllowed(
                f"The person did not allow it{': ' + reply.why if reply.why else '.'}",
                hint="Do not try it another way; ask what they would like instead.",
            )


def guard(app: PluginContext, tool: Tool) -> Tool:
    """Returns the tool with a `run` that asks, limits and redacts; a guarded tool is returned as it is."""
    if isinstance(tool.run, GuardedCall):
        return tool
    named = {one.strip() for one in str(app.settings["tools.guest_tools"]).split(",")}
    return replace(tool, run=GuardedCall(app, tool), asks=None, guests=tool.guests or tool.name in named)


class GuardedCall:
    """`Tool.run` of a guarded tool."""

    def __init__(self, app: PluginContext, tool: Tool) -> None:
        self._app, self._tool = app, tool

    async def __call__(self, at: Workspace, arguments: Mapping[str, Json]) -> ToolResult:
        started = time.monotonic()
        try:
            result = await self._run_allowed(at, arguments)
        except SojournError as error:
            result = failed_result(f"{error} {error.hint}".strip(), error=error.code)
        except OSError as error:
            where = f" {error.filename}" if error.filename else ""
            result = failed_result(f"{self._tool.name} failed:{where} {error.strerror or error}.", error="os_error")
        except Exception as error:  # the edge of a turn: a stranger's tool may raise anything
            logger.exception("tool %s failed in session %s, turn %s", self._tool.name, at.session, at.turn)
            result = failed_result(
                f"{self._tool.name} broke: {type(error).__name__}: {error}. Try another way.", error="bug"
            )
        facts = {"duration": round(time.monotonic() - started, 3)}
        return await limit_result(result, at, self._app.settings.home, facts)

    async def _run_allowed(self, at: Workspace, raw: Mapping[str, Json]) -> ToolResult:
        tool = self._tool
        if not guard(self._app, tool).for_whom(at.principal):
            raise NotAllowed(f"Guests may not use {tool.name}.", hint="Do without it, or ask the owner.")
        arguments, problems = validate_arguments(tool.parameters, raw)
        if problems:
            raise BadInput(" ".join(problems), hint=f"Call {tool.name} again with corrected arguments.")
        begin_call()
        question = await asyncio.to_thread(self._question, at, arguments)  # it may read files and compare them
        await self._app.shared(ToolApprovals).allow(tool, question, at)
        started = time.monotonic()
        own = OWN_LIMIT_SETTINGS.get(tool.name)
        limit = float(self._app.settings[own]) if own else at.seconds
        try:
            async with asyncio.timeout(limit + GRACE_SECONDS):
                return await tool.run(at, arguments)
        except TimeoutError:
            if time.monotonic() - started < limit:
                raise  # the tool's own trouble, not our limit
            return failed_result(
                f"{tool.name} was stopped: it took longer than {limit:g} seconds. Do less at once.", error="timeout"
            )

    def _question(self, at: Workspace, arguments: Mapping[str, Json]) -> Question | None:
        tool = self._tool
        if tool.asks is not None:
            return tool.asks(at, arguments)
        if tool.effect == "reads":
            return None
        detail = "\n".join(f"{name}: {value}" for name, value in arguments.items())
        return Question(id="", text=f"{tool.name} {tool.effect} something. May it?", tool=tool.name, detail=detail)


def failed_result(text: str, **facts: Json) -> ToolResult:
    """Builds a result that says what went wrong and what to do."""
    return ToolResult(text=text, ok=False, facts=facts)


def ask_nothing(_: Workspace, __: Mapping[str, Json]) -> None:
    """`asks` of a tool that writes or runs but needs no consent."""
