"""Adds up tokens and cost of a turn. An unknown price is None, never zero."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass

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
        usage: dict[str, Json] = {**asdict(self), "context_window": window}
        if usage.pop("unpriced") or self.cost_usd is None:
            return {**usage, "cost_usd": None}
        return {**usage, "cost_usd": round(self.cost_usd, 8)}


def price_of(response: ModelResponse) -> float | None:
    """Returns the price of a response by the library's price list; None when the model is not on it."""
    if not response.model_name:
        return None
    try:
        price = float(response.cost().total_price)
    except (LookupError, ValueError):
        return None
    return price or None
