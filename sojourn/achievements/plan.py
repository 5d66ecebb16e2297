"""The search plan: what an engine has to find in a text so that every rule can be counted exactly.

Rules share what they look for: `codex` is found once and counted twice. A *search* asks for all places of a
row of pieces (`spots`), of a row that begins with a run of identifier characters (`runs`), or just whether something
is there (`maybe`, `surely`). Of a row that swallows the rest of a line, where it is counted, only
the beginning is searched for.

Engines work on UTF-8 bytes and know ASCII only, so an edge next to a byte above 127 is a guess. `spots` and
`maybe` guess generously and are confirmed afterwards; `surely` guesses strictly and needs no confirmation.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Literal

from sojourn.achievements.counters import (
    Counter,
    ExistsCounter,
    LineCounter,
    MessageCounter,
    SpotCounter,
    WindowCounter,
)
from sojourn.achievements.pattern_syntax import PatternToken, Sequence, parse_pattern, to_re
from sojourn.badge_rules import MetricRule, ToolNamePattern, WordPattern
from sojourn.core.errors import BadInput

Kind = Literal["spots", "runs", "maybe", "surely"]


@dataclass(frozen=True, slots=True)
class Search:
    """One search of an engine. Only `maybe` and `surely` have several rows."""

    kind: Kind
    rows: tuple[Sequence, ...]

    @property
    def length(self) -> int | None:
        """The length of every hit if it is fixed; then the start follows from the end."""
        text = self.rows[0].text
        return len(text) if text is not None and self.kind == "spots" else None


@dataclass(frozen=True, slots=True)
class RulePlan:
    """How one rule is counted: by tool names, by the hits of some searches, or both."""

    rule: MetricRule
    tools: tuple[ToolNamePattern, ...]
    counters: tuple[Counter, ...]
    lowered: WordPattern | None  # counted on the lower-cased text if that differs from ignoring case


@dataclass(frozen=True, slots=True)
class Plan:
    searches: tuple[Search, ...]
    rules: tuple[RulePlan, ...]


def build_plan(rules: tuple[MetricRule, ...]) -> Plan:
    """Builds the plan that counts all rules in one pass."""
    searches: dict[Search, int] = {}

    def number(kind: Kind, *rows: Sequence) -> int:
        return searches.setdefault(Search(kind, rows), len(searches))

    planned = []
    for rule in rules:
        patterns = rule.patterns
        texts = [pattern for pattern in patterns if isinstance(pattern, WordPattern)]
        counters = tuple(_build_counter(rule, parse_pattern(pattern), number) for pattern in texts)
        tools = tuple(pattern for pattern in patterns if isinstance(pattern, ToolNamePattern))
        lowered = next((pattern for pattern in texts if pattern.lowered), None)
        if tools and rule.mode != "count":
            raise BadInput(f"{rule.key} counts tool calls in mode {rule.mode}.", hint="Tool calls can only be counted.")
        planned.append(RulePlan(rule, tools, counters, lowered))
    return Plan(tuple(searches), tuple(planned))


def _build_counter(rule: MetricRule, rows: tuple[Sequence, ...], number: Callable[..., int]) -> Counter:
    """Builds the counter of one pattern. `number` adds a search to the plan, or finds an equal one."""
    if rule.mode == "exists":
        return ExistsCounter(maybe=number("maybe", *rows), surely=number("surely", *rows), rows=rows)
    if rule.mode == "messages":
        if any(row.text is None for row in rows):
            raise BadInput(f"{rule.key} counts messages by more than words.", hint="Use literal text.")
        return MessageCounter(tuple(number("spots", row) for row in rows))
    if any(row.has(PatternToken.IDENT) for row in rows):
        if any(row.has(PatternToken.REST) for row in rows):
            raise BadInput(f"{rule.key} mixes [id+] and [..].", hint="Make two rules of it.")
        numbers = tuple(number("runs" if row.has(PatternToken.IDENT) else "spots", row) for row in rows)
        longest = max(len(piece) for row in rows for piece in row.pieces if isinstance(piece, str))
        runs = tuple(one for one, row in zip(numbers, rows, strict=True) if row.has(PatternToken.IDENT))
        return WindowCounter(numbers, runs, re.compile(to_re(rows), re.IGNORECASE), reach=longest + 2)
    if any(row.has(PatternToken.REST) for row in rows):
        return _build_line_counter(rule, rows, number)
    return _build_spot_counter(rows, tuple(number("spots", row) for row in rows))


def _build_line_counter(rule: MetricRule, rows: tuple[Sequence, ...], number: Callable[..., int]) -> LineCounter:
    """Rows with [..] match at most once per line, from the first head to the last end."""
    swallowing = [row for row in rows if row.has(PatternToken.REST)]
    others = [row for row in rows if not row.has(PatternToken.REST)]
    heads = {row.pieces[0] for row in swallowing}
    text = heads.pop()
    if heads or not isinstance(text, str) or any(row.has(PatternToken.EDGE) for row in swallowing):
        raise BadInput(f"{rule.key} has more than one kind of [..].", hint="Let all begin with the same literal.")
    if any(part.text is None for row in swallowing for part in row.split_at_rest()):
        raise BadInput(f"{rule.key} has more than words around [..].", hint="Use literal text.")
    head = Sequence((text,))
    if any(_can_overlap(head, row) for row in others):
        raise BadInput(f"{rule.key}: what begins a [..] overlaps another alternative.", hint="Split the rule.")

    return LineCounter(
        head=number("spots", head),
        last=number("maybe", *dict.fromkeys(row.split_at_rest()[-1] for row in swallowing)),
        tails=_group_by_last(swallowing),
        others=_build_spot_counter(tuple(others), tuple(number("spots", row) for row in others)),
    )


def _group_by_last(rows: list[Sequence]) -> dict[bytes, tuple[tuple[bytes, ...], ...]]:
    """Maps the last text of each row to the texts required between it and the head."""
    found: dict[bytes, tuple[tuple[bytes, ...], ...]] = {}
    for row in rows:
        *between, last = ((part.text or "").encode() for part in row.split_at_rest()[1:])
        found[last] = (*found.get(last, ()), tuple(between))
    return found


def _build_spot_counter(rows: tuple[Sequence, ...], numbers: tuple[int, ...]) -> SpotCounter:
    """Separates rows whose hits can simply be added up from rows whose hits may overlap."""
    numbered = list(zip(numbers, rows, strict=True))
    meeting = tuple(number for number, row in numbered if any(_can_overlap(row, other) for other in rows))
    return SpotCounter(numbers, alone=tuple(number for number in numbers if number not in meeting), meeting=meeting)


def _can_overlap(one: Sequence, other: Sequence) -> bool:
    """Whether a hit of either row can begin inside a hit of the other; of one and the same row, inside another hit."""
    same = one is other
    return any(
        _can_begin_inside(left, right, same=same) or _can_begin_inside(right, left, same=same)
        for left, right in product(_flatten(one), _flatten(other))
    )


def _flatten(row: Sequence) -> list[str]:
    """The row as plain texts, with NUL for any whitespace."""
    spelled = [""]
    for piece in row.pieces:
        if isinstance(piece, str):
            spelled = [text + piece for text in spelled]
        elif piece is PatternToken.SPACES:
            spelled = [text + "\0" for text in spelled]
        elif piece is PatternToken.MAYBE_SPACES:
            spelled = [text + gap for text in spelled for gap in ("", "\0")]
    return spelled


def _can_begin_inside(one: str, other: str, *, same: bool) -> bool:
    """Whether `other` can begin inside `one`; for the `same` text, other than at its own start."""
    tails = (one[at:] for at in range(1 if same else 0, len(one)))
    return any(other.startswith(tail) or tail.startswith(other) for tail in tails)
