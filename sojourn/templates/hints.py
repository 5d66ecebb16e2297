"""The words with which programs fail, and which of them stand in a text: all looked for at once by Hyperscan, or, on a
machine that has none, one after the other. Both find the same.

A *hint* says that a line is worth a look; the other words say which patterns are worth trying on it.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Any, NamedTuple, Protocol

from sojourn.templates.phrases import Spotted, chapter

try:
    import hyperscan
except ImportError:  # no wheel for this machine: slower, same words
    hyperscan = None  # type: ignore[assignment]

_ENGINE: Any = hyperscan

_WORDS = chapter("signs")
_PARTS, _PHRASES, _CHINESE_PARTS = _WORDS["parts"], _WORDS["phrases"], _WORDS["chinese_parts"]
_WHOLE, _OF_PHRASES = _WORDS["words"], _WORDS["of_phrases"]  # without one of these two there is no such phrase
_ENDINGS = chapter("endings")
TELLING = frozenset((*_ENDINGS["gives_up"], *_ENDINGS["moves"]))  # of programs that give up, or that move many things
_SOUGHT = sorted(
    _WORDS.needed("english", "chinese", "anywhere", "count", "fine", "minor", "by_name")
    | _ENDINGS.needed("gave_up", "nothing_moved", "part", "good")
    | TELLING
)
_ALL = frozenset(_SOUGHT)
_BETWEEN_WORDS = b'\t\r\n!"#$%&()+,-./:;<=>?@[\\]^_`{|}~'


class Found(NamedTuple):
    """What stands in a text, in lower case and in any order."""

    hints: list[str]
    spotted: Spotted


class Finder(Protocol):
    def __call__(self, text: str, /) -> Found: ...


@cache
def finder() -> Finder:
    """The quickest one there is."""
    return Plain() if _ENGINE is None else AtOnce()


class Plain:
    """Looks for one after the other, in bytes that have a space for everything between words."""

    def __init__(self) -> None:
        self._parts = [(part.encode(), part) for part in _PARTS]
        self._phrases = [(phrase.encode(), phrase) for phrase in _PHRASES]
        self._of_phrases = frozenset(word.encode() for word in _OF_PHRASES)
        self._telling = frozenset(word.encode() for word in _WHOLE) | self._of_phrases
        self._chinese = re.compile(f"[{''.join(sorted({part[0] for part in _CHINESE_PARTS}))}]")
        self._flat = bytes(ord(" ") if one in _BETWEEN_WORDS else one for one in range(256))

    def __call__(self, text: str, /) -> Found:
        folded = text.lower()
        flat = folded.encode("utf-8", "replace").translate(self._flat)
        hints = [part for raw, part in self._parts if raw in flat]
        if found := self._telling.intersection(flat.split()):
            hints += [word.decode() for word in found - self._of_phrases]
            hints += [phrase for raw, phrase in self._phrases if raw in flat]
        if not text.isascii() and self._chinese.search(text):
            hints += [part for part in _CHINESE_PARTS if part in text]
        return Found(hints, Spotted([word for word in _SOUGHT if word in folded], _ALL))


class AtOnce:
    """One look at the text for all of them."""

    def __init__(self) -> None:
        parts, phrases = [*_PARTS, *_CHINESE_PARTS], list(_PHRASES)
        whole, of_phrases = list(_WHOLE), list(_OF_PHRASES)
        self._first_phrase = len(parts)
        self._first_word = self._first_phrase + len(phrases)
        self._first_of_phrases = self._first_word + len(whole)
        self._first_sought = self._first_of_phrases + len(of_phrases)
        self._words = [*parts, *phrases, *whole, *of_phrases, *_SOUGHT]
        plain = [re.escape(word).encode() for word in _SOUGHT]
        expressions = [*map(_piece, (*parts, *phrases)), *map(_word, (*whole, *of_phrases)), *plain]
        self._database: Any = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        self._database.compile(
            expressions=expressions,
            ids=list(range(len(expressions))),
            flags=[hyperscan.HS_FLAG_SINGLEMATCH] * len(expressions),
        )
        self._database.scratch = hyperscan.Scratch(self._database)

    def __call__(self, text: str, /) -> Found:
        found: list[int] = []

        def hit(number: int, _start: int, _end: int, _flags: int, _context: object) -> None:
            found.append(number)

        self._database.scan(text.lower().encode("utf-8", "replace"), hit)
        words = self._words
        spotted = [words[number] for number in found if number >= self._first_sought]
        hints = [number for number in found if number < self._first_sought]
        if hints:
            has_word = max(hints) >= self._first_word
            most = self._first_of_phrases if has_word else self._first_phrase
            hints = [number for number in hints if number < most]
        return Found([words[number] for number in hints], Spotted(spotted, _ALL))


def _of_bytes(bytes_: bytes) -> bytes:
    return b"[%s]" % b"".join(b"\\x%02x" % one for one in bytes_)


_GAP, _EDGE = _of_bytes(_BETWEEN_WORDS + b" "), _of_bytes(_BETWEEN_WORDS + b" \x0b\x0c")


def _piece(text: str) -> bytes:
    return b"".join(_GAP if letter == " " else re.escape(letter).encode() for letter in text)


def _word(word: str) -> bytes:
    return b"(?:^|%s)%s(?:%s|\\z)" % (_EDGE, _piece(word), _EDGE)
