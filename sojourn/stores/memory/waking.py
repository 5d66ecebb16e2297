"""What each part of the store in memory is given: the dictionaries, and a way to wake those who wait."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from sojourn.stores.memory.data import Data


class Waking:
    """Whoever writes tells those who listen."""

    def __init__(self, data: Data) -> None:
        self._data = data
        self._waiting: set[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = set()

    @contextmanager
    def _writing(self) -> Iterator[Data]:
        """What was touched inside is told to those who wait."""
        try:
            yield self._data
        finally:
            if self._data.touched:
                self._data.touched = set()
                for loop, event in list(self._waiting):
                    if not loop.is_closed():
                        loop.call_soon_threadsafe(event.set)

    @contextmanager
    def _listening(self) -> Iterator[asyncio.Event]:
        entry = (asyncio.get_running_loop(), asyncio.Event())
        self._waiting.add(entry)
        try:
            yield entry[1]
        finally:
            self._waiting.discard(entry)
