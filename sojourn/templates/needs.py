"""What a pattern cannot do without, read off the pattern itself: words of which every text that it fits holds one.

Looking for words takes a hundredth of trying a pattern, and most lines of a history hold none of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

Words = frozenset[str]  # in lower case

_MOST = 24  # words: looking for more takes as long as trying the pattern
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)


def needed(pattern: str) -> list[Words]:
    """Sets of words, the most telling first: a text in which the pattern is found holds a word of each set."""
    found = {words for words in _needed(parser.parse(pattern)) if len(words) <= _MOST}
    return sorted(found, key=lambda words: (-_telling(words), len(words), sorted(words)))


def _telling(words: Words) -> int:
    """How much it says that one of them is there: as much as the shortest does."""
    return min(map(_weight, words))


def _weight(word: str) -> int:
    return sum(1 if letter.isascii() else 3 for letter in word)  # a Chinese character is as rare as a word


def _needed(parts: Iterable[Any]) -> Iterator[Words]:
    run = ""
    for kind, what in parts:
        if kind is op.LITERAL:
            run += chr(what)
        elif kind is not op.AT:  # a place takes no room
            yield from _run(run)
            run = ""
            yield from _of_part(kind, what)
    yield from _run(run)


def _run(letters: str) -> Iterator[Words]:
    if letters:
        yield frozenset((letters.lower(),))


def _of_part(kind: Any, what: Any) -> Iterator[Words]:
    if kind is op.SUBPATTERN:
        yield from _needed(what[-1])
    elif kind is op.ATOMIC_GROUP:
        yield from _needed(what)
    elif kind in _REPEATS:
        if what[0]:
            yield from _needed(what[2])
    elif kind is op.BRANCH:
        yield from _of_branches(what[1])
    elif kind is op.IN and all(one is op.LITERAL for one, _ in what):
        yield frozenset(chr(letter).lower() for _, letter in what)
    elif kind is op.IN and what[0][0] is op.RANGE and len(what) == 1:
        first, last = what[0][1]
        if last - first < _MOST:
            yield frozenset(chr(letter).lower() for letter in range(first, last + 1))


def _of_branches(branches: Iterable[Any]) -> Iterator[Words]:
    """One of the best words of each; nothing, if one of them needs none."""
    best = [max(_needed(branch), key=_telling, default=None) for branch in branches]
    words = [one for one in best if one is not None]
    if len(words) == len(best):
        yield frozenset().union(*words)
