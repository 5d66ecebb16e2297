"""One writer thread per process; between processes, a queue at the door.

SQLite lets one process write at a time and leaves the others to try again by chance. The
turnstile below makes that fair: who wants to write first holds `queue`, then `write`, then lets
go of `queue`. Whoever has just written cannot slip in before the one who already waits.
"""

from __future__ import annotations

import asyncio
import os
import queue
import random
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from sojourn.core.errors import StoreLocked
from sojourn.stores.sqlite.connect import BUSY_SECONDS, translate
from sojourn.stores.sqlite.together import Together

try:
    import fcntl as _fcntl
except ImportError:  # Windows: SQLite's own waiting has to do
    _fcntl = None  # type: ignore[assignment]
fcntl: Any = _fcntl

_BATCH = 256
Work = Callable[[Any], Any]
Answer = Callable[[Any, BaseException | None], None]  # the result, or the error
Job = tuple[Work, Answer]


class Turnstile:
    """Two lock files in the run folder. A process that dies lets go of both at once."""

    def __init__(self, run: Path) -> None:
        self._files = [os.open(run / name, os.O_CREAT | os.O_RDWR, 0o600) for name in ("queue.lock", "write.lock")]
        self._inside = threading.Lock()  # the files tell processes apart, not threads

    @contextmanager
    def through(self, seconds: float = BUSY_SECONDS) -> Iterator[None]:
        if fcntl is None:
            yield
            return
        line, door = self._files
        deadline = time.monotonic() + seconds
        with self._inside:
            _take(line, deadline, pause=0.001)
            try:
                _take(door, deadline, pause=0.0002)
            finally:
                fcntl.flock(line, fcntl.LOCK_UN)
            try:
                yield
            finally:
                fcntl.flock(door, fcntl.LOCK_UN)

    def close(self) -> None:
        for descriptor in self._files:
            os.close(descriptor)


def _take(descriptor: int, deadline: float, pause: float) -> None:
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise StoreLocked(
                    "Another process has been writing to the store for too long.",
                    hint="Stop it, or wait for it to end.",
                ) from None
            time.sleep(pause * random.uniform(0.5, 1.5))


class Post:
    """What a thread has to say to event loops, brought to each in one go: every call wakes a loop, and costs as much
    as a statement. Used by one thread only."""

    def __init__(self) -> None:
        self._bag: dict[asyncio.AbstractEventLoop, list[tuple[Callable[..., object], tuple[Any, ...]]]] = {}

    def send(self, loop: asyncio.AbstractEventLoop, work: Callable[..., object], *what: Any) -> None:
        self._bag.setdefault(loop, []).append((work, what))

    def deliver(self) -> None:
        bag, self._bag = self._bag, {}
        for loop, letters in bag.items():
            with suppress(RuntimeError):  # the loop has been closed: nobody is there to hear it
                loop.call_soon_threadsafe(_open_all, letters)


def _open_all(letters: list[tuple[Callable[..., object], tuple[Any, ...]]]) -> None:
    for work, what in letters:
        work(*what)


class Writer:
    """Runs what it is given, one transaction for everything that waits (group commit)."""

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        turnstile: Turnstile,
        after: Callable[[Any], None],
        dress: Callable[[sqlite3.Connection], Any],
        post: Post,
    ) -> None:
        self._path, self._connection, self._turnstile = path, connection, turnstile
        self._after, self._dress, self._post = after, dress, post
        self._doing = Together(connection)
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="sojourn-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Work, answer: Answer) -> None:
        """`answer` is called in the writer's thread, after the commit."""
        self._jobs.put((work, answer))

    def close(self) -> None:
        self._jobs.put(None)
        self._thread.join(timeout=30)
        self._connection.close()
        self._turnstile.close()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            batch, stop = [job], False
            while len(batch) < _BATCH and not self._jobs.empty():
                more = self._jobs.get()
                if more is None:
                    stop = True
                    break
                batch.append(more)
            self._together(batch)
            self._post.deliver()
            if stop:
                return

    def _together(self, batch: list[Job]) -> None:
        """All in one transaction; if one of them fails, each in a transaction of its own."""
        db = self._dress(self._connection)
        try:
            results = self._transaction(db, [work for work, _ in batch])
        except Exception as error:  # noqa: BLE001  the thread must live; the error goes to who asked
            if len(batch) > 1:
                for job in batch:
                    self._together([job])
            else:
                batch[0][1](None, error)
            return
        for (_, answer), result in zip(batch, results, strict=True):
            answer(result, None)
        if len(batch) == 1:
            self._post.deliver()  # one who waits alone hears it first; for many, one wake-up must do for everything
        self._after(db)

    def _transaction(self, db: Any, works: list[Work]) -> list[Any]:
        try:
            with self._turnstile.through():
                return self._doing.run(db, works)
        except sqlite3.Error as error:
            raise translate(error, self._path) from error
