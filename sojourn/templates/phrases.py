"""The words by which results are judged, in English and Chinese. They are data: `phrases.toml` beside this file."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files


class Phrases(dict[str, tuple[str, ...]]):
    """The tables of one chapter, by name: words, or alternatives of a pattern."""

    def pattern(self, name: str) -> str:
        """A table as one pattern."""
        return "|".join(self[name])


@cache
def _book() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(files("sojourn.templates").joinpath("phrases.toml").read_text("utf-8"))


def chapter(name: str) -> Phrases:
    return Phrases({table: tuple(lines) for table, lines in _book()[name].items()})
