"""Evaluates badges: turns totals into tiers and progress."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from sojourn.achievements.metrics import TIER_NAMES
from sojourn.badge_rules import Achievement

State = Literal["unlocked", "discovered", "secret"]
HIDDEN = "???"
SECRET_STORY = "A secret. It shows itself at the first sign of what it counts."
SECRET_CRITERIA = "Hidden until something in your history counts towards it."


@dataclass(frozen=True, slots=True, kw_only=True)
class BadgeProgress:
    """The tier and progress of one badge; the names of its fields are JSON keys."""

    unlocked: bool
    discovered: bool
    state: State
    tier: str | None
    next_tier: str | None
    progress: int
    next_threshold: int
    progress_pct: int


def evaluate_badge(badge: Achievement, totals: Mapping[str, int]) -> BadgeProgress:
    """The progress of a badge. A missing total counts as 0."""
    if badge.requirements:
        return _evaluate_requirements(badge, totals)
    return _evaluate_tiers(badge, int(totals.get(badge.metric) or 0))


def keep_unlocked(at: BadgeProgress, first_tier: str | None) -> BadgeProgress:
    """The progress of a badge that was unlocked before: it stays unlocked, whatever its total is now."""
    return at if at.unlocked else replace(at, unlocked=True, discovered=True, state="unlocked", tier=first_tier)


def _evaluate_tiers(badge: Achievement, value: int) -> BadgeProgress:
    reached = sum(step <= value for step in badge.tiers)
    is_top = reached == len(badge.tiers)
    percent = 100 if is_top else _percent_of_step(badge.tiers, reached, value)
    return BadgeProgress(
        unlocked=reached > 0,
        discovered=value > 0 or not badge.secret,
        state=_choose_state(badge, unlocked=reached > 0, hidden=value == 0),
        tier=TIER_NAMES[reached - 1] if reached else None,
        next_tier=None if is_top else TIER_NAMES[reached],
        progress=value,
        next_threshold=badge.tiers[-1] if is_top else badge.tiers[reached],
        progress_pct=percent,
    )


def _percent_of_step(tiers: tuple[int, ...], reached: int, value: int) -> int:
    """Percent of the way from the last tier to the next. The order of the operations matters for equal numbers."""
    current = tiers[reached - 1] if reached else 0
    share = (value - current) / max(1, tiers[reached] - current)
    return max(0, min(99, math.floor(share * 100)))


def _evaluate_requirements(badge: Achievement, totals: Mapping[str, int]) -> BadgeProgress:
    values = [int(totals.get(one.metric) or 0) for one in badge.requirements]
    unlocked = all(value >= one.at_least for value, one in zip(values, badge.requirements, strict=True))
    total = 0.0
    for value, one in zip(values, badge.requirements, strict=True):  # left to right: `sum` may add differently
        total += min(1.0, value / max(1, one.at_least))
    percent = math.floor(total / len(values) * 100)
    return BadgeProgress(
        unlocked=unlocked,
        discovered=any(values) or not badge.secret,
        state=_choose_state(badge, unlocked=unlocked, hidden=not any(values)),
        tier=None,
        next_tier=None,
        progress=percent,
        next_threshold=100,
        progress_pct=100 if unlocked else min(99, percent),
    )


def _choose_state(badge: Achievement, *, unlocked: bool, hidden: bool) -> State:
    if unlocked:
        return "unlocked"
    return "secret" if badge.secret and hidden else "discovered"


def badge_to_json(badge: Achievement, at: BadgeProgress, labels: Mapping[str, str]) -> dict[str, Any]:
    """A badge in the JSON form of the routes; a secret one keeps its keys and hides their values."""
    hidden = at.state == "secret"
    shown: dict[str, Any] = {
        "id": badge.id,
        "name": HIDDEN if hidden else badge.title,
        "description": SECRET_STORY if hidden else badge.story,
        "category": badge.category,
        "kind": badge.kind,
        "icon": "secret" if hidden else badge.icon,
    }
    if badge.secret:
        shown["secret"] = True
    if badge.requirements:
        shown["requirements"] = [
            {"metric": HIDDEN, "gte": 0} if hidden else {"metric": one.metric, "gte": one.at_least}
            for one in badge.requirements
        ]
    else:
        shown["threshold_metric"] = HIDDEN if hidden else badge.metric
        shown["tiers"] = [
            {"name": name, "threshold": 0 if hidden else step}
            for name, step in zip(TIER_NAMES, badge.tiers, strict=False)
        ]
    return shown | asdict(at) | {"criteria": SECRET_CRITERIA if hidden else describe_criteria(badge, labels)}


def describe_criteria(badge: Achievement, labels: Mapping[str, str]) -> str:
    """What the badge counts, as one sentence."""
    if badge.requirements:
        return "; ".join(f"{labels[one.metric]} ≥ {one.at_least:,}" for one in badge.requirements)
    ladder = ", ".join(f"{name} {step:,}" for name, step in zip(TIER_NAMES, badge.tiers, strict=False))
    label = labels[badge.metric]
    return f"{label[0].upper()}{label[1:]}: {ladder}"
