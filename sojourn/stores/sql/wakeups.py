"""Wake-ups inside one process: any thread publishes a commit, subscribers wait for it in any event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from sojourn.core.events import Done, Metadata
from sojourn.core.sessions import Recorded

ALL_SESSIONS = ""  # the name under which a subscriber is woken for every session
_TOPIC_MARK = "@"  # begins the name of a topic, which is not a session
INBOX, OUTBOX, BINDINGS, GATEWAYS = "@inbox", "@outbox", "@bindings", "@gateways"
HANDOFFS, RECORDS = "@handoffs", "@records"  # a record of a session wakes the subscribers of the session instead
_MAX_TURNS, _MAX_TURN_ITEMS = 256, 500  # of the turns that run here, whose log is kept in memory
Delivery = Callable[[asyncio.AbstractEventLoop, Callable[..., object], Any], None]


class Wakeup(asyncio.Event):
    """An event that also carries the log items appended by this process; all else must be read from the store."""

    def __init__(self, *, include_log: bool = True) -> None:
        super().__init__()
        self.include_log = include_log
        self.loop = asyncio.get_running_loop()
        self.items: list[Recorded] = []
        self.must_read = False  # something happened that `items` does not hold
        self._poll_timer: asyncio.TimerHandle | None = None
        self._is_active = False

    async def wait_or_poll(self, seconds: float) -> None:
        """Waits until the event is set; sets it after `seconds` without one, so a lost notification only delays."""
        if self._poll_timer is None:
            self._poll_timer = self.loop.call_later(seconds, self._poll, seconds)
        await self.wait()

    def _poll(self, seconds: float) -> None:
        self._poll_timer = self.loop.call_later(seconds, self._poll, seconds) if self._is_active else None
        if not self._is_active:
            self.notify(None)
        self._is_active = False

    def cancel_timer(self) -> None:
        if self._poll_timer is not None:
            self._poll_timer.cancel()

    def take(self) -> tuple[list[Recorded], bool]:
        """Returns the log items and whether the store must be read, and clears both."""
        items, must_read = self.items, self.must_read
        self.items, self.must_read = [], False
        self.clear()
        return items, must_read

    def notify(self, items: Sequence[Recorded] | None) -> None:
        """Sets the event. Without items, the subscriber has to read the store."""
        if items is None:
            self.must_read = True
        else:
            self.items.extend(items)
            self._is_active = True
        self.set()


def _call_soon(loop: asyncio.AbstractEventLoop, work: Callable[..., object], argument: Any) -> None:
    if not loop.is_closed():
        loop.call_soon_threadsafe(work, argument)


class Subscribers:
    """The wake-ups of this process by session or topic."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._by_name: dict[str, set[Wakeup]] = {}
        self._turns: dict[str, list[Recorded]] = {}  # what the turn that runs here has appended, by session

    def add(self, *names: str, include_log: bool = True) -> Wakeup:
        """Subscribes to sessions or topics. Without `include_log`, appends of this process do not wake it; with it,
        the subscriber begins with those of the running turn."""
        wakeup = Wakeup(include_log=include_log)
        with self._lock:
            for name in names:
                self._by_name.setdefault(name, set()).add(wakeup)
            if include_log and (items := self._turns.get(names[0])):
                wakeup.notify(items)
        return wakeup

    def remove(self, wakeup: Wakeup, *names: str) -> None:
        wakeup.cancel_timer()
        with self._lock:
            for name in names:
                remaining = self._by_name.get(name, set())
                remaining.discard(wakeup)
                if not remaining:
                    self._by_name.pop(name, None)

    def wake(
        self,
        names: Iterable[str] | None,
        log_items: Mapping[str, Sequence[Recorded]] | None = None,
        deliver: Delivery = _call_soon,
    ) -> None:
        """Wakes subscribers after a commit.

        Args:
            names: sessions and topics that the commit touched; None wakes all, if the names are unknown.
            log_items: what this process appended to the sessions to which nothing else happened; the subscribers of
                other sessions have to read the store.
            deliver: calls a function in an event loop.
        """
        with self._lock:
            self._note_turns(names, log_items or {})
            keys = list(self._by_name) if names is None else _keys(names)
            wakeups = [(wakeup, key) for key in keys for wakeup in self._by_name.get(key, ())]
        for wakeup, key in wakeups:
            items = log_items.get(key) if log_items else None
            if items is None or wakeup.include_log:
                deliver(wakeup.loop, wakeup.notify, items)

    def _note_turns(self, names: Iterable[str] | None, log_items: Mapping[str, Sequence[Recorded]]) -> None:
        """Keeps what running turns append, without a gap; forgets a session to which anything else happens."""
        for name in list(self._turns) if names is None else names:
            items, known = log_items.get(name, ()), self._turns.pop(name, None)
            if items and isinstance(items[0].item, Metadata):
                known = []
            elif known is None or not items or items[0].seq != known[-1].seq + 1:
                continue
            known += items
            if len(known) <= _MAX_TURN_ITEMS and not isinstance(known[-1].item, Done):
                self._turns[name] = known
        while len(self._turns) > _MAX_TURNS:
            del self._turns[next(iter(self._turns))]


def _keys(names: Iterable[str]) -> list[str]:
    """Adds the subscribers of all sessions, unless all names are topics."""
    keys = list(names)
    return keys if keys and all(key.startswith(_TOPIC_MARK) for key in keys) else [ALL_SESSIONS, *keys]
