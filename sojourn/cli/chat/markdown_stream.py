"""MarkdownStream: splits streamed Markdown into finished blocks and a tail that may still change."""

from __future__ import annotations

import re

_FENCE = re.compile(r"^\s{0,3}(`{3,}|~{3,})")


class MarkdownStream:
    """Collects the chunks of an answer. A block ends at an empty line outside of fenced code."""

    def __init__(self) -> None:
        self._text = ""

    def add(self, piece: str) -> list[str]:
        """Adds a chunk and returns the blocks that it finishes."""
        self._text += piece
        end = _find_end(self._text)
        done, self._text = self._text[:end], self._text[end:]
        return [done.strip("\n")] if done.strip() else []

    def flush(self) -> list[str]:
        """Returns the tail as a block and empties it."""
        rest, self._text = self._text.strip("\n"), ""
        return [rest] if rest.strip() else []

    @property
    def tail(self) -> str:
        return self._text.strip("\n")


def _find_end(text: str) -> int:
    """The position after the last finished block."""
    at, end, fence = 0, 0, ""
    for line in text.splitlines(keepends=True):
        at += len(line)
        if not line.endswith("\n"):
            break
        mark = _FENCE.match(line)
        if fence:
            if mark and mark[1].startswith(fence) and not line.strip().strip(fence[0]):
                fence, end = "", at
        elif mark:
            fence = mark[1]
        elif not line.strip():
            end = at
    return end
