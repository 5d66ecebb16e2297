"""The thread that keeps the search index close behind the writers."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from sojourn.core.errors import SojournError
from sojourn.stores.sqlite import index
from sojourn.stores.sqlite.connect import connect, translated
from sojourn.stores.sqlite.db import SqliteDb
from sojourn.stores.sqlite.writer import Turnstile, fcntl

_QUIET = 0.3  # seconds without a commit after which waiting rows are taken in
_AT_MOST = 5.0  # rows wait no longer than this, however busy the writers are
_ON_CLOSE = 2000  # rows that are still taken in before a process ends


class Indexer:
    """Works only while there is something to do; one process at a time, by a lock file."""

    def __init__(
        self, path: Path, run: Path, turnstile: Turnstile, dress: Callable[[sqlite3.Connection], SqliteDb]
    ) -> None:
        self._path, self._run, self._turnstile, self._dress = path, run, turnstile, dress
        self._nudged, self._closing = threading.Event(), threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def nudge(self) -> None:
        """Something was written."""
        if not self._nudged.is_set():
            self._nudged.set()
        if self._thread is None:
            started = threading.Thread(target=self._run_forever, name="sojourn-indexer", daemon=True)
            started.start()  # first: whoever closes meanwhile must not wait for a thread that does not run yet
            self._thread = started

    def _run_forever(self) -> None:
        while self._nudged.wait():
            waited = 0.0
            while self._nudged.is_set() and waited < _AT_MOST and not self._closing.is_set():
                self._nudged.clear()
                self._closing.wait(_QUIET)
                waited += _QUIET
            if self._closing.is_set():
                return
            try:
                self.catch_up(None)
            except SojournError:
                continue  # full or locked: searches read the waiting rows themselves, and we try again

    def catch_up(self, progress: Callable[[int, int], None] | None, *, most: int | None = None) -> int:
        """Takes in what waits; returns how many rows that were. 0 when another process is at it."""
        with self._lock, translated(self._path):
            guard = os.open(self._run / "index.lock", os.O_CREAT | os.O_RDWR, 0o600)
            connection = connect(self._path, read_only=False)
            try:
                if fcntl is not None:
                    fcntl.flock(guard, fcntl.LOCK_EX | (0 if progress else fcntl.LOCK_NB))
                return self._take_in(connection, progress, most)
            except BlockingIOError:
                return 0
            finally:
                connection.close()
                os.close(guard)

    def _take_in(
        self, connection: sqlite3.Connection, progress: Callable[[int, int], None] | None, most: int | None
    ) -> int:
        db, done = self._dress(connection), 0
        total = index.waiting(db) if progress or most is not None else 0
        if most is not None and total > most:
            return 0
        while not self._closing.is_set() or most is not None:
            after = index.indexed_to(db)
            entries = index.prepare(db, after)
            if not entries:
                break
            with self._turnstile.through():
                connection.execute("BEGIN IMMEDIATE")
                index.fill(db, after, entries)
                connection.execute("COMMIT")
            done += len(entries)
            if progress:
                progress(done, max(total, done))
        return done

    def close(self) -> None:
        self._closing.set()
        self._nudged.set()
        if self._thread is not None:
            self._thread.join(timeout=10)
            with suppress(SojournError):  # else the next search or process takes them in
                self.catch_up(None, most=_ON_CLOSE)
