"""Waking those who wait in this process: asked from any thread, answered in any event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sojourn.core.sessions import Recorded

EVERY = ""  # the name under which a waiter hears about all sessions
ASIDE = "@"  # begins the name of what is no session: parts of the gateway's journal
Delivery = Callable[[asyncio.AbstractEventLoop, Callable[..., object], Any], None]


class Ring(asyncio.Event):
    """Rings when there is something new. What this very process has kept comes along; the rest is in the store."""

    def __init__(self, *, hears_log: bool = True) -> None:
        super().__init__()
        self.hears_log = hears_log
        self.loop = asyncio.get_running_loop()
        self.told: list[Recorded] = []
        self.look = False  # something happened that did not come along
        self._net: asyncio.TimerHandle | None = None
        self._busy = False

    async def rest(self, seconds: float) -> None:
        """Until it rings. When it was silent for that long it rings by itself: a lost ring costs a moment, no more."""
        if self._net is None:
            self._net = self.loop.call_later(seconds, self._by_itself, seconds)
        await self.wait()

    def _by_itself(self, seconds: float) -> None:
        self._net = self.loop.call_later(seconds, self._by_itself, seconds) if self._busy else None
        if not self._busy:
            self.hear(None)
        self._busy = False

    def silence(self) -> None:
        if self._net is not None:
            self._net.cancel()

    def take(self) -> tuple[list[Recorded], bool]:
        """What came along, and whether there is more to look for. From here on it rings for what is newer."""
        told, look = self.told, self.look
        self.told, self.look = [], False
        self.clear()
        return told, look

    def hear(self, kept: Sequence[Recorded] | None) -> None:
        """None: look for yourself."""
        if kept is None:
            self.look = True
        else:
            self.told.extend(kept)
            self._busy = True
        self.set()


def _soon(loop: asyncio.AbstractEventLoop, work: Callable[..., object], what: Any) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(work, what)


class Waiters:
    """Who waits for which session."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[str, set[Ring]] = {}

    def add(self, *names: str, hears_log: bool = True) -> Ring:
        """Without `hears_log`, what this process adds to a session's log does not ring."""
        ring = Ring(hears_log=hears_log)
        with self._lock:
            for name in names:
                self._waiting.setdefault(name, set()).add(ring)
        return ring

    def remove(self, ring: Ring, *names: str) -> None:
        ring.silence()
        with self._lock:
            for name in names:
                left = self._waiting.get(name, set())
                left.discard(ring)
                if not left:
                    self._waiting.pop(name, None)

    def wake(self, sessions: Iterable[str] | None) -> None:
        """None wakes everybody: something happened, it is not known where."""
        with self._lock:
            names = list(self._waiting) if sessions is None else _rung(sessions)
            rings = [ring for name in names for ring in self._waiting.get(name, ())]
        for ring in rings:
            _soon(ring.loop, ring.hear, None)

    def tell(self, touched: Iterable[str], kept: Mapping[str, Sequence[Recorded]], deliver: Delivery = _soon) -> None:
        """After a commit of this process. Sessions of which only the log grew are in `kept`, with what was added."""
        with self._lock:
            rings = [(ring, kept.get(name)) for name in _rung(touched) for ring in self._waiting.get(name, ())]
        for ring, items in rings:
            if items is None or ring.hears_log:
                deliver(ring.loop, ring.hear, items)


def _rung(names: Iterable[str]) -> list[str]:
    """Those named, and who listens to all sessions, unless it is known that none was touched."""
    rung = list(names)
    return rung if rung and all(name.startswith(ASIDE) for name in rung) else [EVERY, *rung]
