"""Guard around every tool call, whichever runtime makes it: checks, asks, limits and cleans.

    who      guests get harmless tools and those that `tools.guest_tools` names
    what     the arguments are validated against the tool's schema
    mode     in plan mode nothing that writes or runs is used                 (permission_modes.py)
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

from sojourn.core.errors import BadInput, NotAllowed, SojournError
from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER
from sojourn.ports.app import HasStore, PluginContext
from sojourn.ports.tool import Question, Scope, Tool, ToolResult, Workspace
from sojourn.settings.formats import OTHERS, parse_policy, split_list
from sojourn.text.exact import hash_text
from sojourn.tool_schema import validate_arguments
from sojourn.tools.judged_call import begin_call, judged_call
from sojourn.tools.result_limits import limit_result
from sojourn.turn_support.permission_modes import EDIT_TOOLS, PermissionMode, find_mode, require_allowed

logger = logging.getLogger(__name__)
GRACE_SECONDS = 5.0  # a tool has beyond the limit to clean up and report
OWN_LIMIT_SETTINGS = {"delegate_task": "tools.delegate_seconds"}  # tools with a limit of their own

CHOICES: Mapping[Scope, tuple[str, ...]] = {
    "sandbox": ("once", "session", "always", "deny"),
    "network": ("once", "session", "deny"),
    "outside": ("once", "deny"),
}


class ToolApprovals:
    """Applies the approval policy and asks the person; a dangerous call is asked about every time."""

    def __init__(self, app: HasStore) -> None:
        self._app = app

    async def allow(self, tool: Tool, question: Question | None, at: Workspace, mode: PermissionMode = "ask") -> bool:
        """Returns when the call may go on: True if it was asked about. NotAllowed says why it may not, in words for
        the model."""
        policy = parse_policy(self._app.settings["tools.approval"])  # a change is in force at once
        word = policy.get(tool.name, policy[OTHERS])
        if word == "deny" and (question is not None or tool.effect != "reads" or tool.name in policy):
            raise NotAllowed(
                f"The person's settings do not allow {tool.name}.", hint="Do without it, or say what you would do."
            )
        is_accepted = mode == "accept-edits" and tool.name in EDIT_TOOLS - set(policy) and at.principal == OWNER
        if question is None or (
            (word == "always" or is_accepted) and question.scope == "sandbox" and not question.dangerous
        ):
            return False
        choices = ("once", "deny") if question.dangerous else CHOICES[question.scope]
        if question.choices[0] == "deny":
            choices = ("deny", *(one for one in choices if one != "deny"))
        reply = await at.ask(replace(question, id=f"q_{os.urandom(8).hex()}", tool=tool.name, choices=choices))
        if reply.choice not in choices or not reply.allowed:
            raise NotAllowed(
                f"The person did not allow it{': ' + reply.why if reply.why else '.'}",
                hint="Do not try it another way; ask what they would like instead.",
            )
        return True


def guard(app: PluginContext, tool: Tool) -> Tool:
    """Returns the tool with a `run` that asks, limits and redacts; a guarded tool is returned as it is."""
    if isinstance(tool.run, GuardedCall):
        return tool
    named = split_list(app.settings["tools.guest_tools"])
    return replace(tool, run=GuardedCall(app, tool), asks=None, guests=tool.guests or tool.name in named)


class GuardedCall:
    """`Tool.run` of a guarded tool."""

    def __init__(self, app: PluginContext, tool: Tool) -> None:
        self._app, self._tool = app, tool

    async def __call__(self, at: Workspace, arguments: Mapping[str, Json]) -> ToolResult:
        started = time.monotonic()
        try:
            allowed = await self._ask(at, arguments)
            started = time.monotonic()  # a person's time to answer is not the tool's
            result = await self._run_allowed(at, allowed)
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

    async def _ask(self, at: Workspace, raw: Mapping[str, Json]) -> dict[str, Json]:
        """The valid arguments, once the call is allowed. BadInput, NotAllowed."""
        tool = self._tool
        if not guard(self._app, tool).for_whom(at.principal):
            raise NotAllowed(f"Guests may not use {tool.name}.", hint="Do without it, or ask the owner.")
        arguments, problems = validate_arguments(tool.parameters, raw)
        if problems:
            raise BadInput(" ".join(problems), hint=f"Call {tool.name} again with corrected arguments.")
        mode = "ask" if tool.effect == "reads" else await find_mode(self._app.store, at.session)
        require_allowed(mode, tool)
        begin_call()
        question = await asyncio.to_thread(self._question, at, arguments)  # it may read files and compare them
        was_asked = await self._app.shared(ToolApprovals).allow(tool, question, at, mode)
        if was_asked and question is not None and not judged_call().is_kept:
            _require_same(question, await asyncio.to_thread(self._question, at, arguments))
        at.provenance = at.provenance.add_origins(tool.origins)
        return arguments

    async def _run_allowed(self, at: Workspace, arguments: Mapping[str, Json]) -> ToolResult:
        tool, started = self._tool, time.monotonic()
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


def _require_same(approved: Question, now: Question | None) -> None:
    """Compares what is about to run with what was approved. NotAllowed."""
    if now is None or (hash_text(now.detail), now.scope) != (hash_text(approved.detail), approved.scope):
        raise NotAllowed(
            "This is not what was approved: something changed while the question was open. Nothing was done.",
            hint="Look at it again, then call the tool again.",
        )


def failed_result(text: str, **facts: Json) -> ToolResult:
    """Builds a result that says what went wrong and what to do."""
    return ToolResult(text=text, ok=False, facts=facts)


def ask_nothing(_: Workspace, __: Mapping[str, Json]) -> None:
    """`asks` of a tool that writes or runs but needs no consent."""
