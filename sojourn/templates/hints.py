"""The words with which programs fail, and which of them stand in a text: all looked for at once by Hyperscan, or, on a
machine that has none, one after the other. Both find the same."""

from __future__ import annotations

import re
from functools import cache
from typing import Any, Protocol

from sojourn.templates.phrases import chapter

try:
    import hyperscan
except ImportError:  # no wheel for this machine: slower, same words
    hyperscan = None  # type: ignore[assignment]

_ENGINE: Any = hyperscan

_WORDS = chapter("signs")
_PARTS, _PHRASES, _CHINESE_PARTS = _WORDS["parts"], _WORDS["phrases"], _WORDS["chinese_parts"]
_WHOLE, _OF_PHRASES = _WORDS["words"], _WORDS["of_phrases"]  # without one of these two there is no such phrase
_BETWEEN_WORDS = b'\t\r\n!"#$%&()+,-./:;<=>?@[\\]^_`{|}~'


class Finder(Protocol):
    """Which hints a text holds, in lower case and in any order."""

    def __call__(self, text: str, /) -> list[str]: ...


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
        self._flat = bytes(ord(" ") if one in _BETWEEN_WORDS else _lower(one) for one in range(256))

    def __call__(self, text: str, /) -> list[str]:
        flat = text.encode("utf-8", "replace").translate(self._flat)
        hints = [part for raw, part in self._parts if raw in flat]
        if found := self._telling.intersection(flat.split()):
            hints += [word.decode() for word in found - self._of_phrases]
            hints += [phrase for raw, phrase in self._phrases if raw in flat]
        if not text.isascii() and self._chinese.search(text):
            hints += [part for part in _CHINESE_PARTS if part in text]
        return hints


def _lower(byte: int) -> int:
    return ord(chr(byte).lower()) if byte < 128 else byte


class AtOnce:
    """One look at the text for all of them."""

    def __init__(self) -> None:
        spoken = [*map(_piece, (*_PARTS, *_PHRASES)), *map(_word, (*_WHOLE, *_OF_PHRASES))]
        strokes = [part.encode() for part in _CHINESE_PARTS]
        once, caseless = hyperscan.HS_FLAG_SINGLEMATCH, hyperscan.HS_FLAG_CASELESS
        self._hints = (*_PARTS, *_PHRASES, *_WHOLE, *_OF_PHRASES, *_CHINESE_PARTS)
        self._first_phrase = len(_PARTS)
        self._first_word = self._first_phrase + len(_PHRASES)
        self._words = range(self._first_word, len(spoken))  # and those of phrases
        self._no_hints = range(self._first_word + len(_WHOLE), len(spoken))
        self._database: Any = hyperscan.Database(mode=hyperscan.HS_MODE_BLOCK)
        self._database.compile(
            expressions=[*spoken, *strokes], ids=list(range(len(self._hints))),
            flags=[once | caseless] * len(spoken) + [once] * len(strokes),
        )  # fmt: skip
        self._database.scratch = hyperscan.Scratch(self._database)

    def __call__(self, text: str, /) -> list[str]:
        found: list[int] = []

        def hit(number: int, _start: int, _end: int, _flags: int, _context: object) -> None:
            found.append(number)

        self._database.scan(text.encode("utf-8", "replace"), hit)
        if not found:
            return []
        left_out = self._no_hints
        if not any(number in self._words for number in found):
            left_out = range(self._first_phrase, self._words.stop)
        return [self._hints[number] for number in found if number not in left_out]


def _of_bytes(bytes_: bytes) -> bytes:
    return b"[%s]" % b"".join(b"\\x%02x" % one for one in bytes_)


_GAP, _EDGE = _of_bytes(_BETWEEN_WORDS + b" "), _of_bytes(_BETWEEN_WORDS + b" \x0b\x0c")


def _piece(text: str) -> bytes:
    return b"".join(_GAP if letter == " " else re.escape(letter).encode() for letter in text)


def _word(word: str) -> bytes:
    return b"(?:^|%s)%s(?:%s|\\z)" % (_EDGE, _piece(word), _EDGE)
