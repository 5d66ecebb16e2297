"""The engine without Hyperscan: finds the same hits with the standard library."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from sojourn.achievements.engine import BYTES_REGEX, FOLDS, PATH_STARTS, Hits, is_word_after, is_word_before
from sojourn.achievements.pattern_syntax import PatternToken, Sequence
from sojourn.achievements.plan import Plan, Search
from sojourn.core.errors import BadInput

_IDENT = frozenset(b"abcdefghijklmnopqrstuvwxyz0123456789_-")


class PlainEngine:
    """Runs one search after the other; `bytes.find` locates the first literal of each."""

    def __init__(self, plan: Plan) -> None:
        self._searches = plan.searches
        self._lengths = tuple(search.length for search in plan.searches)
        self._finders = [_build_finders(search) for search in plan.searches]

    def scan(self, data: bytes) -> Hits:
        lower = data.lower()
        folds = not data.isascii() and any(letter in data for letter, _ in FOLDS)
        hits = Hits(data, self._lengths, [], {}, self.paths(data)[0], folds)
        for number, search in enumerate(self._searches):
            spans = list(self._spans(number, search, lower))
            hits.ends.append([end for _, end in spans])
            if self._lengths[number] is None:
                hits.starts[number] = [start for start, _ in spans]
        return hits

    def paths(self, data: bytes) -> tuple[list[int], bool]:
        ends = sorted(at + len(start) for start in PATH_STARTS for at in _find_all(data, start, 0, len(data)))
        return ends, b"\\/" in data or b"\\u00" in data

    def _spans(self, number: int, search: Search, lower: bytes) -> Iterator[tuple[int, int]]:
        finders = self._finders[number]
        if search.kind in ("maybe", "surely"):
            fit = next(filter(None, (_find_first(parts, lower) for parts in finders)), None)
            if fit is not None:
                yield fit
        else:
            yield from finders[0][0].spans(lower, 0, len(lower))


@dataclass(frozen=True, slots=True)
class _Finder:
    """Finds a row without [..] by its first literal. Word boundaries are exact beyond ASCII too."""

    row: Sequence
    literal: bytes
    rest: re.Pattern[bytes] | None  # the literal and what follows it, unless that is nothing
    in_run: bool  # identifier characters must come before the literal; the hit begins with the first of them

    def spans(self, lower: bytes, begin: int, stop: int) -> Iterator[tuple[int, int]]:
        row, size = self.row, len(self.literal)
        left, right = row.starts_at_edge and not self.in_run, row.ends_at_edge
        for start in _find_all(lower, self.literal, begin, stop):
            end = start + size
            if self.rest is not None:
                hit = self.rest.match(lower, start, stop)
                if hit is None:
                    continue
                end = hit.end()
            if self.in_run:
                first = _find_run_start(lower, start)
                if first < start:
                    yield first, end
            elif not (left and is_word_before(lower, start)) and not (right and is_word_after(lower, end)):
                yield start, end


def _build_finders(search: Search) -> list[list[_Finder]]:
    """One finder for each part between the [..] of each row."""
    return [[_build_finder(part) for part in row.split_at_rest()] for row in search.rows]


def _build_finder(row: Sequence) -> _Finder:
    pieces = [piece for piece in row.pieces if piece is not PatternToken.EDGE]
    in_run = pieces[0] is PatternToken.IDENT
    pieces = pieces[1:] if in_run else pieces
    literal = pieces[0]
    if not isinstance(literal, str):
        raise BadInput(f"A pattern begins with {literal}.", hint="Begin with literal text.")
    regex = "".join(BYTES_REGEX[piece] if isinstance(piece, PatternToken) else re.escape(piece) for piece in pieces)
    rest = re.compile(regex.encode()) if len(pieces) > 1 else None
    return _Finder(row, literal.encode(), rest, in_run)


def _find_all(data: bytes, text: bytes, begin: int, stop: int) -> Iterator[int]:
    at = data.find(text, begin, stop)
    while at >= 0:
        yield at
        at = data.find(text, at + 1, stop)


def _find_run_start(lower: bytes, at: int) -> int:
    while at > 0 and lower[at - 1] in _IDENT:
        at -= 1
    return at


def _find_first(parts: list[_Finder], lower: bytes) -> tuple[int, int] | None:
    """The first match of a row: its parts in order within one line."""
    at = 0
    while True:
        start, at = next(parts[0].spans(lower, at, len(lower)), (0, -1))
        if at < 0:
            return None
        if len(parts) == 1:
            return start, at
        line_end = lower.find(b"\n", at)
        line_end = len(lower) if line_end < 0 else line_end
        for part in parts[1:]:
            _, at = next(part.spans(lower, at, line_end), (0, -1))
            if at < 0:
                break
        else:
            return start, at
        at = line_end
