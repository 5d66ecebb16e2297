"""Badges as data: rules that count something per session, and achievements for large enough totals of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class WordPattern:
    """Alternatives to find in text, in the syntax of `achievements/pattern_syntax.py`, ignoring case.

    `lowered` lower-cases the text first, which differs for a few letters (long s, dotless i).
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
    """Counts hits in one session; several patterns add up.

    mode: `count` all hits, `exists` 0 or 1, `messages` the messages with a hit. reported: False for a mere gate.
    version: raise it when the meaning changes without the pattern, so that all sessions are counted again.
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
