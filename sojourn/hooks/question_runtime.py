"""The runtime of questions: a turn that asks what another agent wants to know, and ends with the answer."""

from __future__ import annotations

from collections.abc import AsyncGenerator

from sojourn.core.events import Done
from sojourn.core.messages import assistant
from sojourn.hooks.agent_questions import AgentQuestions, describe_reply
from sojourn.ports.app import AppContext
from sojourn.ports.runtime import RuntimeOutput, RuntimeStatus, TurnInput
from sojourn.ports.tool import Reply


class QuestionRuntime:
    """Asks what waits for its session. It has no label: nobody chooses it."""

    name = "hooks"
    label = ""
    takes_tool_history = True

    def __init__(self, app: AppContext) -> None:
        self._questions = app.shared(AgentQuestions)

    async def ready(self) -> RuntimeStatus:
        return RuntimeStatus(ok=False, detail="answers the questions of other agents")

    async def run(self, turn: TurnInput) -> AsyncGenerator[RuntimeOutput, None]:
        pending = self._questions.take(turn.session.id)
        if pending is None:
            yield assistant("An agent asks you here. Talk to it where it runs.")
            yield Done()
            return
        if pending.question is None:  # a notice
            yield assistant(pending.text, extra='{"notice": true}')
            yield Done()
            return
        reply = Reply(choice="deny", why="Sojourn stopped before anybody answered.")
        try:
            reply = await turn.ask(pending.question)
        finally:
            pending.resolve(reply)
        yield assistant(describe_reply(pending.event, pending.reply.result()))  # a late answer is none
        yield Done()

    async def close(self) -> None:
        """Nothing to close."""
