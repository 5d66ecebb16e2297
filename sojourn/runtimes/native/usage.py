"""Adds up tokens and cost of a turn. An unknown price is None, never zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic_ai.messages import ModelResponse

from sojourn.core.messages import Json


@dataclass(slots=True)
class UsageTotals:
    """Tokens and cost of the requests of one turn."""

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

    def to_usage(self, window: int) -> Mapping[str, Json]:
        """Returns the `usage` of the `done` event. `cost_usd` is None unless every request has a price."""
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
    """Returns the price of a response by the library's price list; None when the model is not on it."""
    if not response.model_name:
        return None
    try:
        price = float(response.cost().total_price)
    except (LookupError, ValueError):
        return None
    return price or None
