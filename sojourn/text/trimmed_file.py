"""Trimmed file: what tables print into a pipe, without the blanks that fill their last columns."""

from __future__ import annotations

from typing import IO, Any, cast


class _TrimmedFile:
    """A text file whose lines are written without the blanks at their ends."""

    def __init__(self, file: IO[str]) -> None:
        self._file = file

    def write(self, text: str) -> int:
        return self._file.write("\n".join(line.rstrip(" ") for line in text.split("\n")))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def trim_unless_terminal(file: IO[str]) -> IO[str]:
    """The file itself if it is a terminal, where blanks have colours and are not copied."""
    return file if file.isatty() else cast(IO[str], _TrimmedFile(file))
