"""Somebody at a terminal that answers when it is asked where the cursor is, as real ones do."""

from __future__ import annotations

import re

from tests.e2e.test_cli_terminal import Person

_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b[=>]|[\r\x08]")


class Chatter(Person):
    def __init__(self, *args: str, **environment: str) -> None:
        super().__init__("chat", *args, **environment)
        self._asked = 0

    def read(self) -> bool:
        went_on = super().read()
        while self.seen.count("\x1b[6n") > self._asked:
            self._asked += 1
            self.types("\x1b[1;1R")
        return went_on

    @property
    def text(self) -> str:
        """What was printed, without colours and movements."""
        return _ANSI.sub("", self.seen)

    def says(self, line: str) -> None:
        self.types(line + "\r")

    def quits(self) -> int:
        self.says("/quit")
        return self.leaves()
