"""From hits to numbers, exactly as leftmost-first matching without overlaps would count them.

An engine reports every place where a search fits, overlapping or not. Each counter knows how to turn the
places of its searches into the number that scanning the text from left to right would give, in time linear
in the text. `spans` gives the hits themselves, for those who want to see them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from sojourn.achievements.engine import Hits
from sojourn.achievements.pattern_syntax import Sequence, Token, to_re

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class SpotCounter:
    """Hits of rows without runs. Those that can overlap no others just add up."""

    numbers: tuple[int, ...]
    alone: tuple[int, ...]
    meeting: tuple[int, ...]

    def count(self, hits: Hits) -> int:
        count, ends = 0, hits.ends
        for number in self.alone:
            count += len(ends[number])
        for number in self.meeting:
            if ends[number]:
                return count + len(apart(sort_spans(hits, self.meeting)))
        return count

    def spans(self, hits: Hits) -> list[Span]:
        return apart(sort_spans(hits, self.numbers))


@dataclass(frozen=True, slots=True)
class LineCounter:
    """Rows of which one kind swallows a line from its first head to its last end.

    What follows a head is looked for here and not by an engine: Hyperscan overlooks some of it (decision 0014).
    """

    head: int
    last: int  # whether any of the last texts is there at all
    tails: Mapping[bytes, tuple[tuple[bytes, ...], ...]]  # last text → what has to stand between, one row or another
    others: SpotCounter

    def count(self, hits: Hits) -> int:
        swallowed = self._swallowed(hits)
        return len(self._apart(hits, swallowed)) if swallowed else self.others.count(hits)

    def spans(self, hits: Hits) -> list[Span]:
        return self._apart(hits, self._swallowed(hits))

    def _swallowed(self, hits: Hits) -> list[tuple[int, int, int]]:
        found = list[tuple[int, int, int]]()
        if hits.ends[self.head] and hits.ends[self.last]:
            small, size = hits.small(), hits.lengths[self.head] or 0
            for start, stop in find_first_in_lines(hits, self.head):
                for text, between in self.tails.items():
                    last = small.rfind(text, start + size, stop)
                    if last >= 0 and any(_stand_between(small, start + size, last, texts) for texts in between):
                        found.append((start, -1, last + len(text)))
        return sorted(found, key=lambda span: (span[0], -span[2]))  # of several ends the last

    def _apart(self, hits: Hits, swallowed: list[tuple[int, int, int]]) -> list[Span]:
        return apart(sorted(swallowed + sort_spans(hits, self.others.numbers), key=lambda span: span[:2]))


def find_first_in_lines(hits: Hits, head: int) -> Iterator[Span]:
    """Where a head, which is always equally long, is first in a line, and where that line ends."""
    data, size, line_end = hits.data, hits.lengths[head] or 0, -1
    for end in hits.ends[head]:
        if end - size > line_end:
            line_end = data.find(b"\n", end)
            line_end = len(data) if line_end < 0 else line_end
            yield end - size, line_end


def _stand_between(small: bytes, start: int, stop: int, texts: tuple[bytes, ...]) -> bool:
    """Whether all of these texts are there, one after the other."""
    for text in texts:
        start = small.find(text, start, stop) + len(text)
        if start < len(text):
            return False
    return True


@dataclass(frozen=True, slots=True)
class MessageCounter:
    """In how many messages there is a hit."""

    numbers: tuple[int, ...]

    def count(self, hits: Hits) -> int:
        count, stop = 0, -1
        for end in sorted(end for number in self.numbers for end in hits.ends[number]):
            if end > stop:
                count += 1
                stop = hits.stops[bisect_left(hits.stops, end)]
        return count

    def spans(self, hits: Hits) -> list[Span]:
        return apart(sort_spans(hits, self.numbers))


@dataclass(frozen=True, slots=True)
class WindowCounter:
    """Rows with identifier runs: the neighbourhood of their hits is cut out and given to `re`.

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
        """Hits are looked for in stretches of overlapping places."""
        spans = sort_spans(hits, self.numbers)
        if not any(hits.ends[number] for number in self.runs):
            return apart(spans)
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
        """Hits between two places, with enough around them that no edge is judged by a cut."""
        before = data[max(0, begin - 4) : begin].decode("utf-8", "replace")
        inside = data[begin:end].decode("utf-8", "replace")
        text = before + inside + data[end : end + self.reach].decode("utf-8", "replace")
        limit = len(before) + len(inside)
        taken = [hit.span() for hit in self.pattern.finditer(text, len(before)) if hit.end() <= limit]
        shift = begin - len(before)  # what is found here is ASCII, and what comes before it in the window too
        return [(start + shift, stop + shift) for start, stop in taken]


@dataclass(frozen=True, slots=True)
class ExistsCounter:
    """Whether there is any hit at all. The strict search is believed, the generous one is checked."""

    maybe: int
    surely: int
    rows: tuple[Sequence, ...]

    def count(self, hits: Hits) -> int:
        if not hits.ends[self.maybe]:
            return 0
        if hits.ends[self.surely] or hits.data.isascii():
            return 1
        return int(exists(self.rows, hits.data.decode("utf-8", "replace")))

    def spans(self, hits: Hits) -> list[Span]:
        return list(zip(hits.starts.get(self.maybe, ()), hits.ends[self.maybe], strict=False))


Counter = SpotCounter | LineCounter | MessageCounter | WindowCounter | ExistsCounter


def sort_spans(hits: Hits, numbers: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """All hits as (start, rank of the alternative, end): the order in which they are tried."""
    spans: list[tuple[int, int, int]] = []
    for rank, number in enumerate(numbers):
        if hits.ends[number]:
            spans += [(start, rank, end) for start, end in hits.spans(number)]
    spans.sort()
    return spans


def apart(spans: list[tuple[int, int, int]]) -> list[Span]:
    """Those that are taken from left to right when a taken one uses up its text."""
    taken = []
    free = 0
    for start, _, end in spans:
        if start >= free:
            taken.append((start, end))
            free = end
    return taken


def exists(rows: tuple[Sequence, ...], text: str) -> bool:
    """Whether any row fits anywhere, in linear time also for rows that swallow the rest of a line."""
    plain = tuple(row for row in rows if not row.has(Token.REST))
    if plain and re.search(to_re(plain), text, re.IGNORECASE):
        return True
    return any(_fits_in_a_line(row, text) for row in rows if row.has(Token.REST))


def _fits_in_a_line(row: Sequence, text: str) -> bool:
    """The first head of a line leaves the most room for what must follow it, and so on for each part."""
    parts = [re.compile(to_re((part,)), re.IGNORECASE) for part in split_at_rest(row)]
    at = 0
    while (head := parts[0].search(text, at)) is not None:
        line_end = text.find("\n", head.end())
        line_end = len(text) if line_end < 0 else line_end
        if _follow(parts[1:], text, head.end(), line_end):
            return True
        at = line_end
    return False


def _follow(parts: list[re.Pattern[str]], text: str, at: int, line_end: int) -> bool:
    """Whether all parts come one after the other before the line ends."""
    for part in parts:
        hit = part.search(text, at, line_end + 1)  # with the line feed, so that an edge at the end is judged by it
        if hit is None or hit.end() > line_end:
            return False
        at = hit.end()
    return True


def split_at_rest(row: Sequence) -> list[Sequence]:
    """The parts between which the rest of a line may stand."""
    parts: list[list[str | Token]] = [[]]
    for piece in row.pieces:
        if piece is Token.REST:
            parts.append([])
        else:
            parts[-1].append(piece)
    return [Sequence(tuple(part)) for part in parts]
