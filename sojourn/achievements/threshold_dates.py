"""Threshold dates: in which session a running total first reached a number, from what each session contributed."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator
from itertools import accumulate

from sojourn.achievements.aggregate import (
    SessionAggregate,
    find_provider,
    find_start,
    is_local_model,
    is_weekend_and_night,
)
from sojourn.achievements.rules import RuleBook
from sojourn.achievements.session_cache import CacheRecord
from sojourn.badge_rules import Achievement
from sojourn.ports.history import SessionFacts

_IS_COUNTED: dict[str, Callable[[SessionFacts], bool]] = {
    "session_count": lambda facts: True,
    "weekend_sessions": lambda facts: is_weekend_and_night(facts.started_at)[0],
    "night_sessions": lambda facts: is_weekend_and_night(facts.started_at)[1],
    "local_model_chat_sessions": lambda facts: bool(facts.model) and is_local_model(facts.model or ""),
}
_VALUE_OF: dict[str, Callable[[SessionFacts], str]] = {
    "distinct_model_count": lambda facts: "" if facts.model == "None" else facts.model or "",
    "distinct_provider_count": lambda facts: find_provider(facts.model or ""),
}


class ThresholdDates:
    """The session in which each badge was first earned, the oldest session counted first. No session is read again.

    A date is looked for once. It is looked for again when a session that is not younger changes.
    """

    def __init__(self, book: RuleBook) -> None:
        self._totals = {total.key: total for total in book.totals}
        self._fields = {name: at for at, name in enumerate(book.fields)}
        self._reached: dict[str, CacheRecord | None] = {}
        self._sorted: list[CacheRecord] = []

    def find_all(self, badges: Iterable[Achievement], sessions: SessionAggregate) -> dict[str, SessionFacts]:
        """The sessions of these unlocked badges, by badge; a badge whose sessions are gone has none."""
        oldest = sessions.take_oldest_change()
        self._reached = {badge: one for badge, one in self._reached.items() if one and find_start(one) < oldest}
        missing = [badge for badge in badges if badge.id not in self._reached]
        self._sorted = sorted(sessions, key=lambda record: (find_start(record), record.facts.id)) if missing else []
        for badge in missing:
            self._reached[badge.id] = self._find(badge)
        self._sorted = []
        return {badge: one.facts for badge, one in self._reached.items() if one is not None}

    def _find(self, badge: Achievement) -> CacheRecord | None:
        needed = [(one.metric, one.at_least) for one in badge.requirements] or [(badge.metric, badge.tiers[0])]
        places = [self._find_place(total, at_least) for total, at_least in needed]
        last = max(places)
        return self._sorted[last] if last < len(self._sorted) else None

    def _find_place(self, total: str, at_least: int) -> int:
        """The place of the session that brings a total to a number; past the end if none does."""
        return bisect_left(list(self._accumulate(total)), at_least)

    def _accumulate(self, total: str) -> Iterator[int]:
        """The total after each session; it never falls."""
        if (known := self._totals.get(total)) is not None:
            at = self._fields[known.of]
            column = (record.contribution.values[at] for record in self._sorted)
            return accumulate(column, max) if known.how == "max" else accumulate(column)
        facts = [record.facts for record in self._sorted]
        if total in _VALUE_OF:
            return _count_distinct(map(_VALUE_OF[total], facts))
        return accumulate(map(_IS_COUNTED[total], facts))


def _count_distinct(values: Iterable[str]) -> Iterator[int]:
    seen: set[str] = set()
    for value in values:
        if value:
            seen.add(value)
        yield len(seen)
