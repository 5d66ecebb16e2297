"""Buffer of a run's answer: joins its pieces, and adds what Hermes' final output has beyond them."""

from __future__ import annotations

from sojourn.text.ansi import ControlStripper, strip_control


class AnswerBuffer:
    """`text` is always exactly the text that was shown."""

    def __init__(self) -> None:
        self.text = ""
        self._since_tool = 0  # where the words after the last tool begin
        self._plain = ControlStripper()

    def add(self, delta: str) -> str:
        """Adds a piece and returns the text to show. Drops the blank line that would begin an answer."""
        return self._append(self._plain.feed(delta))

    def start_part(self) -> None:
        """Begins a new part, after a tool was used."""
        self._since_tool = len(self.text)

    @property
    def part(self) -> str:
        """The text since the last tool."""
        return self.text[self._since_tool :]

    def finish(self, output: str) -> str:
        """Returns what the final output has and was not shown. Hermes trims and joins pieces differently, so white
        space does not count as a difference."""
        rest = self._append(self._plain.end())
        whole = strip_control(output).strip()
        if not whole or _without_spaces(self.text).endswith(_without_spaces(whole)):
            return rest
        shown = _without_spaces(self.part)
        if shown and _without_spaces(whole).startswith(shown):
            missing = _skip_characters(whole, len(shown))
            return rest + self._append(missing.lstrip() if self.text[-1].isspace() else missing)
        return rest + self._append(f"\n\n{whole}")

    def _append(self, piece: str) -> str:
        shown = piece if self.text else piece.lstrip("\n")
        self.text += shown
        return shown


def _without_spaces(text: str) -> str:
    return "".join(text.split())


def _skip_characters(text: str, count: int) -> str:
    """Returns the text after the first `count` characters that are not white space."""
    for at, char in enumerate(text):
        if not count:
            return text[at:]
        count -= not char.isspace()
    return ""
