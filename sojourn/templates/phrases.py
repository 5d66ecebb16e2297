"""The words by which results are judged, in English and Chinese. They are data: `phrases.toml` beside this file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files


class Sought:
    """A pattern that is tried only where one of the `words` stands without which it cannot be found (in lower case),
    and, if there are any, one of `others` too. Most lines have none of them, and a history has millions of lines."""

    __slots__ = ("_others", "_pattern", "_plain_words", "_words")

    def __init__(self, pattern: str, words: Sequence[str], others: Sequence[str] = ()) -> None:
        self._pattern, self._words, self._others = re.compile(pattern), tuple(words), tuple(others)
        self._plain_words = tuple(filter(str.isascii, words))

    def may_be_in(self, folded: str) -> bool:
        return _has_any(folded, self._plain_words if folded.isascii() else self._words)

    def search(self, text: str) -> re.Match[str] | None:
        folded = text.lower()
        if not self.may_be_in(folded) or (self._others and not _has_any(folded, self._others)):
            return None
        return self._pattern.search(text)


def _has_any(folded: str, words: Sequence[str]) -> bool:
    for word in words:  # noqa: SIM110  `any` takes twice as long
        if word in folded:
            return True
    return False


class Phrases(dict[str, tuple[str, ...]]):
    """The tables of one chapter, by name: words, or alternatives of a pattern."""

    def pattern(self, name: str) -> str:
        """A table as one pattern."""
        return "|".join(self[name])

    def sought(self, name: str) -> Sought:
        """A table as one pattern, tried only where one of the words in the table `<name>_needs` stands, and one of
        those in `<name>_needs_too`."""
        return Sought(self.pattern(name), self[f"{name}_needs"], self.get(f"{name}_needs_too", ()))


@cache
def _book() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(files("sojourn.templates").joinpath("phrases.toml").read_text("utf-8"))


def chapter(name: str) -> Phrases:
    return Phrases({table: tuple(lines) for table, lines in _book()[name].items()})
