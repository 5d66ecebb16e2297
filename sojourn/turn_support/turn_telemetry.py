"""Telemetry of turns: counts for `/metrics`, and a trace of each turn if `telemetry.endpoint` names a collector.

Neither holds a word that was said, nor a name of a session.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from sojourn.core.messages import Json
from sojourn.core.settings import Settings
from sojourn.lazy import Lazy

if TYPE_CHECKING:  # an extra
    from sojourn.turn_support.turn_traces import begin_span

    BeginSpan = Callable[..., "EndTurn"]
    _begin: BeginSpan = begin_span

EndTurn = Callable[[str, Mapping[str, Json]], None]  # with its status and its usage
BEGIN_SPAN: Lazy[BeginSpan] = Lazy("sojourn.turn_support.turn_traces:begin_span")
_TOKENS = ("input_tokens", "output_tokens")
logger = logging.getLogger(__name__)
_warned = set[str]()


@dataclass(slots=True)
class TurnCounts:
    """What the turns of this process came to, since its start."""

    turns: Counter[tuple[str, str]] = field(default_factory=Counter)  # by runtime and status
    seconds: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))  # by runtime
    tokens: Counter[tuple[str, str]] = field(default_factory=Counter)  # by runtime and kind
    cost_usd: defaultdict[str, float] = field(default_factory=lambda: defaultdict(float))  # by runtime

    def add(self, runtime: str, status: str, usage: Mapping[str, Json]) -> None:
        self.turns[runtime, status] += 1
        self.seconds[runtime] += _to_number(usage.get("seconds"))
        self.cost_usd[runtime] += _to_number(usage.get("cost_usd"))
        for kind in _TOKENS:
            self.tokens[runtime, kind.removesuffix("_tokens")] += int(_to_number(usage.get(kind)))


TURN_COUNTS = TurnCounts()


def begin_turn(settings: Settings, runtime: str, model: str) -> EndTurn:
    """Notes that a turn begins; call the result once, at its end. Never raises."""
    end_span = _begin_span(str(settings["telemetry.endpoint"]).strip(), runtime, model)

    def end(status: str, usage: Mapping[str, Json]) -> None:
        TURN_COUNTS.add(runtime, status, usage)
        if end_span:
            end_span(status, usage)

    return end


def _begin_span(endpoint: str, runtime: str, model: str) -> EndTurn | None:
    if not endpoint or endpoint in _warned:
        return None
    try:
        return BEGIN_SPAN.load()(endpoint, runtime, model)
    except (ImportError, ValueError) as error:
        _warned.add(endpoint)
        logger.warning("no traces are sent: %s. `sojourn plugins install telemetry` brings what they need", error)
        return None


def _to_number(value: Json) -> float:
    return float(value) if isinstance(value, (int, float)) and value == value and value >= 0 else 0.0
