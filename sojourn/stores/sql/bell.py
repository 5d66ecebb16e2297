"""Waking those who wait in this process: asked from any thread, answered in any event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable

EVERY = ""  # the name under which a waiter hears about all sessions


class Waiters:
    """Who waits for which session."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, set[tuple[asyncio.AbstractEventLoop, asyncio.Event]]] = {}

    def add(self, session: str) -> asyncio.Event:
        event = asyncio.Event()
        with self._lock:
            self._waiting.setdefault(session, set()).add((asyncio.get_running_loop(), event))
        return event

    def remove(self, session: str, event: asyncio.Event) -> None:
        with self._lock:
            left = {entry for entry in self._waiting.get(session, set()) if entry[1] is not event}
            if left:
                self._waiting[session] = left
            else:
                self._waiting.pop(session, None)

    def wake(self, sessions: Iterable[str] | None) -> None:
        """None wakes everybody: something happened, it is not known where."""
        with self._lock:
            names = list(self._waiting) if sessions is None else [EVERY, *sessions]
            entries = [entry for name in names for entry in self._waiting.get(name, ())]
        for loop, event in entries:
            if not loop.is_closed():
                loop.call_soon_threadsafe(event.set)
