"""Standard input and output as streams, on every system: a thread reads, another one writes.

What anything else prints goes to standard error: one foreign line would break the protocol.
"""

from __future__ import annotations

import asyncio
import os
import queue
import sys
import threading

_PIECE_BYTES = 65_536
_MAX_LINE_BYTES = 64 << 20  # a prompt with pictures
_MAX_WAITING_PIECES = 256  # then whoever writes waits for the reader


class StdioStreams:
    """A reader of standard input, and a writer to what was standard output. `close` writes what waits."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self.reader = asyncio.StreamReader(limit=_MAX_LINE_BYTES)
        sys.stdout.flush()
        self._target = os.dup(1)
        os.dup2(2, 1)
        self._pieces: queue.SimpleQueue[bytes | None] = queue.SimpleQueue()
        self._has_room = asyncio.Event()
        self._has_room.set()
        threading.Thread(target=self._read, name="stdin", daemon=True).start()
        self._writing = threading.Thread(target=self._write_pieces, name="stdout", daemon=True)
        self._writing.start()

    def write(self, data: bytes, /) -> None:
        self._pieces.put(data)
        if self._pieces.qsize() > _MAX_WAITING_PIECES:
            self._has_room.clear()

    async def drain(self) -> None:
        """Waits while the editor does not read what was written."""
        await self._has_room.wait()

    def _read(self) -> None:
        """Reads the descriptor itself: a thread that waits inside sys.stdin would hold its lock at exit."""
        while True:
            try:
                piece = os.read(0, _PIECE_BYTES)
            except OSError:
                piece = b""
            if not self._call(self.reader.feed_data if piece else self._feed_end, piece) or not piece:
                return

    def _feed_end(self, _: bytes) -> None:
        self.reader.feed_eof()

    def _write_pieces(self) -> None:
        while (piece := self._pieces.get()) is not None:
            try:
                while piece:
                    piece = piece[os.write(self._target, piece) :]
            except OSError:  # the editor is gone: standard input says so as well
                piece = b""
            if self._pieces.qsize() <= _MAX_WAITING_PIECES // 2:
                self._call(lambda _: self._has_room.set(), b"")

    def _call(self, function: object, piece: bytes) -> bool:
        try:
            self._loop.call_soon_threadsafe(function, piece)  # type: ignore[arg-type]
        except RuntimeError:  # the loop has ended
            return False
        return True

    async def close(self, seconds: float = 2.0) -> None:
        self._pieces.put(None)
        await asyncio.to_thread(self._writing.join, seconds)
