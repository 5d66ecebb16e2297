"""The words by which results are judged, in English and Chinese. They are data: `phrases.toml` beside this file."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from sojourn.templates.needs import needed


class Spotted(NamedTuple):
    """Which words stand somewhere in a text, of those that were looked for; all in lower case."""

    words: Sequence[str]
    of: frozenset[str]


class Sought:
    """Alternatives of a pattern, of which only those are tried that can be found: the words they need are in the text.
    Most lines have none of them, and a history has millions of lines. Which words were spotted in the whole text a line
    is from may be told: then no others are looked for."""

    __slots__ = ("_always", "_by_word", "_tries", "_unspotted")

    def __init__(self, *alternatives: str) -> None:
        self._tries: list[tuple[int, re.Pattern[str], tuple[Sequence[str], ...]]] = []
        self._always = 0
        self._by_word: dict[str, int] = {}  # which tries, as bits, need a word
        self._unspotted: tuple[frozenset[str] | None, Sequence[str]] = None, ()
        for number, alternative in enumerate(alternatives):
            words, *others = needed(alternative) or [frozenset[str]()]
            self._tries.append((1 << number, re.compile(alternative), tuple(map(tuple, others[:2]))))
            for word in words:
                self._by_word[word] = self._by_word.get(word, 0) | 1 << number
            self._always |= 0 if words else 1 << number

    def search(self, text: str, near: Spotted | None = None) -> re.Match[str] | None:
        """What is found first, as by one pattern."""
        best = None
        for pattern in self._worth_trying(text, near):
            hit = pattern.search(text)
            if hit is not None and (best is None or hit.start() < best.start()):
                best = hit
        return best

    def match(self, text: str, near: Spotted | None = None) -> re.Match[str] | None:
        for pattern in self._worth_trying(text, near):
            if hit := pattern.match(text):
                return hit
        return None

    def _worth_trying(self, text: str, near: Spotted | None) -> Sequence[re.Pattern[str]]:
        found, by_word, folded = self._always, self._by_word, ""
        for word in by_word if near is None else (*near.words, *self._not_of(near.of)):
            if word in by_word:
                folded = folded or text.lower()
                if word in folded:
                    found |= by_word[word]
        if not found:
            return ()
        folded = folded or text.lower()
        return [
            pattern
            for number, pattern, others in self._tries
            if number & found and all(has_any(folded, words) for words in others)
        ]

    def _not_of(self, spotted: frozenset[str]) -> Sequence[str]:
        """The words that nobody looked for in the whole text; mostly none."""
        if self._unspotted[0] is not spotted:
            self._unspotted = spotted, tuple(word for word in self._by_word if word not in spotted)
        return self._unspotted[1]


def has_any(folded: str, words: Iterable[str]) -> bool:
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
        """A table as one pattern that is looked for quickly."""
        return Sought(*self[name])

    def needed(self, *names: str) -> frozenset[str]:
        """The words without which nothing in these tables is found: each line's most telling ones."""
        found = [words for name in names for line in self[name] for words in needed(line)[:1]]
        return frozenset().union(*found)


@cache
def _book() -> dict[str, dict[str, list[str]]]:
    return tomllib.loads(files("sojourn.templates").joinpath("phrases.toml").read_text("utf-8"))


def chapter(name: str) -> Phrases:
    return Phrases({table: tuple(lines) for table, lines in _book()[name].items()})
