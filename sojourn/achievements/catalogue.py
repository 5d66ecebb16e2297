"""Loads the built-in badges from `badges.toml`."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from sojourn.core.badges import Achievement, Requirement


@cache
def load_badges() -> tuple[Achievement, ...]:
    """All built-in badges in the order in which they are shown. The file is read on the first call."""
    text = (files("sojourn.achievements") / "badges.toml").read_text("utf-8")
    return tuple(_to_badge(entry) for entry in tomllib.loads(text)["badge"])


def _to_badge(entry: Mapping[str, Any]) -> Achievement:
    metric: str = entry.get("metric", "")
    requirements = tuple(Requirement(name, minimum) for name, minimum in entry.get("requirements", {}).items())
    kind = "multi_condition" if requirements else "best_session" if metric.startswith("max_") else "lifetime"
    return Achievement(
        id=entry["id"],
        title=entry["title"],
        story=entry["story"],
        category=entry["category"],
        kind=kind,
        icon=entry["icon"],
        metric=metric,
        tiers=tuple(entry.get("tiers", ())),
        requirements=requirements,
        secret=entry.get("secret", False),
    )
