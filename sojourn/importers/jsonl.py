"""JSON lines of another program: read while it writes them, nothing lost, nothing guessed.

A last line that is not finished yet is left for the next import. Any other line that is no JSON object
is named by its number and kept as it stands. Packed files are unpacked on the way (`.gz`, `.zst`).
"""

from __future__ import annotations

import gzip
import json
import sys
import zlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from sojourn.core.errors import SourceUnreadable
from sojourn.text.escape import from_bytes

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_TROUBLE: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error, zstd.ZstdError)


@dataclass(frozen=True, slots=True)
class Line:
    """One readable line: an object, and the text it was read from."""

    number: int  # from 1
    text: str
    record: dict[str, Any]


class LineFile:
    """One file of JSON lines, read in order and once. Afterwards it knows what it could not read."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.unreadable: list[tuple[str, str]] = []  # as a Transcript keeps them
        self.warnings: list[str] = []

    def __iter__(self) -> Iterator[Line]:
        """SourceUnreadable when the file cannot be opened, or holds something but not one readable line."""
        readable = number = 0
        for number, raw in enumerate(self._raw(), 1):
            line = self._line(number, raw)
            if line is not None:
                readable += 1
                yield line
        if number and not readable:
            raise SourceUnreadable(
                f"{self.path} holds no line that can be read.", hint="It may be damaged, or of another program."
            )

    def _raw(self) -> Iterator[bytes]:
        begun = False
        try:
            with opened(self.path) as file:
                for raw in file:
                    begun = True
                    yield raw
        except _TROUBLE as error:
            if not begun:
                raise SourceUnreadable(
                    f"{self.path} cannot be read: {error}.", hint="Is it whole, and may you read it?"
                ) from error
            self.warnings.append(f"{self.path.name} ends early: {error}")

    def _line(self, number: int, raw: bytes) -> Line | None:
        text = from_bytes(raw.rstrip(b"\r\n"))
        if not text.strip():
            return None
        record = as_object(text)
        if record is not None:
            return Line(number, text, record)
        if raw.endswith(b"\n"):
            self.unreadable.append(("unreadable", text))
            self.warnings.append(f"line {number} of {self.path.name} cannot be read; it is kept as it stands")
        else:
            self.warnings.append(f"line {number} of {self.path.name} is not finished; it comes with the next import")
        return None


def as_object(text: str | bytes) -> dict[str, Any] | None:
    """The JSON object a text holds; None when it holds anything else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def opened(path: Path) -> AbstractContextManager[Iterator[bytes]]:
    """The file's bytes line by line, unpacked."""
    if path.suffix == ".gz":
        return cast("AbstractContextManager[Iterator[bytes]]", gzip.open(path, "rb"))
    if path.suffix == ".zst":
        return cast("AbstractContextManager[Iterator[bytes]]", zstd.open(path, "rb"))
    return path.open("rb")
