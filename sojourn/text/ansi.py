"""Control characters: strips terminal escape sequences, so that text cannot move the cursor or set a title."""

from __future__ import annotations

import re

_CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_STRINGS = frozenset("]PX^_")  # what follows is a title, a picture …, until BEL or ESC \
_C1 = {"\x9b": "[", "\x9d": "]", "\x90": "P", "\x98": "X", "\x9e": "^", "\x9f": "_"}
_LONGEST = 4096  # characters; a longer one is text after a stray byte


def strip_control(text: str) -> str:
    """Strips terminal sequences and control characters except line breaks and tabs."""
    if not _CONTROL.search(text):
        return text
    stripper = ControlStripper()
    return stripper.feed(text) + stripper.end()


class ControlStripper:
    """Strips text that arrives in pieces, even if a sequence is split between them."""

    def __init__(self) -> None:
        self._inside = ""  # the sequence so far: ESC, and what came after it

    def feed(self, piece: str) -> str:
        """The printable part of a piece."""
        if not self._inside and not _CONTROL.search(piece):
            return piece
        return "".join(self._feed_character(char) for char in piece)

    def end(self) -> str:
        """Ends the text and returns the printable part of an unfinished sequence."""
        return self._give_up() if self._is_string() else self._drop()

    def _feed_character(self, char: str) -> str:
        if not self._inside:
            if char == "\x1b" or char in _C1:
                self._inside = "\x1b" + _C1.get(char, "")
                return ""
            return "" if _CONTROL.match(char) else char
        if self._is_string():
            return self._feed_string(char)
        return self._feed_sequence(char)

    def _feed_string(self, char: str) -> str:
        ends = char in "\x07\x9c" or (char == "\\" and self._inside.endswith("\x1b"))
        if ends:
            return self._drop()
        self._inside += char
        return self._give_up() if char == "\n" or len(self._inside) > _LONGEST else ""

    def _feed_sequence(self, char: str) -> str:
        """ESC [ parameters letter, or ESC and a few bytes."""
        last = "?" if self._inside.startswith("\x1b[") else "/"
        begins = self._inside == "\x1b" and (char == "[" or char in _STRINGS)
        if char == "\x1b":
            self._inside = char
        elif begins or " " <= char <= last:
            self._inside += char
        elif "0" <= char <= "~":
            return self._drop()
        else:  # no sequence has this in it: a line break, a word in another script
            self._drop()
            return self._feed_character(char)
        return self._give_up() if len(self._inside) > _LONGEST else ""

    def _is_string(self) -> bool:
        return self._inside[1:2] in _STRINGS

    def _drop(self) -> str:
        self._inside = ""
        return ""

    def _give_up(self) -> str:
        swallowed, self._inside = self._inside[2:], ""
        return _CONTROL.sub("", swallowed)
