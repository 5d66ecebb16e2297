"""From hits to numbers, exactly as leftmost-first matching without overlaps would count them.

An engine reports every place where a search fits, overlapping or not. Each counter knows how to turn the
places of its searches into the number that scanning the text from left to right would give, in time linear
in the text. `spans` gives the hits themselves, for those who want to see them.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator

from sojourn.achievements.hits import Hits
from sojourn.achievements.notation import Sequence, Token
from sojourn.core.values import dataclass

Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class SpotCount:
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
                return count + len(apart(sorted_spans(hits, self.meeting)))
        return count

    def spans(self, hits: Hits) -> list[Span]:
        return apart(sorted_spans(hits, self.numbers))


@dataclass(frozen=True, slots=True)
class LineCount:
    """Rows of which one kind swallows a line from its first head to its last end.

    What follows a head is looked for here and not by an engine: Hyperscan overlooks some of it (decision 0014).
    """

    head: int
    tails: tuple[tuple[bytes, ...], ...]  # per row, the texts that have to follow one after the other
    others: SpotCount

    def count(self, hits: Hits) -> int:
        return len(self.spans(hits)) if hits.ends[self.head] else self.others.count(hits)

    def spans(self, hits: Hits) -> list[Span]:
        swallowed = list[tuple[int, int, int]]()
        for start, line in first_in_lines(hits, self.head):
            end = max(_last_end(line, texts) for texts in self.tails)
            if end >= 0:
                swallowed.append((start, -1, start + end))
        return apart(sorted(swallowed + sorted_spans(hits, self.others.numbers)))


def first_in_lines(hits: Hits, head: int) -> Iterator[tuple[int, bytes]]:
    """Where a head is first in a line, and the line from there on, in small letters."""
    data, starts = hits.data, sorted(start for start, _ in hits.spans(head))
    at = 0
    while at < len(starts):
        line_end = data.find(b"\n", starts[at])
        line_end = len(data) if line_end < 0 else line_end
        yield starts[at], data[starts[at] : line_end].lower()
        at = bisect_left(starts, line_end, at)


def _last_end(line: bytes, texts: tuple[bytes, ...]) -> int:
    """The last place where the last of these texts ends if the others come before it; -1 if they do not."""
    at = 0
    for text in texts[:-1]:
        found = line.find(text, at)
        if found < 0:
            return -1
        at = found + len(text)
    last = line.rfind(texts[-1], at)
    return last if last < 0 else last + len(texts[-1])


@dataclass(frozen=True, slots=True)
class MessageCount:
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
        return apart(sorted_spans(hits, self.numbers))


@dataclass(frozen=True, slots=True)
class WindowCount:
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
        spans = sorted_spans(hits, self.numbers)
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
class LineRow:
    """A head that an engine finds, and rows of parts of which one has to follow it in its line."""

    head: int
    follow: tuple[tuple[re.Pattern[str], ...], ...]
    texts: tuple[bytes, ...]  # of which one is in every such line

    def spans(self, hits: Hits) -> Iterator[Span]:
        for start, line in first_in_lines(hits, self.head):
            if any(text in line for text in self.texts):
                said = line.decode("utf-8", "replace") + "\n"  # so that an edge at the end is judged by it
                size = hits.lengths[self.head] or 0
                ends = (end for parts in self.follow if (end := _end_of(parts, said, size)) >= 0)
                if (end := next(ends, -1)) >= 0:
                    yield start, start + len(said[:end].encode("utf-8", "replace"))


def _end_of(parts: tuple[re.Pattern[str], ...], line: str, at: int) -> int:
    """Where the last part ends when all come one after the other; -1 when they do not."""
    for part in parts:
        hit = part.search(line, at)
        if hit is None:
            return -1
        at = hit.end()
    return at


@dataclass(frozen=True, slots=True)
class ExistsCount:
    """Whether there is any hit at all. The strict search is believed, the generous one is checked."""

    maybe: int | None  # of the rows that fit without looking at lines, if there are any
    surely: int
    pattern: re.Pattern[str]
    lines: tuple[LineRow, ...]

    def count(self, hits: Hits) -> int:
        if self._is_found(hits):
            return 1
        return int(any(True for row in self.lines if hits.ends[row.head] for _ in row.spans(hits)))

    def _is_found(self, hits: Hits) -> bool:
        if self.maybe is None or not hits.ends[self.maybe]:
            return False
        if hits.ends[self.surely] or hits.data.isascii():
            return True
        return self.pattern.search(hits.data.decode("utf-8", "replace")) is not None

    def spans(self, hits: Hits) -> list[Span]:
        found = [span for row in self.lines for span in row.spans(hits)]
        if self.maybe is not None and self.maybe in hits.starts:
            found += zip(hits.starts[self.maybe], hits.ends[self.maybe], strict=True)
        return sorted(found)


Counter = SpotCount | LineCount | MessageCount | WindowCount | ExistsCount


def sorted_spans(hits: Hits, numbers: tuple[int, ...]) -> list[tuple[int, int, int]]:
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


def split_at_rest(row: Sequence) -> list[Sequence]:
    """The parts between which the rest of a line may stand."""
    parts: list[list[str | Token]] = [[]]
    for piece in row.pieces:
        if piece is Token.REST:
            parts.append([])
        else:
            parts[-1].append(piece)
    return [Sequence(tuple(part)) for part in parts]
