"""The Hyperscan engine: runs all searches in one pass over the bytes."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence as Many
from typing import Any

import hyperscan

from sojourn.achievements.engine import BYTES_REGEX, FOLDS, PATH_STARTS, Hits
from sojourn.achievements.pattern_syntax import PatternToken, Sequence
from sojourn.achievements.plan import Plan, Search

_ASCII, _ASCII_IN_LINE = r"[\x00-\x7f]", r"[\x00-\x09\x0b-\x7f]"
_PATH_START = b"|".join(map(re.escape, PATH_STARTS)).decode()
_FOLDING = b"|".join(letter for letter, _ in FOLDS).decode("latin-1")
_ESCAPES = r"\\(?:/|u00)"
_ONCE = hyperscan.HS_FLAG_SINGLEMATCH


class HyperscanEngine:
    """The searches of one plan, compiled by Hyperscan."""

    def __init__(self, plan: Plan) -> None:
        searches = plan.searches
        self._lengths = tuple(search.length for search in searches)
        self._varying = [number for number, one in enumerate(searches) if _needs_start(one)]
        expressions = [(_to_expression(one), _to_flags(one)) for one in searches]
        self._text = _compile([*expressions, (_FOLDING, _ONCE), (_PATH_START, 0)])
        self._calls = _compile([(_PATH_START, 0), (_ESCAPES, _ONCE)])

    def scan(self, data: bytes) -> Hits:
        size = len(self._lengths)
        ends: list[list[int]] = [[] for _ in range(size + 2)]
        starts: dict[int, list[int]] = {number: [] for number in self._varying}
        add_end = [one.append for one in ends]

        def hit(number: int, start: int, end: int, _flags: int, _context: object) -> None:
            add_end[number](end)
            if start:  # 0 if the search reports no starts, and at the beginning of the text
                starts[number].append(start)

        self._text.scan(data, hit)
        paths, folding = ends.pop(), ends.pop()
        for number in self._varying:
            if len(starts[number]) < len(ends[number]):
                starts[number].insert(0, 0)
        return Hits(data, self._lengths, ends, starts, paths, bool(folding))

    def paths(self, data: bytes) -> tuple[list[int], bool]:
        ends: tuple[list[int], list[int]] = ([], [])

        def hit(number: int, _start: int, end: int, _flags: int, _context: object) -> None:
            ends[number].append(end)

        self._calls.scan(data, hit)
        return ends[0], bool(ends[1])


def _compile(expressions: Many[tuple[str, int]]) -> Any:
    database = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
    database.compile(
        expressions=[expression.encode("latin-1") for expression, _ in expressions],
        ids=list(range(len(expressions))),
        flags=[flags for _, flags in expressions],
    )
    database.scratch = hyperscan.Scratch(database)
    return database


def _needs_start(search: Search) -> bool:
    return search.kind in ("spots", "runs") and search.length is None


def _to_flags(search: Search) -> int:
    flags: int = hyperscan.HS_FLAG_CASELESS
    if search.kind in ("maybe", "surely"):
        return flags | _ONCE
    return flags | hyperscan.HS_FLAG_SOM_LEFTMOST if _needs_start(search) else flags


def _to_expression(search: Search) -> str:
    spell = _to_strict_regex if search.kind == "surely" else _to_loose_regex
    return "|".join(spell(row, edges=search.kind != "runs") for row in _factor(search.rows))


# A row whose literal pieces are choices: `[b]{npm,pip}[b]` instead of two rows.
_Row = tuple[PatternToken | tuple[str, ...], ...]


def _factor(rows: tuple[Sequence, ...]) -> list[_Row]:
    """Merges rows that are all combinations of some literals into one, which Hyperscan compiles in half the time.

    The order of the alternatives is lost, so only yes-or-no searches may have several rows."""
    groups: dict[tuple[PatternToken | None, ...], list[Sequence]] = {}
    for row in rows:
        shape = tuple(piece if isinstance(piece, PatternToken) else None for piece in row.pieces)
        groups.setdefault(shape, []).append(row)
    made: list[_Row] = []
    for group in groups.values():
        columns = [tuple(dict.fromkeys(column)) for column in zip(*(row.pieces for row in group), strict=True)]
        if math.prod(len(column) for column in columns) == len(group):
            made.append(tuple(column[0] if isinstance(column[0], PatternToken) else column for column in columns))
        else:
            made += [tuple(one if isinstance(one, PatternToken) else (one,) for one in row.pieces) for row in group]
    return made


def _to_loose_regex(row: _Row, *, edges: bool) -> str:
    """A regex that accepts any byte above 127 as a word boundary."""
    regex = ""
    for piece in row:
        if isinstance(piece, tuple):
            literals = "|".join(re.escape(text) for text in piece)
            regex += f"(?:{literals})" if len(piece) > 1 else literals
        elif edges or piece is not PatternToken.EDGE:
            regex += BYTES_REGEX[piece]
    return regex


def _to_strict_regex(row: _Row, *, edges: bool) -> str:
    """A regex that accepts a word boundary only next to an ASCII byte or at the end of the text."""
    regex = _to_loose_regex(row, edges=edges)
    regex = regex.replace(r"\b[^\n]*\b", rf"\b{_ASCII_IN_LINE}(?:[^\n]*{_ASCII_IN_LINE})?\b")
    if row[0] is PatternToken.EDGE:
        regex = f"(?:^|{_ASCII}){regex}"
    if row[-1] is PatternToken.EDGE:
        regex = rf"{regex}(?:\z|{_ASCII})"
    return regex
