"""Translates the stop reason and usage of a prompt. Agents differ here more than anywhere else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sojourn.core.errors import RuntimeFailed
from sojourn.core.messages import Json
from sojourn.ports.runtime import RuntimeOutput
from sojourn.runtimes.acp.agent import AcpAgent
from sojourn.runtimes.acp.jsonrpc import Params
from sojourn.runtimes.acp.updates import UpdateMapper
from sojourn.runtimes.agent_errors import to_agent_error

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
        start = (
            before
            if before.input_tokens <= self.input_tokens and before.output_tokens <= self.output_tokens
            else NO_USAGE
        )
        input_tokens, output_tokens = self.input_tokens - start.input_tokens, self.output_tokens - start.output_tokens
        return {
            "input_tokens": input_tokens,
            "output_tokens": output_tokens,
            "total_tokens": input_tokens + output_tokens,
        }


NO_USAGE = AgentUsage()


def parse_usage(result: Params) -> AgentUsage | None:
    used = result.get("usage")
    if not isinstance(used, dict):
        return None
    received, sent = used.get("inputTokens"), used.get("outputTokens")
    return AgentUsage(received, sent) if isinstance(received, int) and isinstance(sent, int) else None


def is_hermes(agent: AcpAgent) -> bool:
    return agent.agent_id == "hermes-agent"


def finish(agent: AcpAgent, updates: UpdateMapper, result: Params, said: str) -> Iterator[RuntimeOutput]:
    """Yields the rest of the answer, or raises the error that came in its place.

    Hermes reports an error of its model as ordinary text with an ordinary stop reason, but without usage. (It answers
    a command such as /help itself, also without usage.)
    """
    reason = result.get("stopReason")
    if is_hermes(agent) and reason == "end_turn" and not result.get("usage") and not said.lstrip().startswith("/"):
        raise to_agent_error("Hermes", updates.held or "it ended the turn and gave no reason")
    yield from updates.finish()
    if reason == "refusal":
        raise RuntimeFailed(f"{agent.name} refused the request.", hint="Rephrase it.")
    if reason not in FINISH_REASONS:
        raise RuntimeFailed(f"{agent.name} ended the turn with the unknown reason {reason!r}.", hint="Update Sojourn.")
    if reason != "cancelled" and not updates.text.strip():
        raise RuntimeFailed(f"{agent.name} ended the turn without an answer.", hint="Its log says why; ask again.")
