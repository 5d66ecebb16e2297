"""Partial matches: whether a text may be the beginning of a match that only more text can decide.

The partial form of a pattern is built from its parse tree: it matches where some path through the pattern has used up
the text. So a new pattern needs no second form that somebody has to keep in step.
"""

from __future__ import annotations

import re
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
from typing import Any

_END = (AT, AT_END_STRING)
_SOME_TEXT = (ASSERT_NOT, (1, [_END]))
_REPEATS = (MAX_REPEAT, MIN_REPEAT, POSSESSIVE_REPEAT)
Item = tuple[Any, Any]  # an operation of the parse tree and its arguments


class PartialPattern:
    """The partial form of a pattern, from the beginning of its group `secret` on (of all, if it has no such group).

    least: how many characters come at least before the secret. before, longest: how many at most before it, and in all.
    """

    def __init__(self, pattern: str, flags: int) -> None:
        tree = _parser.parse(pattern, flags)
        group = tree.state.groupdict.get("secret")
        at = next((n for n, (op, given) in enumerate(tree) if op is SUBPATTERN and given[0] == group), 0)
        at = at if group is not None else 0
        self.least, self.before = _measure(tree, list(tree)[:at]) if at else (0, 0)
        self.longest = _measure(tree, list(tree))[1]
        self._tree, self._items = tree, [*list(tree)[:at], _SOME_TEXT, *_to_partial(tree, list(tree)[at:])]
        self._compiled: re.Pattern[str] | None = None

    def is_open(self, text: str, at: int) -> bool:
        """Whether a match from `at` has reached its secret, and may still become one, or become longer."""
        if self._compiled is None:
            self._compiled = _compiler.compile(_build(self._tree, self._items), self._tree.state.flags)
        return self._compiled.match(text, at) is not None


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
