"""What a turn used and cost. A price nobody knows is None, never nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic_ai.messages import ModelResponse

from sojourn.core.messages import Json


@dataclass(slots=True)
class Spending:
    """Adds up the requests of one turn."""

    model: str = ""
    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    tool_calls: int = 0
    cost_usd: float | None = None
    unpriced: int = 0  # requests whose price is not known
    context_tokens: int = 0  # what the last request took of the window

    def add(self, response: ModelResponse) -> None:
        used = response.usage
        self.requests += 1
        self.model = response.model_name or self.model
        self.input_tokens += used.input_tokens
        self.output_tokens += used.output_tokens
        self.cache_read_tokens += used.cache_read_tokens
        self.cache_write_tokens += used.cache_write_tokens
        self.tool_calls += len(response.tool_calls)
        self.context_tokens = used.input_tokens + used.output_tokens
        price = price_of(response)
        if price is None:
            self.unpriced += 1
        else:
            self.cost_usd = (self.cost_usd or 0.0) + price

    def join(self, other: Spending) -> None:
        """What was spent beside it, by tasks that ran at once."""
        self.requests += other.requests
        self.input_tokens += other.input_tokens
        self.output_tokens += other.output_tokens
        self.cache_read_tokens += other.cache_read_tokens
        self.cache_write_tokens += other.cache_write_tokens
        self.tool_calls += other.tool_calls
        self.unpriced += other.unpriced
        if other.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + other.cost_usd

    def as_usage(self, window: int) -> Mapping[str, Json]:
        """As `done` carries it. `cost_usd` is None unless every request had a price."""
        return {
            "model": self.model,
            "requests": self.requests,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "cache_read_tokens": self.cache_read_tokens,
            "cache_write_tokens": self.cache_write_tokens,
            "tool_calls": self.tool_calls,
            "cost_usd": None if self.unpriced or self.cost_usd is None else round(self.cost_usd, 8),
            "context_tokens": self.context_tokens,
            "context_window": window,
        }


def price_of(response: ModelResponse) -> float | None:
    """What one answer cost by the price list that comes with the library; None when the model is not on it."""
    if not response.model_name:
        return None
    try:
        price = float(response.cost().total_price)
    except (LookupError, ValueError):
        return None
    return price or None
