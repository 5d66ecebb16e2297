"""Reads JSON lines of another program, also while that program writes them.

An incomplete last line is left for the next import. Any other line that is not a JSON object is reported by its number
and stored unchanged. Compressed files (`.gz`, `.zst`) are decompressed.
"""

from __future__ import annotations

import gzip
import json
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from sojourn.core.errors import SourceUnreadable
from sojourn.importers.regular_file import MAX_FILE_BYTES, MAX_LINE_BYTES, open_regular
from sojourn.text.escape import from_bytes

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

_UNPACKERS: dict[str, Callable[[BinaryIO], AbstractContextManager[Any]]] = {
    ".gz": gzip.open,
    ".zst": zstd.open,
    ".zstd": zstd.open,
}
_READ_ERRORS: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error, zstd.ZstdError)


@dataclass(frozen=True, slots=True)
class JsonLine:
    """One readable line: an object, and the text it was read from."""

    number: int  # from 1
    text: str
    record: dict[str, Any]
    offset: int = 0  # of its first byte in the unpacked file


class JsonLinesFile:
    """One file of JSON lines, read once and in order; collects the lines that could not be read."""

    def __init__(self, path: Path, *, max_line_bytes: int = MAX_LINE_BYTES) -> None:
        self.path, self._max_line_bytes = path, max_line_bytes
        self.unreadable: list[tuple[str, str]] = []  # (kind, text), as in a Transcript
        self.warnings: list[str] = []

    def __iter__(self) -> Iterator[JsonLine]:
        """Raises SourceUnreadable if the file cannot be opened, or if it is not empty but has no readable line."""
        readable = number = offset = 0
        for number, raw in enumerate(self._read_lines(), 1):
            line = self._parse_line(number, raw, offset)
            offset += len(raw)
            if line is not None:
                readable += 1
                yield line
        if number and not readable:
            raise SourceUnreadable(
                f"{self.path} has no readable line.", hint="It may be damaged, or belong to another program."
            )

    def _read_lines(self) -> Iterator[bytes]:
        has_begun, size, number = False, 0, 0
        try:
            with open_regular(self.path) as packed, _UNPACKERS.get(self.path.suffix, nullcontext)(packed) as file:
                while raw := file.readline(self._max_line_bytes + 1):
                    has_begun, size, number = True, size + len(raw), number + 1
                    self._check_limits(number, raw, size)
                    yield raw
        except _READ_ERRORS as error:
            if not has_begun:
                raise SourceUnreadable(
                    f"{self.path} cannot be read: {error}.", hint="Check the file and its permissions."
                ) from error
            self.warnings.append(f"{self.path.name} ends early: {error}")

    def _check_limits(self, number: int, raw: bytes, size: int) -> None:
        if len(raw) > self._max_line_bytes:
            raise SourceUnreadable(
                f"Line {number} of {self.path} is longer than {self._max_line_bytes >> 20} MB.",
                hint="It is not a history that the program wrote, or it is damaged.",
            )
        if size > MAX_FILE_BYTES:
            raise SourceUnreadable(
                f"{self.path} holds more than {MAX_FILE_BYTES >> 20} MB when it is unpacked.",
                hint="Sessions of this size are not imported.",
            )

    def _parse_line(self, number: int, raw: bytes, offset: int) -> JsonLine | None:
        text = from_bytes(raw.rstrip(b"\r\n"))
        if not text.strip():
            return None
        record = parse_object(text)
        if record is not None:
            return JsonLine(number, text, record, offset)
        if raw.endswith(b"\n"):
            self.unreadable.append(("unreadable", text))
            self.warnings.append(f"line {number} of {self.path.name} cannot be read; it is stored unchanged")
        else:
            self.warnings.append(f"line {number} of {self.path.name} is incomplete; the next import will read it")
        return None


def read_line_at(path: Path, offset: int, max_line_bytes: int = MAX_LINE_BYTES) -> dict[str, Any]:
    """The object of the line that begins at an offset. SourceUnreadable."""
    try:
        with open_regular(path) as file:
            file.seek(offset)
            record = parse_object(from_bytes(file.readline(max_line_bytes)))
    except OSError as error:
        raise SourceUnreadable(
            f"{path} cannot be read: {error}.", hint="Check the file and its permissions."
        ) from error
    if record is None:
        raise SourceUnreadable(f"{path} was changed while it was read.", hint="Import it again.")
    return record


def parse_object(text: str | bytes) -> dict[str, Any] | None:
    """The JSON object in a text; None if the text is anything else."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
