"""The rule book: metrics, totals and badges as one value. Badges are loaded from `badges.toml`."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from sojourn.achievements.metrics import LISTED_TOTALS, METRICS, READING_FIELDS, TIER_NAMES, TOTALS, Total
from sojourn.badge_rules import Achievement, MetricRule, Requirement
from sojourn.core.errors import BadInput

# Grows when the scanner itself counts differently with unchanged rules.
SCANNER_VERSION = 3


@cache
def load_badges() -> tuple[Achievement, ...]:
    """All built-in badges in the order in which they are shown. The file is read on the first call."""
    text = (files("sojourn.achievements") / "badges.toml").read_text("utf-8")
    return tuple(_to_badge(entry) for entry in tomllib.loads(text)["badge"])


def _to_badge(entry: dict[str, Any]) -> Achievement:
    requirements = tuple(Requirement(name, minimum) for name, minimum in entry.get("requirements", {}).items())
    is_best = entry.get("metric", "").startswith("max_")
    kind = "multi_condition" if requirements else "best_session" if is_best else "lifetime"
    return Achievement(**entry | {"kind": kind, "tiers": tuple(entry.get("tiers", ())), "requirements": requirements})


@dataclass(frozen=True, slots=True)
class RuleBook:
    """Metrics, totals and badges. `extended` returns a book with those of a plugin added."""

    metrics: tuple[MetricRule, ...] = METRICS
    totals: tuple[Total, ...] = TOTALS
    achievements: tuple[Achievement, ...] = field(default_factory=load_badges)
    fields: tuple[str, ...] = field(init=False)  # the numbers of a session, in a fixed order
    digest: str = field(init=False)  # changes when sessions have to be counted again

    def __post_init__(self) -> None:
        reported = tuple(rule.key for rule in self.metrics if rule.reported)
        object.__setattr__(self, "fields", READING_FIELDS + reported)
        source = repr((SCANNER_VERSION, self.metrics)).encode()
        object.__setattr__(self, "digest", hashlib.blake2b(source, digest_size=8).hexdigest())
        self._check()

    def extend(self, metrics: Sequence[MetricRule], achievements: Sequence[Achievement]) -> RuleBook:
        """A copy with more metrics and badges; each new metric is summed over all sessions under its own name."""
        totals = tuple(Total(key=rule.key, of=rule.key, label=rule.key) for rule in metrics if rule.reported)
        return RuleBook(self.metrics + tuple(metrics), self.totals + totals, self.achievements + tuple(achievements))

    @property
    def labels(self) -> Mapping[str, str]:
        """A short description of each total."""
        return {**LISTED_TOTALS, **{total.key: total.label for total in self.totals}}

    def _check(self) -> None:
        """Validates the values, so that a plugin's mistake does not break a scan. Raises BadInput."""
        keys = [rule.key for rule in self.metrics]
        ids = [badge.id for badge in self.achievements]
        totals = {total.key for total in self.totals} | set(LISTED_TOTALS)
        for what, names in (("metrics", keys), ("achievements", ids)):
            twice = {name for name in names if names.count(name) > 1}
            if twice:
                raise BadInput(f"Two {what} are called {sorted(twice)}.", hint="Give each its own name.")
        for rule in self.metrics:
            for gate in rule.gates:
                if gate.key not in keys[: keys.index(rule.key)]:
                    raise BadInput(
                        f"{rule.key} depends on {gate.key}, which is not counted before it.", hint="Reorder."
                    )
        for badge in self.achievements:
            if len(badge.tiers) > len(TIER_NAMES) or bool(badge.tiers) == bool(badge.requirements):
                raise BadInput(f"{badge.id} has no goal, two kinds, or too many tiers.", hint="At most five tiers.")
            for metric in badge.metrics:
                if metric not in totals:
                    raise BadInput(f"{badge.id} looks at {metric}, which no metric counts.", hint="Add a metric.")
