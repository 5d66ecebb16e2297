"""The words by which results are judged, in English and Chinese. They are data: `phrases.toml` beside this file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files


class Sought:
    """A pattern that is tried only where one of the `words` stands without which it cannot be found (in lower case).
    Most lines have none of them, and a history has millions of lines."""

    __slots__ = ("_pattern", "_words")

    def __init__(self, pattern: str, words: Sequence[str]) -> None:
        self._pattern, self._words = re.compile(pattern), tuple(words)

    def may_be_in(self, folded: str) -> bool:
        for word in self._words:  # noqa: SIM110  `any` takes twice as long
            if word in folded:
                return True
        return False

    def search(self, text: str) -> re.Match[str] | None:
        return self._pattern.search(text) if self.may_be_in(text.lower()) else None


class Phrases(dict[str, tuple[str, ...]]):
    """The tables of one chapter, by name: words, or alternatives of a pattern."""

    def pattern(self, name: str) -> str:
        """A table as one pattern."""
        return "|".join(self[name])

    def sought(self, name: str) -> Sought:
        """A table as one pattern, tried only where one of the words in the table `<name>_needs` stands."""
        return Sought(self.pattern(name), self[f"{name}_needs"])


@cache
def _book() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(files("sojourn.templates").joinpath("phrases.toml").read_text("utf-8"))


def chapter(name: str) -> Phrases:
    return Phrases({table: tuple(lines) for table, lines in _book()[name].items()})
