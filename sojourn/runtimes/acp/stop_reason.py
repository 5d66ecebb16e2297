"""What the end of a prompt means, and what it cost. Agents differ here more than anywhere else."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from sojourn.core.errors import RuntimeFailed
from sojourn.core.messages import Json
from sojourn.ports.runtime import Given
from sojourn.runtimes.acp.agent import AcpAgent
from sojourn.runtimes.acp.jsonrpc import Params
from sojourn.runtimes.acp.updates import UpdateMapper
from sojourn.runtimes.agent_errors import to_agent_error

REASONS = {"end_turn": "stop", "max_tokens": "length", "max_turn_requests": "too many steps", "cancelled": "cancelled"}


@dataclass(frozen=True, slots=True)
class AgentUsage:
    """Tokens of a whole session of the agent: that is how the protocol counts."""

    into: int = 0
    out: int = 0

    def since(self, before: AgentUsage) -> dict[str, Json]:
        """What this turn used. An agent that was started anew counts from the beginning again."""
        start = before if before.into <= self.into and before.out <= self.out else NO_USAGE
        into, out = self.into - start.into, self.out - start.out
        return {"input_tokens": into, "output_tokens": out, "total_tokens": into + out}


NO_USAGE = AgentUsage()


def usage_of(result: Params) -> AgentUsage | None:
    used = result.get("usage")
    if not isinstance(used, dict):
        return None
    into, out = used.get("inputTokens"), used.get("outputTokens")
    return AgentUsage(into, out) if isinstance(into, int) and isinstance(out, int) else None


def is_hermes(agent: AcpAgent) -> bool:
    return agent.agent_id == "hermes-agent"


def finish(agent: AcpAgent, show: UpdateMapper, result: Params, said: str) -> Iterator[Given]:
    """The rest of the answer, or the error that came in its place.

    Hermes gives an error of its model as ordinary text and an ordinary end; what gives it away is that nothing
    was counted. (A command such as /help is answered by Hermes itself and counts nothing either.)
    """
    reason = result.get("stopReason")
    if is_hermes(agent) and reason == "end_turn" and not result.get("usage") and not said.lstrip().startswith("/"):
        raise to_agent_error("Hermes", show.held or "it ended the turn and gave no reason")
    yield from show.end()
    if reason == "refusal":
        raise RuntimeFailed(f"{agent.name} refuses to go on with this.", hint="Say it in another way.")
    if reason not in REASONS:
        raise RuntimeFailed(f"{agent.name} ended the turn in a way we do not know: {reason!r}.", hint="Update Sojourn.")
    if reason != "cancelled" and not show.text.strip():
        raise RuntimeFailed(f"{agent.name} ended the turn without a word.", hint="Its log says why; ask again.")
