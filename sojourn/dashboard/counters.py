"""One sum: sessions, messages, calls, tokens, cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.core.messages import Json
from sojourn.core.sessions import Session


@dataclass(slots=True)
class UsageTotal:
    """A cost nobody told stays None."""

    sessions: int = 0
    messages: int = 0
    calls: int = 0
    input: int = 0
    output: int = 0
    cost: float | None = None
    priced: int = 0  # sessions whose cost is known

    @classmethod
    def of_usage(cls, usage: Mapping[str, Json]) -> UsageTotal:
        """What the service booked for a day and a session. 0 dollars there means that no price was known."""
        return cls(
            input=int(_number(usage.get("input_tokens"))),
            output=int(_number(usage.get("output_tokens"))),
            cost=_number(usage.get("cost_usd")) or None,
        )

    def add(self, session: Session, spent: UsageTotal) -> None:
        self.sessions += 1
        self.messages += session.message_count
        self.calls += session.tool_call_count
        self.priced += spent.cost is not None
        self.spend(spent)

    def spend(self, other: UsageTotal) -> None:
        self.input += other.input
        self.output += other.output
        if other.cost is not None:
            self.cost = (self.cost or 0.0) + other.cost

    def shown(self) -> dict[str, Any]:
        return {
            "sessions": self.sessions,
            "messages": self.messages,
            "tool_calls": self.calls,
            "input_tokens": self.input,
            "output_tokens": self.output,
            "cost_usd": self.cost,
            "priced_sessions": self.priced,
        }


def _number(value: Json) -> float:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0.0
