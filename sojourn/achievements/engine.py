"""The interface of pattern engines, and the hits they report."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol


@dataclass(slots=True)
class Hits:
    """All hits in a text, overlapping or not.

    Per search the ends of its hits, and the starts too where their length varies. `paths` are the ends of
    the places where a file path may begin. `folds` says that the text has letters which only ignoring case
    makes equal to an ASCII letter.
    """

    data: bytes
    lengths: tuple[int | None, ...]
    ends: list[list[int]]
    starts: dict[int, list[int]]
    paths: list[int]
    folds: bool
    stops: list[int] = field(default_factory=list)  # where each message of the text ends
    lowered: bytes | None = None

    def get_lowered(self) -> bytes:
        """The text with ASCII letters lower-cased; computed once."""
        if self.lowered is None:
            self.lowered = self.data.lower()
        return self.lowered

    def spans(self, number: int) -> list[tuple[int, int]]:
        length = self.lengths[number]
        if length is None:
            return list(zip(self.starts[number], self.ends[number], strict=True))
        return [(end - length, end) for end in self.ends[number]]


class Engine(Protocol):
    """Finds all searches of a plan in UTF-8 bytes; knows word characters and case of ASCII only."""

    name: str

    def scan(self, data: bytes) -> Hits: ...

    def paths(self, data: bytes) -> tuple[list[int], bool]:
        """In JSON text: where a file path may begin, and whether there are escapes that hide an ASCII character."""
        ...


def is_word_before(data: bytes, at: int) -> bool:
    """Whether a word character ends at this place."""
    if at <= 0:
        return False
    if data[at - 1] < 128:
        return is_ascii_word(data[at - 1])
    start = at - 1
    while start > at - 4 and start > 0 and 0x80 <= data[start] < 0xC0:
        start -= 1
    return _is_word(data[start:at])


def is_word_after(data: bytes, at: int) -> bool:
    """Whether a word character begins at this place."""
    if at >= len(data):
        return False
    byte = data[at]
    if byte < 128:
        return is_ascii_word(byte)
    length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
    return _is_word(data[at : at + length])


def is_ascii_word(byte: int) -> bool:
    return 97 <= byte <= 122 or 48 <= byte <= 57 or 65 <= byte <= 90 or byte == 95


def _is_word(char: bytes) -> bool:
    return char.decode("utf-8", "replace").isalnum()
