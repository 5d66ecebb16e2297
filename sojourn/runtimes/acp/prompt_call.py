"""A running prompt: its updates in order, its stop reason and usage, and its cancellation."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Iterator
from dataclasses import dataclass

from sojourn.core.errors import RuntimeFailed, RuntimeTimeout
from sojourn.core.messages import Json
from sojourn.jsonrpc import ConnectionClosed, Params, RpcError, as_object
from sojourn.ports.runtime import RuntimeOutput, TurnInput
from sojourn.runtimes.acp import PLUGIN, AcpSettings
from sojourn.runtimes.acp.agent import AcpAgent, Listener
from sojourn.runtimes.acp.permissions import Permissions
from sojourn.runtimes.acp.updates import UNANSWERED, UpdateMapper
from sojourn.runtimes.agent_errors import to_agent_error

logger = logging.getLogger(__name__)

_STOP_SECONDS = 10.0
FINISH_REASONS = {
    "end_turn": "stop",
    "max_tokens": "length",
    "max_turn_requests": "too many steps",
    "cancelled": "cancelled",
}


@dataclass(frozen=True, slots=True)
class AgentUsage:
    """Tokens of a whole session of the agent, as the protocol counts them."""

    input_tokens: int = 0
    output_tokens: int = 0

    def since(self, before: AgentUsage) -> dict[str, Json]:
        """Returns the tokens of this turn. A restarted agent counts from zero again."""
        has_restarted = self.input_tokens < before.input_tokens or self.output_tokens < before.output_tokens
        start = NO_USAGE if has_restarted else before
        input_tokens, output_tokens = self.input_tokens - start.input_tokens, self.output_tokens - start.output_tokens
        return {
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
            "total_tokens": input_tokens + output_tokens,
        }


NO_USAGE = AgentUsage()


def parse_usage(result: Params) -> AgentUsage | None:
    used = as_object(result.get("usage"))
    received, sent = used.get("inputTokens"), used.get("outputTokens")
    return AgentUsage(received, sent) if isinstance(received, int) and isinstance(sent, int) else None


def is_hermes(agent: AcpAgent) -> bool:
    return agent.agent_id == "hermes-agent"


class PromptCall:
    """A prompt to the agent. Constructing it sends the request."""

    def __init__(
        self, agent: AcpAgent, session: str, turn: TurnInput, content: list[Params], settings: AcpSettings
    ) -> None:
        self.agent, self.session, self._settings = agent, session, settings
        self.updates = UpdateMapper(holds_first=is_hermes(agent))
        self._permissions = Permissions(turn, agent.name, settings.approval_seconds, self._report_unanswered)
        self._listener = Listener(self._permissions.ask)
        self._until = time.monotonic() + settings.most_seconds
        self._task = agent.start_prompt(session, content, self._listener)

    @property
    def is_over(self) -> bool:
        return self._task.done()

    async def next_update(self) -> Params | None:
        """Returns the next update; None when the turn has ended. RuntimeTimeout."""
        left, idle = self._until - time.monotonic(), self._settings.idle_seconds
        try:
            async with asyncio.timeout(min(left, idle)):
                return await self._listener.updates.get()
        except TimeoutError as error:
            if left < idle:
                what, name = f"was not done after {self._settings.most_seconds:g} seconds", "most_seconds"
            else:
                what, name = f"sent nothing for {idle:g} seconds", "idle_seconds"
            raise RuntimeTimeout(
                f"{self.agent.name} {what}.", hint=f"Ask for less at once, or raise `{name}` under [plugins.{PLUGIN}]."
            ) from error

    async def result(self) -> Params:
        try:
            result = await self._task
        except (RpcError, ConnectionClosed) as error:
            raise await self.agent.to_error(error) from error
        if not isinstance(result, dict):
            raise RuntimeFailed(f"{self.agent.name} ended the turn without a result.", hint="Update the agent.")
        return result

    def _report_unanswered(self, answer: dict[str, Json]) -> None:
        self._listener.updates.put_nowait({"sessionUpdate": UNANSWERED, **answer})

    def collect_outcome(self, finish_reason: str) -> Iterator[RuntimeOutput]:
        facts: Params = {
            "agent": self.agent.name,
            "version": self.agent.version,
            "agent_session": self.session,
            "approvals": [dict(one) for one in self._permissions.answers],
        }
        return self.updates.collect_outcome(finish_reason, facts)

    async def stop(self) -> None:
        """Cancels the prompt and waits for the agent; terminates an agent that does not react."""
        self._permissions.cancel_open()
        self.agent.cancel(self.session)
        await asyncio.wait({self._task}, timeout=_STOP_SECONDS)
        if self._task.done():
            return
        self._task.cancel()
        self.agent.open.discard(self.session)
        if not self.agent.is_busy(besides=self._listener):
            logger.warning("%s does not stop when asked to; it is ended", self.agent.name)
            await self.agent.close()

    def close(self) -> None:
        self._permissions.cancel_open()
        self.agent.remove_listener(self.session, self._listener)
        if self._task.done() and not self._task.cancelled():
            self._task.exception()  # marks the exception as retrieved


def finish_answer(agent: AcpAgent, updates: UpdateMapper, result: Params, request: str) -> Iterator[RuntimeOutput]:
    """Yields the rest of the answer, or raises the error that came in its place.

    Hermes reports an error of its model as ordinary text with an ordinary stop reason, but without usage. (It answers
    a command such as /help itself, also without usage.)
    """
    reason = result.get("stopReason")
    if is_hermes(agent) and reason == "end_turn" and not result.get("usage") and not request.lstrip().startswith("/"):
        raise to_agent_error("Hermes", updates.held or "it ended the turn and gave no reason")
    yield from updates.finish()
    if reason == "refusal":
        raise RuntimeFailed(f"{agent.name} refused the request.", hint="Rephrase it.")
    if reason not in FINISH_REASONS:
        raise RuntimeFailed(f"{agent.name} ended the turn with the unknown reason {reason!r}.", hint="Update Sojourn.")
    if reason != "cancelled" and not updates.text.strip():
        raise RuntimeFailed(f"{agent.name} ended the turn without an answer.", hint="Its log says why; ask again.")
