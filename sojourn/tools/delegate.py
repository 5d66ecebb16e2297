"""The tool `delegate_task`: a sub-agent does one bounded piece of work in a session of its own and reports back."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import replace

from sojourn.core.errors import NotAllowed, SojournError
from sojourn.core.events import Done, Failed, Metadata, Progress
from sojourn.core.messages import Json, Message, text_of
from sojourn.core.sessions import OWNER, SessionId, TurnId
from sojourn.ports.app import AgentContext, HasSettings, HasStore
from sojourn.ports.service import Caller, Service, Turn, TurnRequest
from sojourn.ports.tool import Question, Tool, ToolResult, Workspace
from sojourn.tool_schema import tool
from sojourn.tools.file_checkpoints import FileCheckpoints
from sojourn.tools.guard import ask_nothing

SURFACE = "delegate"  # sessions that begin here are sub-agents; they have no sub-agents of their own
TASK = "You are a sub-agent with one task. Do it, then answer with the result only; nobody can answer questions.\n\n"


class DelegationCounter:
    """Counts the tasks that each turn has delegated."""

    def __init__(self, _: HasSettings) -> None:
        self._by_turn: dict[TurnId, int] = {}

    def count(self, turn: TurnId, most: int) -> None:
        """Counts one more task of a turn. NotAllowed."""
        if self._by_turn.get(turn, 0) >= most:
            raise NotAllowed(f"This turn has already delegated {most} tasks.", hint="Do the rest yourself.")
        if len(self._by_turn) > 1000:
            self._by_turn.pop(next(iter(self._by_turn)))
        self._by_turn[turn] = self._by_turn.get(turn, 0) + 1


def delegate_task_tool(app: AgentContext) -> Tool:
    # What the sub-agent does is asked about when it does it.
    @tool(effect="runs", asks=ask_nothing, origins=("foreign", "private"))
    async def delegate_task(at: Workspace, task: str, title: str = "") -> ToolResult:
        """Gives one bounded task to a sub-agent with the same tools and workspace, and returns its answer. It knows
        nothing of this conversation: say everything it needs.

        task: what to do, with everything the sub-agent has to know, and what to answer
        title: a few words that name the task
        """
        if (await app.store.get(at.session)).source == SURFACE:
            raise NotAllowed("A sub-agent cannot give tasks away.", hint="Do it yourself.")
        app.shared(DelegationCounter).count(at.turn, int(app.settings["tools.delegates"]))
        by = Caller(surface=SURFACE, principal=at.principal, holder=f"sub-agent of {at.session}")
        runtime, model = await _runtime_and_model(app, at)
        child = await app.service.open(by, model=model or None, runtime=runtime, cwd=str(at.root), parent=at.session)
        app.shared(FileCheckpoints).add_subagent(child.id, at)
        if title:
            at.tell(f"sub-agent: {title[:100]}")
        request = TurnRequest(text=TASK + task, cwd=str(at.root), provenance=at.provenance)
        turn = await app.service.say(child.id, request, by)
        return await _await_answer(app, turn, by, at)

    return delegate_task


async def _runtime_and_model(app: HasStore, at: Workspace) -> tuple[str, str]:
    """Returns the runtime and model of the delegating turn: its sub-agent gets the same."""
    found = ("", "")
    async with aclosing(app.store.read(at.session)) as log:
        async for entry in log:
            if isinstance(entry.item, Metadata) and entry.item.turn_id == at.turn:
                found = (entry.item.runtime, entry.item.model)
    return found


async def _await_answer(app: AgentContext, turn: Turn, by: Caller, at: Workspace) -> ToolResult:
    """Watches the sub-agent to its end; if the time is up or we are stopped, it is stopped too."""
    seconds = float(app.settings["tools.delegate_seconds"])
    try:
        async with asyncio.timeout(seconds):
            return await _follow_turn(app.service, turn, by, at)
    except TimeoutError:
        await app.service.stop(turn.session, by, turn=turn.id)
        text = f"The sub-agent was stopped: it took longer than {seconds:g} seconds. Its session is {turn.session}."
        return ToolResult(text=text, ok=False, facts={"session": turn.session, "status": "cancelled"})
    except asyncio.CancelledError:
        await asyncio.shield(app.service.stop(turn.session, by, turn=turn.id))
        raise


async def _follow_turn(service: Service, turn: Turn, by: Caller, at: Workspace) -> ToolResult:
    answer, problem = "", ""
    async with aclosing(service.watch(turn.session, after=turn.after, principal=at.principal)) as log:
        async for entry in log:
            item = entry.item
            if isinstance(item, Message) and item.role == "assistant":
                answer = text_of(item) or answer
            elif isinstance(item, Failed):
                problem = f"{item.message} {item.hint}".strip()
            elif isinstance(item, Progress) and item.stage == "approval" and item.detail.get("status") == "asked":
                await _forward_question(service, turn.session, item.detail, by, at)
            elif isinstance(item, Done) and (entry.turn or turn.id) == turn.id:
                facts: dict[str, Json] = {"session": turn.session, "status": item.status}
                ok = item.status == "completed"
                text = answer if ok else f"The sub-agent {item.status}. {problem}\n{answer}".strip()
                return ToolResult(text=text or "The sub-agent gave no answer.", ok=ok, facts=facts)
    return ToolResult(text="The sub-agent's session ended early.", ok=False, facts={"session": turn.session})


async def _forward_question(
    service: Service, session: SessionId, detail: Mapping[str, Json], by: Caller, at: Workspace
) -> None:
    """Puts the sub-agent's question, with its exact text, to the person who watches this session, and returns the
    answer to it. Only the owner's answer arrives here, so it goes on in the owner's name."""
    owner, name = replace(by, principal=OWNER), str(detail["question"])
    try:
        pending = await service.get_question(session, name, owner)
        question = Question(
            id=f"{name}_d",
            text=f"Sub-agent: {detail['text']}",
            tool=str(detail["tool"]),
            detail=pending.exact,
            choices=tuple(detail["choices"]),
            dangerous=bool(detail["dangerous"]),
            scope=detail["scope"],
        )
        await service.answer(session, name, await at.ask(question), owner)
    except SojournError:
        return  # answered elsewhere, or it waits no longer
