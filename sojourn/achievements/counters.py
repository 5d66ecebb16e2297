"""Counters: turn hits into the numbers that leftmost-first matching without overlaps gives.

An engine reports every hit of a search, overlapping or not. Each counter turns the hits of its searches into the number
that scanning the text from left to right would give, in time linear in the text. `spans` returns the hits themselves.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import chain

from sojourn.achievements.engine import Hits
from sojourn.achievements.pattern_syntax import PatternToken, Sequence, to_re

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class SpotCounter:
    """Counts hits of rows without runs. Hits that cannot overlap others are simply added up."""

    numbers: tuple[int, ...]
    alone: tuple[int, ...]
    meeting: tuple[int, ...]

    def count(self, hits: Hits) -> int:
        count, ends = 0, hits.ends
        for number in self.alone:
            count += len(ends[number])
        meeting = [number for number in self.meeting if ends[number]]
        if len(meeting) == 1 and (length := hits.lengths[meeting[0]]) is not None:
            return count + _count_apart(ends[meeting[0]], length)
        return count + len(drop_overlaps(sort_spans(hits, self.meeting))) if meeting else count

    def spans(self, hits: Hits) -> list[Span]:
        return drop_overlaps(sort_spans(hits, self.numbers))


def _count_apart(ends: list[int], length: int) -> int:
    """The number of hits of one search that remain without overlaps; `ends` are in ascending order."""
    count = free = 0
    for end in ends:
        if end - length >= free:
            count += 1
            free = end
    return count


@dataclass(frozen=True, slots=True)
class LineCounter:
    """Counts rows of which one kind matches greedily, from the first head in a line to the last end.

    This class searches for what follows a head, not the engine: Hyperscan misses some of it (decision 0014).
    """

    head: int
    last: int  # the search that tells whether any of the last texts occurs
    tails: Mapping[bytes, tuple[tuple[bytes, ...], ...]]  # last text → texts required before it, per row
    others: SpotCounter

    def count(self, hits: Hits) -> int:
        swallowed = self._swallowed(hits)
        return len(self._apart(hits, swallowed)) if swallowed else self.others.count(hits)

    def spans(self, hits: Hits) -> list[Span]:
        return self._apart(hits, self._swallowed(hits))

    def _swallowed(self, hits: Hits) -> list[tuple[int, int, int]]:
        found = list[tuple[int, int, int]]()
        if hits.ends[self.head] and hits.ends[self.last]:
            small, size = hits.lowered, hits.lengths[self.head] or 0
            for start, stop in find_first_in_lines(hits, self.head):
                for text, between in self.tails.items():
                    last = small.rfind(text, start + size, stop)
                    if last >= 0 and any(_stand_between(small, start + size, last, texts) for texts in between):
                        found.append((start, -1, last + len(text)))
        return sorted(found, key=lambda span: (span[0], -span[2]))  # the last of several ends

    def _apart(self, hits: Hits, swallowed: list[tuple[int, int, int]]) -> list[Span]:
        return drop_overlaps(sorted(swallowed + sort_spans(hits, self.others.numbers), key=lambda span: span[:2]))


def find_first_in_lines(hits: Hits, head: int) -> Iterator[Span]:
    """The first place of a fixed-length head in each line, and where that line ends."""
    data, size, line_end = hits.data, hits.lengths[head] or 0, -1
    for end in hits.ends[head]:
        if end - size > line_end:
            line_end = data.find(b"\n", end)
            line_end = len(data) if line_end < 0 else line_end
            yield end - size, line_end


def _stand_between(small: bytes, start: int, stop: int, texts: tuple[bytes, ...]) -> bool:
    """Whether all of these texts occur, one after the other."""
    for text in texts:
        start = small.find(text, start, stop) + len(text)
        if start < len(text):
            return False
    return True


@dataclass(frozen=True, slots=True)
class MessageCounter:
    """Counts the messages with at least one hit."""

    numbers: tuple[int, ...]

    def count(self, hits: Hits) -> int:
        count, stop = 0, -1
        for end in sorted(chain.from_iterable(hits.ends[number] for number in self.numbers)):
            if end > stop:
                count += 1
                stop = hits.stops[bisect_left(hits.stops, end)]
        return count

    def spans(self, hits: Hits) -> list[Span]:
        return drop_overlaps(sort_spans(hits, self.numbers))


@dataclass(frozen=True, slots=True)
class WindowCounter:
    """Counts rows with identifier runs: `re` matches in a window around their hits.

    `reach` is how much text after the hits it takes to judge them. Where none of the `runs` is found there is nothing
    to judge, and mostly none is.
    """

    numbers: tuple[int, ...]
    runs: tuple[int, ...]
    pattern: re.Pattern[str]
    reach: int

    def count(self, hits: Hits) -> int:
        return len(self.spans(hits))

    def spans(self, hits: Hits) -> list[Span]:
        """Matches in windows of overlapping hits."""
        spans = sort_spans(hits, self.numbers)
        if not any(hits.ends[number] for number in self.runs):
            return drop_overlaps(spans)
        places = [(start, end) for start, _, end in spans]
        found: list[Span] = []
        begin, end = places[0]
        for start, stop in [*places[1:], (len(hits.data) + 1, 0)]:
            if start >= end:
                found += self._in_window(hits.data, begin, end)
                begin, end = start, stop
            end = max(end, stop)
        return found

    def _in_window(self, data: bytes, begin: int, end: int) -> list[Span]:
        """Matches in one window, with enough context that no word boundary depends on where it was cut."""
        before = data[max(0, begin - 4) : begin].decode("utf-8", "replace")
        inside = data[begin:end].decode("utf-8", "replace")
        text = before + inside + data[end : end + self.reach].decode("utf-8", "replace")
        limit = len(before) + len(inside)
        taken = [hit.span() for hit in self.pattern.finditer(text, len(before)) if hit.end() <= limit]
        shift = begin - len(before)  # what is found here is ASCII, and what comes before it in the window too
        return [(start + shift, stop + shift) for start, stop in taken]


@dataclass(frozen=True, slots=True)
class ExistsCounter:
    """Counts 1 if there is any hit. A hit of the strict search is certain; one of the loose search is verified."""

    maybe: int
    surely: int
    rows: tuple[Sequence, ...]

    def count(self, hits: Hits) -> int:
        if not hits.ends[self.maybe]:
            return 0
        if hits.ends[self.surely] or hits.data.isascii():
            return 1
        return int(matches_any(self.rows, hits.data.decode("utf-8", "replace")))

    def spans(self, hits: Hits) -> list[Span]:
        return list(zip(hits.starts.get(self.maybe, ()), hits.ends[self.maybe], strict=False))


Counter = SpotCounter | LineCounter | MessageCounter | WindowCounter | ExistsCounter


def sort_spans(hits: Hits, numbers: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """All hits as (start, rank of the alternative, end), in the order in which `re` would try them."""
    spans: list[tuple[int, int, int]] = []
    for rank, number in enumerate(numbers):
        if hits.ends[number]:
            spans += [(start, rank, end) for start, end in hits.spans(number)]
    spans.sort()
    return spans


def drop_overlaps(spans: list[tuple[int, int, int]]) -> list[Span]:
    """The spans that remain when each span, from left to right, excludes those that overlap it."""
    taken = []
    free = 0
    for start, _, end in spans:
        if start >= free:
            taken.append((start, end))
            free = end
    return taken


def matches_any(rows: tuple[Sequence, ...], text: str) -> bool:
    """Whether any row matches the text, in linear time also for rows with [..]."""
    plain = tuple(row for row in rows if not row.has(PatternToken.REST))
    if plain and re.search(to_re(plain), text, re.IGNORECASE):
        return True
    return any(_fits_in_a_line(row, text) for row in rows if row.has(PatternToken.REST))


def _fits_in_a_line(row: Sequence, text: str) -> bool:
    """Taking the first match of each part is enough: it leaves the most room for the parts that follow."""
    parts = [re.compile(to_re((part,)), re.IGNORECASE) for part in row.split_at_rest()]
    at = 0
    while (head := parts[0].search(text, at)) is not None:
        line_end = text.find("\n", head.end())
        line_end = len(text) if line_end < 0 else line_end
        if _follow(parts[1:], text, head.end(), line_end):
            return True
        at = line_end
    return False


def _follow(parts: list[re.Pattern[str]], text: str, at: int, line_end: int) -> bool:
    """Whether all parts match one after the other before the line ends."""
    for part in parts:
        hit = part.search(text, at, line_end + 1)  # includes the line feed, for a word boundary at the end
        if hit is None or hit.end() > line_end:
            return False
        at = hit.end()
    return True
