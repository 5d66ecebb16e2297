"""What the rule-driven half says of its own accord, from replies.toml, in English and Chinese."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files


@cache
def texts() -> Mapping[str, Mapping[str, str]]:
    """Every text by its name, then by its language."""
    return tomllib.loads(files("sojourn.runtimes.offline").joinpath("replies.toml").read_text("utf-8"))


def say(name: str, chinese: bool, **values: object) -> str:
    """One of our texts, filled in."""
    return texts()[name]["zh" if chinese else "en"].format(**values)
