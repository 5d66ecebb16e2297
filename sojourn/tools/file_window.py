"""File window: renders some lines of a file, or the names in a folder. Big files are never loaded whole."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO

from sojourn.core.errors import BadInput
from sojourn.ports.tool import ToolResult
from sojourn.tools.safe_open import ResolvedPath, binary_kind, open_folder

MAX_LINE_CHARS = 2000  # characters of a line that are shown
MAX_COUNTED_BYTES = 64 * 1024 * 1024  # bytes that are looked through for the number of lines
MAX_HELD_BYTES = 1 << 20  # bytes of a line that are held
MAX_TAIL_LINES = 20_000  # lines from the end that are held
MAX_LISTED_ENTRIES = 500  # names of a folder that are shown


@dataclass(slots=True)
class _Window:
    """The numbered lines that are shown: `limit` lines at most, `max_chars` characters at most."""

    first: int
    limit: int
    max_chars: int
    shown: list[tuple[int, str]] = field(default_factory=list)
    size: int = 0
    full: bool = False

    def add(self, number: int, line: str) -> None:
        if number < self.first or self.full:
            return
        text = line[:MAX_LINE_CHARS] + ("… (the line goes on)" if len(line) > MAX_LINE_CHARS else "")
        if len(self.shown) == self.limit or (self.shown and self.size + len(text) + 8 > self.max_chars):
            self.full = True
            return
        self.shown.append((number, text))
        self.size += len(text) + 8


def read_window(file: int, place: ResolvedPath, offset: int, limit: int, max_chars: int) -> ToolResult:
    """Renders some lines of an opened file and closes it. A negative offset counts from the end."""
    with open(file, "rb") as raw:
        size = os.fstat(file).st_size
        start = raw.read(8192)
        if kind := binary_kind(start):
            raise BadInput(
                f"{place.shown} is {kind} ({size} bytes), not text.", hint="Use a program made for it, or file(1)."
            )
        raw.seek(0)
        is_utf16 = start.startswith((b"\xff\xfe", b"\xfe\xff"))
        lines: Iterable[tuple[int, str]] = enumerate(_read_lines(raw, is_utf16=is_utf16), 1)
        if offset < 0:
            limit = min(limit, -offset)
            lines = deque(lines, maxlen=min(-offset, MAX_TAIL_LINES))
        window = _Window(max(1, offset), max(1, limit), max_chars - 300)
        total, whole = 0, True
        for total, line in lines:
            window.add(total, line)
            if offset >= 0 and window.full and raw.tell() > MAX_COUNTED_BYTES:
                whole = False
                break
    return _to_result(window, place, total, whole=whole, size=size)


def _read_lines(raw: BinaryIO, *, is_utf16: bool) -> Iterator[str]:
    """Yields the lines, each with one character more than is shown at most."""
    if is_utf16:
        for text in raw.read(MAX_COUNTED_BYTES).decode("utf-16", "replace").splitlines():
            yield text[: MAX_LINE_CHARS + 1]
        return
    first = True
    while line := raw.readline(MAX_HELD_BYTES):
        rest = line
        while len(rest) == MAX_HELD_BYTES and not rest.endswith(b"\n"):
            rest = raw.readline(MAX_HELD_BYTES)  # the rest of an endless line is passed over
        text = line.decode("utf-8", "replace").rstrip("\r\n")
        yield (text.removeprefix("\ufeff") if first else text)[: MAX_LINE_CHARS + 1]
        first = False


def _to_result(window: _Window, place: ResolvedPath, total: int, *, whole: bool, size: int) -> ToolResult:
    facts = {"path": str(place.path), "bytes": size, "lines": total if whole else None}
    if not total:
        return ToolResult(text=f"{place.shown} is empty.", facts=facts)
    if not window.shown:
        return ToolResult(text=f"{place.shown} has only {total} lines.", ok=False, facts=facts)
    first, last = window.shown[0][0], window.shown[-1][0]
    text = "\n".join(f"{number:>6}\t{line}" for number, line in window.shown)
    if last < total or first > 1:
        of = f"{total}" if whole else f"more than {total}"
        on = f" Go on with offset={last + 1}." if last < total else ""
        text += f"\n[lines {first} to {last} of {of}.{on}]"
    return ToolResult(text=text, facts=facts)


def list_folder(place: ResolvedPath) -> ToolResult:
    """Lists the names in a folder, folders first."""
    where = open_folder(place.base, place.path)
    try:
        with os.scandir(where) as found:
            entries = sorted(((not one.is_dir(), one.name, one) for one in found), key=lambda one: one[:2])
        lines = [_describe_entry(one, where) for _, _, one in entries[:MAX_LISTED_ENTRIES]]
    finally:
        os.close(where)
    if len(entries) > MAX_LISTED_ENTRIES:
        lines.append(f"[… {len(entries) - MAX_LISTED_ENTRIES} more; narrow it down with search_files]")
    facts = {"path": str(place.path), "entries": len(entries)}
    return ToolResult(text="\n".join(lines) or f"{place.shown} is an empty folder.", facts=facts)


def _describe_entry(one: os.DirEntry[str], where: int) -> str:
    about = one.stat(follow_symlinks=False)
    if one.is_symlink():
        return f"{one.name} -> {os.readlink(one.name, dir_fd=where)}"
    return f"{one.name}/" if stat.S_ISDIR(about.st_mode) else f"{one.name}  {about.st_size}"
