"""Incremental totals over all counted sessions."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import product

from sojourn.achievements.rules import RuleBook
from sojourn.achievements.session_cache import CacheRecord
from sojourn.ports.history import Moment

_Best = tuple[CacheRecord, int]


class SessionAggregate:
    """All counted sessions and their totals; the cost of a change does not depend on the number of sessions."""

    def __init__(self, book: RuleBook, records: Sequence[CacheRecord] = ()) -> None:
        self._book = book
        self._records: dict[str, CacheRecord] = {}
        self._listed = ListTotals()
        self._added = [0] * len(book.fields)
        self._bests: dict[int, _Best] = {}  # column → session with the largest value, if known
        self.problems = 0  # malformed rows
        self._oldest_change = -math.inf  # the earliest start of a session that changed; at first, all did
        self.change(records)

    def __len__(self) -> int:
        return len(self._records)

    def __contains__(self, session: object) -> bool:
        return session in self._records

    def __iter__(self) -> Iterator[CacheRecord]:
        """Iterates over a copy in scan order, so that another thread may change the aggregate meanwhile."""
        now = list(self._records.values())
        return iter(sorted(now, key=lambda record: record.facts.order))

    def get(self, session: str) -> CacheRecord | None:
        return self._records.get(session)

    def change(self, come: Sequence[CacheRecord], gone: Iterable[str] = ()) -> None:
        """Adds or replaces the sessions in `come` and removes those in `gone`. A session occurs once in `come`."""
        known = self._records
        before = [known[record.facts.id] for record in come if record.facts.id in known]
        before += [known.pop(session) for session in gone if session in known]
        known.update((record.facts.id, record) for record in come)
        for record in come:
            self._listed.add(record.facts.started_at, record.facts.model)
        for record in before:
            self._listed.add(record.facts.started_at, record.facts.model, times=-1)
        self._oldest_change = min([self._oldest_change, *map(find_start, before), *map(find_start, come)])
        self.problems += sum(map(_problems, come)) - sum(map(_problems, before))
        more, less = self._columns(come), self._columns(before)
        self._added = [old + new - away for old, new, away in zip(self._added, more, less, strict=True)]
        self._bests = {at: best for at, best in self._bests.items() if best[0].facts.id in known}
        for at, record in product(list(self._bests), come):
            self._challenge(at, record)

    def _columns(self, records: Sequence[CacheRecord]) -> list[int]:
        columns = zip(*(record.contribution.values for record in records), strict=True)
        return [sum(column) for column in columns] or [0] * len(self._added)

    def take_oldest_change(self) -> float:
        """The earliest start among the sessions that changed since the last call; infinity if none did."""
        oldest, self._oldest_change = self._oldest_change, math.inf
        return oldest

    def totals(self) -> dict[str, int]:
        found, fields = self._listed.totals(), self._book.fields
        for total in self._book.totals:
            at = fields.index(total.of)
            best = self._best(at) if total.how == "max" else None
            found[total.key] = self._added[at] if total.how == "sum" else best[1] if best else 0
        return found

    def best(self, total: str) -> _Best | None:
        """The session with the largest value of a `max` total, the first in scan order among equals; None for sums."""
        of = next((one.of for one in self._book.totals if one.key == total and one.how == "max"), None)
        return None if of is None else self._best(self._book.fields.index(of))

    def _challenge(self, at: int, record: CacheRecord) -> None:
        """Updates the largest value of a column; forgets it if its session now has a smaller one."""
        if at not in self._bests:
            return
        holder, value = self._bests[at]
        now = record.contribution.values[at]
        if (-now, record.facts.order) <= (-value, holder.facts.order):
            self._bests[at] = record, now
        elif holder.facts.id == record.facts.id:
            del self._bests[at]

    def _best(self, at: int) -> _Best | None:
        """The largest value of a column; searched for among all sessions only if it is not known."""
        if at not in self._bests and self._records:
            column = [record.contribution.values[at] for record in self._records.values()]
            value = max(column)
            equals = (record for record, one in zip(self._records.values(), column, strict=True) if one == value)
            self._bests[at] = min(equals, key=lambda record: record.facts.order), value
        return self._bests.get(at)


def find_start(record: CacheRecord) -> float:
    """When a session began; infinity if that is no time."""
    started = record.facts.started_at
    return started if isinstance(started, (int, float)) else math.inf


def _problems(record: CacheRecord) -> int:
    return record.contribution.problems + record.facts.malformed


_VENDORS = (
    *("openai", "anthropic", "google", "gemini", "mistral", "meta", "qwen", "deepseek", "xai", "nous", "ollama"),
    *("groq", "openrouter", "codex"),
)
_LOCAL = ("ollama", "llama.cpp", "localhost", "127.0.0.1", "local/", "local:", "gguf", "vllm-local")


class ListTotals:
    """Totals that need only the list of sessions, in the time zone of this process."""

    def __init__(self) -> None:
        self.count = 0
        self._models: Counter[str] = Counter()
        self._days: Counter[tuple[bool, bool]] = Counter()  # (weekend, night)

    def add(self, started_at: Moment, model: str | None, *, times: int = 1) -> None:
        """Adds a session; `times=-1` removes it again."""
        self.count += times
        if model:
            self._models[model] += times
        self._days[is_weekend_and_night(started_at)] += times

    def totals(self) -> dict[str, int]:
        models, days = +self._models, self._days
        named = set(models) - {"None"}
        return {
            "session_count": self.count,
            "distinct_model_count": len(named),
            "distinct_provider_count": len({find_provider(model) for model in named} - {""}),
            "local_model_chat_sessions": sum(count for model, count in models.items() if is_local_model(model)),
            "weekend_sessions": days[True, False] + days[True, True],
            "night_sessions": days[False, True] + days[True, True],
        }


def is_weekend_and_night(started_at: Moment) -> tuple[bool, bool]:
    """Whether a session began on a Saturday or Sunday, and whether between 23:00 and 06:00, local time."""
    if not started_at:
        return False, False
    try:
        local = time.localtime(float(started_at))  # a text may be a number after all
    except (OverflowError, ValueError, OSError):
        return False, False
    return local.tm_wday >= 5, local.tm_hour >= 23 or local.tm_hour < 6


def find_provider(model: str) -> str:
    """The vendor a model name suggests; empty when it suggests none."""
    name = model.strip().lower()
    if not name or name == "none":
        return ""
    if "/" in name:
        return name.split("/", 1)[0]
    for vendor in _VENDORS:
        if vendor in name:
            return "google" if vendor == "gemini" else vendor
    return name.split(":", 1)[0].split("-", 1)[0]


def is_local_model(model: str) -> bool:
    """Whether a model name says that it runs on the person's own hardware."""
    name = model.strip().lower()
    return name != "none" and any(mark in name for mark in _LOCAL)
