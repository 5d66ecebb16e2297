"""What a foreign session has cost, summed up model by model."""

from __future__ import annotations

from typing import Any

_TOO_MANY = 2**53
_COUNTED = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")


class Spending:
    """Tokens as the store counts them: what came from a cache is not counted again as input."""

    def __init__(self) -> None:
        self._models: dict[tuple[str, str], dict[str, Any]] = {}

    def add(self, model: str, *, provider: str = "", cost: float | None = None, **tokens: Any) -> None:
        """One answer of a model."""
        blank = dict.fromkeys((*_COUNTED, "api_call_count"), 0)
        row = self._models.setdefault((model, provider), {"model": model, "billing_provider": provider, **blank})
        row["api_call_count"] += 1
        for name in _COUNTED:
            row[name] += whole(tokens.get(name))
        if cost is not None:
            row["estimated_cost_usd"] = row.get("estimated_cost_usd", 0.0) + cost

    def fields(self) -> dict[str, Any]:
        """Columns of the session, and its rows by model; none when nothing was counted."""
        rows = list(self._models.values())
        if not rows:
            return {}
        sums = {name: sum(row[name] for row in rows) for name in (*_COUNTED, "api_call_count")}
        costs = [row["estimated_cost_usd"] for row in rows if "estimated_cost_usd" in row]
        return {**sums, "usage": rows} | ({"estimated_cost_usd": sum(costs)} if costs else {})


def whole(value: Any) -> int:
    """A count that may be missing or odd."""
    return int(value) if isinstance(value, int | float) and 0 <= value < _TOO_MANY else 0
