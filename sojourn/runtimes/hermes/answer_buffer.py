"""The visible answer of a run: put together from its pieces, and made to agree with what Hermes says at the end."""

from __future__ import annotations

from sojourn.core.plain import Plain, plain


class AnswerBuffer:
    """`text` is always exactly what was shown."""

    def __init__(self) -> None:
        self.text = ""
        self._since_tool = 0  # where the words after the last tool begin
        self._plain = Plain()

    def add(self, delta: str) -> str:
        """A piece as it may be shown. The first words after a tool come with a blank line, which opens no answer."""
        return self._show(self._plain.feed(delta))

    def tool(self) -> None:
        """A tool was used: what comes now is the next part."""
        self._since_tool = len(self.text)

    @property
    def part(self) -> str:
        """The words since the last tool."""
        return self.text[self._since_tool :]

    def finish(self, output: str) -> str:
        """What `output`, the last part as Hermes keeps it, has and was not shown. Hermes trims and joins pieces
        in its own way, so spaces and line breaks do not count as a difference."""
        rest = self._show(self._plain.end())
        whole = plain(output).strip()
        if not whole or _bare(self.text).endswith(_bare(whole)):
            return rest
        shown = _bare(self.part)
        if shown and _bare(whole).startswith(shown):
            missing = _after(whole, len(shown))
            return rest + self._show(missing.lstrip() if self.text[-1].isspace() else missing)
        return rest + self._show(f"\n\n{whole}")

    def _show(self, piece: str) -> str:
        shown = piece if self.text else piece.lstrip("\n")
        self.text += shown
        return shown


def _bare(text: str) -> str:
    return "".join(text.split())


def _after(text: str, count: int) -> str:
    """What follows the first `count` characters that are no space."""
    for at, char in enumerate(text):
        if not count:
            return text[at:]
        count -= not char.isspace()
    return ""
