"""Somebody at a terminal that draws what it is sent and answers when it is asked where the cursor is, as real ones do.

A line editor sends only what differs from what stands there, so words on the screen need never have been sent in one
piece: whoever waits for them has to look at the screen.
"""

from __future__ import annotations

import re
from collections.abc import Callable

import pyte

from tests.e2e.test_cli_terminal import COLUMNS, LINES, Person

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|[\r\x08]")
_DRAWN = re.compile(r"(?<=\x1b\[\?25h)")  # the cursor comes back when a picture is complete


class _Screen(pyte.Screen):
    """Says where its cursor is to whoever asks."""

    def __init__(self, answer: Callable[[str], None]) -> None:
        super().__init__(COLUMNS, LINES)
        self._answer = answer

    def write_process_input(self, data: str) -> None:
        self._answer(data)


class Chatter(Person):
    def __init__(self, *args: str, **environment: str) -> None:
        super().__init__("chat", *args, **environment)
        self._screen = _Screen(self.types)
        self._stream = pyte.Stream(self._screen)
        self._shown = ""

    def read(self) -> bool:
        before = len(self.seen)
        went_on = super().read()
        for drawn in _DRAWN.split(self.seen[before:]):
            self._stream.feed(drawn)
            self._shown += "\n".join(self._screen.display)
        return went_on

    def has_seen(self, words: str) -> bool:
        return words in self._shown or super().has_seen(words)

    @property
    def text(self) -> str:
        """What was printed, without colours and movements."""
        return _ANSI.sub("", self.seen)

    def says(self, line: str) -> None:
        self.types(line + "\r")

    def quits(self) -> int:
        self.says("/quit")
        return self.leaves()
