"""The writer thread of a process, and the fair write lock between processes.

SQLite lets one process write at a time; the others retry at random. `WriteLock` makes that fair: a
writer locks `queue.lock`, then `write.lock`, then unlocks `queue.lock`. A process that has just
written queues again behind those that wait already.
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

from sojourn.core.errors import StoreLocked, StoreUnavailable
from sojourn.stores.sqlite.connect import BUSY_SECONDS, translate
from sojourn.stores.sqlite.group_commit import GroupCommit

try:
    import fcntl as _fcntl
except ImportError:  # Windows: only SQLite's own lock
    _fcntl = None  # type: ignore[assignment]
fcntl: Any = _fcntl

_MAX_BATCH = 256  # units of work in one commit
Work = Callable[[Any], Any]
Callback = Callable[[Any, BaseException | None], None]  # takes the result, or the error
Job = tuple[Work, Callback]


class WriteLock:
    """Two lock files in the run folder. The system releases both when a process dies."""

    def __init__(self, run: Path) -> None:
        self._files = [os.open(run / name, os.O_CREAT | os.O_RDWR, 0o600) for name in ("queue.lock", "write.lock")]
        self._threads = threading.Lock()  # the files exclude other processes, not other threads

    @contextmanager
    def hold(self) -> Iterator[None]:
        if fcntl is None:
            yield
            return
        queue_file, write_file = self._files
        deadline = time.monotonic() + BUSY_SECONDS
        with self._threads:
            _lock_file(queue_file, deadline, pause_seconds=0.001)
            try:
                _lock_file(write_file, deadline, pause_seconds=0.0002)
            finally:
                fcntl.flock(queue_file, fcntl.LOCK_UN)
            try:
                yield
            finally:
                fcntl.flock(write_file, fcntl.LOCK_UN)

    def close(self) -> None:
        for descriptor in self._files:
            os.close(descriptor)


def _lock_file(descriptor: int, deadline: float, pause_seconds: float) -> None:
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
            time.sleep(pause_seconds * random.uniform(0.5, 1.5))


class LoopMailbox:
    """Collects calls from one thread to event loops and delivers them with one wake-up per loop.

    A wake-up costs as much as an SQL statement. Used by one thread only.
    """

    def __init__(self) -> None:
        self._calls: dict[asyncio.AbstractEventLoop, list[tuple[Callable[..., object], tuple[Any, ...]]]] = {}

    def send(self, loop: asyncio.AbstractEventLoop, function: Callable[..., object], *arguments: Any) -> None:
        self._calls.setdefault(loop, []).append((function, arguments))

    def deliver(self) -> None:
        pending, self._calls = self._calls, {}
        for loop, calls in pending.items():
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(_call_all, calls)


def settle(future: asyncio.Future[Any], result: Any, error: BaseException | None) -> None:
    """Ends a future with its result or error, unless the caller was cancelled (then a commit still stands)."""
    if future.done():
        return
    if error is not None:
        future.set_exception(error)
    else:
        future.set_result(result)


def _call_all(calls: list[tuple[Callable[..., object], tuple[Any, ...]]]) -> None:
    for function, arguments in calls:
        function(*arguments)


def _identify(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError:
        return 0, 0
    return found.st_dev, found.st_ino


class Writer:
    """A thread that runs submitted work; everything that waits shares one transaction (group commit)."""

    def __init__(
        self,
        path: Path,
        connection: sqlite3.Connection,
        newest: int,
        write_lock: WriteLock,
        after_commit: Callable[[Any], None],
        make_db: Callable[[sqlite3.Connection], Any],
        mailbox: LoopMailbox,
    ) -> None:
        self._path, self._connection, self._write_lock = path, connection, write_lock
        self._after_commit, self._make_db, self._mailbox = after_commit, make_db, mailbox
        self._group_commit = GroupCommit(path, connection, newest)
        self._identity = _identify(path)
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._thread = threading.Thread(target=self._run, name="sojourn-writer", daemon=True)
        self._thread.start()

    def submit(self, work: Work, callback: Callback) -> None:
        """Queues work. `callback` is called in the writer thread after the commit."""
        self._jobs.put((work, callback))

    def close(self) -> None:
        self._jobs.put(None)
        self._thread.join(timeout=30)
        self._connection.close()
        self._write_lock.close()

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            batch, stop = [job], False
            while len(batch) < _MAX_BATCH and not self._jobs.empty():
                more = self._jobs.get()
                if more is None:
                    stop = True
                    break
                batch.append(more)
            self._run_batch(batch)
            self._mailbox.deliver()
            if stop:
                return

    def _run_batch(self, batch: list[Job]) -> None:
        """Runs all jobs in one transaction; if one fails, runs each in a transaction of its own."""
        db = self._make_db(self._connection)
        try:
            results = self._run_transaction(db, [work for work, _ in batch])
        except Exception as error:  # noqa: BLE001  the thread must survive; the caller gets the error
            if len(batch) > 1:
                for job in batch:
                    self._run_batch([job])
            else:
                batch[0][1](None, error)
            return
        for (_, callback), result in zip(batch, results, strict=True):
            callback(result, None)
        self._after_commit(db)  # callers first; subscribers share their wake-up, and those that come later sleep on

    def check_place(self) -> None:
        """StoreUnavailable if another file, or none, is where ours was: what is written to ours would be lost."""
        if _identify(self._path) != self._identity:
            raise StoreUnavailable(
                f"{self._path} was moved or replaced while it was in use; nothing is written.",
                hint="Put it back, or stop and start Sojourn to use the file that is there now.",
            )

    def _run_transaction(self, db: Any, works: list[Work]) -> list[Any]:
        try:
            with self._write_lock.hold():
                self.check_place()
                return self._group_commit.run(db, works)
        except sqlite3.Error as error:
            raise translate(error, self._path) from error
