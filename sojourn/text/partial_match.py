"""Partial matches: whether a text may be the beginning of a match that only more text can decide.

The partial form of a pattern is built from its parse tree: it matches where some path through the pattern has used up
the text. So a new pattern needs no second form that somebody has to keep in step. The parser is a private part of
Python's `re`. If a Python does not have it, or it works differently there, every partial match counts as open: text
behind a hint is then held back for longer than needed, but no secret is shown.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any

try:
    from re import _compiler, _parser  # type: ignore[attr-defined]
    from re._constants import (  # type: ignore[import-not-found]
        ASSERT,
        ASSERT_NOT,
        AT,
        AT_END_STRING,
        ATOMIC_GROUP,
        BRANCH,
        MAX_REPEAT,
        MIN_REPEAT,
        POSSESSIVE_REPEAT,
        SUBPATTERN,
    )
except ImportError:  # another Python than those that were tried
    _parser = None
    ASSERT = ASSERT_NOT = AT = AT_END_STRING = ATOMIC_GROUP = BRANCH = MAX_REPEAT = MIN_REPEAT = None
    POSSESSIVE_REPEAT = SUBPATTERN = None

MAX_HELD_CHARS = 65_536  # the longest match of any pattern: no more is ever held back
NAME_CHARS = 512  # how far before a secret its match may begin
_END = (AT, AT_END_STRING)
_SOME_TEXT = (ASSERT_NOT, (1, [_END]))
_REPEATS = (MAX_REPEAT, MIN_REPEAT, POSSESSIVE_REPEAT)
Item = tuple[Any, Any]  # an operation of the parse tree and its arguments


class PartialPattern:
    """The partial form of a pattern, from the beginning of its group `secret` on (of all, if it has no such group).

    least: how many characters come at least before the secret. before, longest: how many at most before it, and in all.
    """

    def __init__(self, pattern: str, flags: int) -> None:
        self.least, self.before, self.longest = 0, NAME_CHARS, MAX_HELD_CHARS
        self._compiled: re.Pattern[str] | None = None
        self._tree: Any = None
        if _can_parse():
            self._build(pattern, flags)

    def _build(self, pattern: str, flags: int) -> None:
        tree = _parser.parse(pattern, flags)
        group = tree.state.groupdict.get("secret")
        at = next((n for n, (op, given) in enumerate(tree) if op is SUBPATTERN and given[0] == group), 0)
        at = at if group is not None else 0
        self.least, self.before = _measure(tree, list(tree)[:at]) if at else (0, 0)
        self.longest = _measure(tree, list(tree))[1]
        self._tree, self._items = tree, [*list(tree)[:at], _SOME_TEXT, *_to_partial(tree, list(tree)[at:])]

    def is_open(self, text: str, at: int) -> bool:
        """Whether a match from `at` has reached its secret, and may still become one, or become longer."""
        if self._tree is None:
            return True
        if self._compiled is None:
            self._compiled = _compiler.compile(_build(self._tree, self._items), self._tree.state.flags)
        return self._compiled.match(text, at) is not None


@cache
def _can_parse() -> bool:
    """Whether this Python's parser gives what is expected of it, tried on a small pattern."""
    if _parser is None:
        return False
    trial = PartialPattern.__new__(PartialPattern)
    trial._compiled = None
    try:
        trial._build("ab?(?P<secret>(?:c|d){2,3}+)(?!e)", 0)
        shown = [trial.is_open(text, 0) for text in ("ab", "abc", "abcd", "abcde", "abx")]
    except (AttributeError, LookupError, RuntimeError, TypeError, ValueError, re.error):
        return False
    return (trial.least, trial.before, trial.longest) == (1, 2, 5) and shown == [False, True, True, True, False]


def _build(tree: Any, items: list[Item]) -> Any:
    return _parser.SubPattern(tree.state, items)


def _measure(tree: Any, items: list[Item]) -> tuple[int, int]:
    least, most = _build(tree, items).getwidth()
    return int(least), int(most)


def _to_partial(tree: Any, items: list[Item]) -> list[Item]:
    """Matches where the text ends before, inside or right after these items."""
    partial: list[Item] = [_END]
    for item in reversed(items):
        partial = [(BRANCH, (None, [_build(tree, _end_inside(tree, item)), _build(tree, [item, *partial])]))]
    return partial


def _end_inside(tree: Any, item: Item) -> list[Item]:
    """Matches where the text ends before or inside an item."""
    op, given = item
    if op is BRANCH:
        return [(BRANCH, (None, [_build(tree, _to_partial(tree, list(one))) for one in given[1]]))]
    if op is SUBPATTERN:
        return _to_partial(tree, list(given[3]))
    if op is ATOMIC_GROUP:
        return _to_partial(tree, list(given))
    if op in _REPEATS:
        _, most, one = given
        if one.getwidth() == (1, 1):
            return [(POSSESSIVE_REPEAT, (0, most, one)), _END]
        return [(MAX_REPEAT, (0, most, one)), *_to_partial(tree, list(one))]
    if op in (ASSERT, ASSERT_NOT) and given[0] == 1:  # what it looks ahead for may not be there yet
        return [(ASSERT, (1, _build(tree, _to_partial(tree, list(given[1])))))]
    return [_END]
