"""The interface of pattern engines, and the hits they report."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

from sojourn.achievements.pattern_syntax import PatternToken

# Whitespace as UTF-8 bytes, just as `\s` sees it in text.
_SPACE = (
    r"(?:[\x09-\x0d\x1c-\x20]|\xc2[\x85\xa0]|\xe1\x9a\x80|\xe2\x80[\x80-\x8a\xa8\xa9\xaf]|\xe2\x81\x9f|\xe3\x80\x80)"
)
BYTES_REGEX = {token: token.value.replace(r"\s", _SPACE) for token in PatternToken}
PATH_STARTS = (b"/home/", b"/mnt/", b"./", b"~")
# Ignoring case makes these letters equal to ASCII ones; all other characters keep their own meaning.
FOLDS = ((b"\xc4\xb0", b"i"), (b"\xc4\xb1", b"i"), (b"\xc5\xbf", b"s"), (b"\xe2\x84\xaa", b"k"))


@dataclass
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

    @cached_property
    def lowered(self) -> bytes:
        """The text with ASCII letters lower-cased."""
        return self.data.lower()

    def spans(self, number: int) -> list[tuple[int, int]]:
        length = self.lengths[number]
        if length is None:
            return list(zip(self.starts[number], self.ends[number], strict=True))
        return [(end - length, end) for end in self.ends[number]]


class Engine(Protocol):
    """Finds all searches of a plan in UTF-8 bytes; knows word characters and case of ASCII only."""

    def scan(self, data: bytes) -> Hits: ...

    def paths(self, data: bytes) -> tuple[list[int], bool]:
        """In JSON text: where a file path may begin, and whether there are escapes that hide an ASCII character."""
        ...


def is_word_before(data: bytes, at: int) -> bool:
    """Whether a word character ends at this place."""
    return _is_word(data[max(0, at - 4) : at].decode("utf-8", "ignore")[-1:])


def is_word_after(data: bytes, at: int) -> bool:
    """Whether a word character begins at this place."""
    return _is_word(data[at : at + 4].decode("utf-8", "ignore")[:1])


def _is_word(character: str) -> bool:
    return character.isalnum() or character == "_"
