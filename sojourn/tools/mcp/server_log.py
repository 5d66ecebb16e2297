"""The log of an MCP server's error output, of limited size."""

from __future__ import annotations

import os
from pathlib import Path

MAX_LOG_BYTES = 1_000_000
MAX_LINE_BYTES = 2_000
_DROPPED = b"[earlier output was dropped]\n"
_CUT = b" [cut]\n"


class ServerLog:
    """A file that begins anew when it is full; longer lines are cut."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._file = os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb", buffering=0)
        self._line = 0  # bytes of the current line

    def write(self, data: bytes) -> None:
        for piece in data.splitlines(keepends=True):
            kept = piece[: max(0, MAX_LINE_BYTES - self._line)]
            if piece.endswith(b"\n"):
                kept = kept if len(kept) == len(piece) else kept + _CUT
                self._line = 0
            else:
                self._line += len(piece)
            self._append(kept)

    def _append(self, data: bytes) -> None:
        if self._file.tell() + len(data) > MAX_LOG_BYTES:
            self._file.seek(0)
            self._file.truncate()
            self._file.write(_DROPPED)
        self._file.write(data)

    def __enter__(self) -> ServerLog:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
