"""The indexer thread: adds stored messages to the search index soon after they are committed, and shrinks the file."""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Callable
from contextlib import nullcontext, suppress
from pathlib import Path

from sojourn.core.errors import SojournError
from sojourn.stores.sqlite import index
from sojourn.stores.sqlite.connect import connect, translate_errors
from sojourn.stores.sqlite.db import SqliteDb
from sojourn.stores.sqlite.term_reader import MIN_ROWS, TermReader, read_ahead
from sojourn.stores.sqlite.writer import WriteLock, fcntl

_QUIET_SECONDS = 0.3  # without a commit, after which rows are indexed
_MAX_WAIT_SECONDS = 1.0  # rows wait no longer than this, however busy the writers are
_KEPT_PAGES = 256  # free ones that stay: the next rows use them
_SHRINK_PAGES = 256  # at a time
_MAX_ROWS_ON_CLOSE = 2000  # more rows are left to the next process


def _count_free_pages(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA freelist_count").fetchone()[0])


class Indexer:
    """Runs only while rows wait. A lock file lets one process at a time fill the index."""

    def __init__(
        self, path: Path, run: Path, write_lock: WriteLock, make_db: Callable[[sqlite3.Connection], SqliteDb]
    ) -> None:
        self._path, self._run, self._write_lock, self._make_db = path, run, write_lock, make_db
        self._nudged, self._closing = threading.Event(), threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def nudge(self) -> None:
        """Tells the thread that messages were committed."""
        if not self._nudged.is_set():
            self._nudged.set()
        if self._thread is None:
            started = threading.Thread(target=self._run_forever, name="sojourn-indexer", daemon=True)
            started.start()  # before the assignment: `close` must not join a thread that is not started
            self._thread = started

    def _run_forever(self) -> None:
        while self._nudged.wait():
            waited = 0.0
            while self._nudged.is_set() and waited < _MAX_WAIT_SECONDS and not self._closing.is_set():
                self._nudged.clear()
                self._closing.wait(_QUIET_SECONDS)
                waited += _QUIET_SECONDS
            if self._closing.is_set():
                return
            try:
                self.catch_up(None)
            except (SojournError, OSError):
                continue  # disk full, locked, no file handle: retried later; searches read the waiting rows until then

    def catch_up(
        self, progress: Callable[[int, int], None] | None, *, max_rows: int | None = None, complete: bool = True
    ) -> int:
        """Indexes the waiting rows and returns their number; 0 if another process does so already.

        max_rows: do nothing if more rows wait
        complete: then add to the rows that an older version has indexed what it did not know
        """
        with self._lock, translate_errors(self._path):
            guard = os.open(self._run / "index.lock", os.O_CREAT | os.O_RDWR, 0o600)
            connection = connect(self._path, read_only=False)
            try:
                if fcntl is not None:
                    fcntl.flock(guard, fcntl.LOCK_EX | (0 if progress else fcntl.LOCK_NB))
                done = self._index_rows(connection, progress, max_rows, complete)
                self._shrink(connection)
                return done
            except BlockingIOError:
                return 0
            finally:
                connection.close()
                os.close(guard)

    def _index_rows(
        self,
        connection: sqlite3.Connection,
        progress: Callable[[int, int], None] | None,
        max_rows: int | None,
        complete: bool,
    ) -> int:
        db, done = self._make_db(connection), 0
        total = index.count_waiting(db) if progress or max_rows is not None else 0
        if max_rows is not None and total > max_rows:
            return 0
        is_long = index.has_more_waiting(db, index.read_state(db), MIN_ROWS)
        with TermReader(self._path) if is_long else nullcontext() as reader:
            while not self._closing.is_set() or max_rows is not None:
                count = self._index_batch(connection, db, complete, reader)
                if not count:
                    break
                done += count
                if progress:
                    progress(done, max(total, done))
        return done

    def _index_batch(
        self, connection: sqlite3.Connection, db: SqliteDb, complete: bool, reader: TermReader | None
    ) -> int:
        """Indexes some new rows, or else completes some old ones; returns their number."""
        state = index.read_state(db)
        ahead = read_ahead(reader, state.indexed_to)
        insert, entries = index.insert_terms, index.read_rows(db, state.indexed_to) if ahead is None else ahead
        if not entries and complete and state.underived_to:
            insert, entries = index.insert_derived, index.read_underived(db, state)
            if not entries:
                self._write(connection, lambda: index.finish_derived(db))
        if entries:
            self._write(connection, lambda: insert(db, state, entries))
        return len(entries)

    def _write(self, connection: sqlite3.Connection, work: Callable[[], None]) -> None:
        with self._write_lock.hold():
            connection.execute("BEGIN IMMEDIATE")
            work()
            connection.execute("COMMIT")

    def _shrink(self, connection: sqlite3.Connection) -> None:
        """Gives the pages of deleted rows back to the disk, in steps that hold up no writer for long."""
        free = _count_free_pages(connection)
        while free > _KEPT_PAGES and not self._closing.is_set():
            with self._write_lock.hold():
                connection.execute(f"PRAGMA incremental_vacuum({_SHRINK_PAGES})").fetchall()
            before, free = free, _count_free_pages(connection)
            if free >= before:
                return  # the file was made without incremental vacuum

    def close(self) -> None:
        self._closing.set()
        self._nudged.set()
        if self._thread is not None:
            self._thread.join(timeout=10)
            with suppress(SojournError):  # then the next search or process indexes them
                self.catch_up(None, max_rows=_MAX_ROWS_ON_CLOSE)
