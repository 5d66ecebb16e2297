"""Values that describe badges: metrics, totals and achievements. Nothing here reads a message.

A *metric* is a number per session, computed by a rule. A *total* aggregates a metric over the whole history. An
*achievement* is a badge for a total that has grown large enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

TIER_NAMES = ("Copper", "Silver", "Gold", "Diamond", "Olympian")


@dataclass(frozen=True, slots=True)
class WordPattern:
    """Text to look for: ordered alternatives in the syntax of `achievements/pattern_syntax.py`.

    Case does not matter. `lowered` lower-cases the text first, which differs from ignoring case
    for a handful of letters (the long s, the dotless i).
    """

    alternatives: tuple[str, ...]
    lowered: bool = False


@dataclass(frozen=True, slots=True)
class ToolNamePattern:
    """Tool calls whose lower-cased name contains one of the needles. A call counts once."""

    needles: tuple[str, ...]


Pattern = WordPattern | ToolNamePattern


def words(*alternatives: str, lowered: bool = False) -> WordPattern:
    return WordPattern(alternatives, lowered)


def tool_named(*needles: str) -> ToolNamePattern:
    return ToolNamePattern(needles)


@dataclass(frozen=True, slots=True)
class Gate:
    """A metric counts only in sessions where another one reached a number."""

    key: str
    at_least: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricRule:
    """A rule that counts something in one session, as data.

    Several patterns add up. `count` is the number of hits, `exists` is 0 or 1, `messages` is the number
    of messages with at least one hit. `reported` is false for rules that only serve as gates. `version`
    grows when the meaning changes without the pattern, so that all sessions are counted again.
    """

    key: str
    pattern: Pattern | tuple[Pattern, ...]
    mode: Literal["count", "exists", "messages"] = "count"
    gates: tuple[Gate, ...] = ()
    reported: bool = True
    version: int = 1

    @property
    def patterns(self) -> tuple[Pattern, ...]:
        return self.pattern if isinstance(self.pattern, tuple) else (self.pattern,)


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """Aggregate of a metric over all sessions: its sum or maximum."""

    key: str
    of: str
    how: Literal["sum", "max"] = "sum"
    label: str = ""


@dataclass(frozen=True, slots=True)
class Requirement:
    """One of several conditions of an achievement."""

    metric: str
    at_least: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Achievement:
    """A badge: either one total with rising tiers, or several requirements that must all hold."""

    id: str
    title: str
    story: str
    category: str = "More"
    kind: str = "lifetime"
    icon: str = "spark"
    metric: str = ""
    tiers: tuple[int, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    secret: bool = False

    @property
    def metrics(self) -> tuple[str, ...]:
        """The totals this badge depends on."""
        return (self.metric,) if self.metric else tuple(one.metric for one in self.requirements)
