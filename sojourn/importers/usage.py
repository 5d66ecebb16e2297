"""Token usage and cost of a foreign session, summed per model."""

from __future__ import annotations

from typing import Any

_MAX_TOKENS = 2**53  # larger numbers are not exact in JSON
_TOKEN_FIELDS = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")


class ImportedUsage:
    """Sums token counts as the store defines them: tokens read from a cache are not input tokens."""

    def __init__(self) -> None:
        self._models: dict[tuple[str, str], dict[str, Any]] = {}

    def add(self, model: str, *, provider: str = "", cost: float | None = None, **tokens: Any) -> None:
        """Adds one answer of a model."""
        blank = dict.fromkeys((*_TOKEN_FIELDS, "api_call_count"), 0)
        row = self._models.setdefault((model, provider), {"model": model, "billing_provider": provider, **blank})
        row["api_call_count"] += 1
        for name in _TOKEN_FIELDS:
            row[name] += to_count(tokens.get(name))
        if cost is not None:
            row["estimated_cost_usd"] = row.get("estimated_cost_usd", 0.0) + cost

    def fields(self) -> dict[str, Any]:
        """The columns of the session and `usage`, its rows per model; empty if nothing was added."""
        rows = list(self._models.values())
        if not rows:
            return {}
        sums = {name: sum(row[name] for row in rows) for name in (*_TOKEN_FIELDS, "api_call_count")}
        costs = [row["estimated_cost_usd"] for row in rows if "estimated_cost_usd" in row]
        return {**sums, "usage": rows} | ({"estimated_cost_usd": sum(costs)} if costs else {})


def to_count(value: Any) -> int:
    """A token count; 0 if the value is missing or implausible."""
    return int(value) if isinstance(value, int | float) and 0 <= value < _MAX_TOKENS else 0
