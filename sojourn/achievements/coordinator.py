"""Single-flight scanning: one scan at a time across threads (a lock) and processes (the lock of the document store).

A caller that asks during a scan joins it. Status, snapshots and unlock records change only under the lock or in the one
scanning thread.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from sojourn.achievements import unlocks
from sojourn.achievements.aggregate import SessionAggregate
from sojourn.achievements.document_store import DocumentStore, ScanLock
from sojourn.achievements.rules import RuleBook
from sojourn.achievements.scan import ScanStopped
from sojourn.achievements.scan_job import ScanJob, ScanSettings
from sojourn.achievements.session_cache import CachedSession, SessionCache
from sojourn.achievements.session_scanner import SessionScanner
from sojourn.achievements.snapshot import Snapshot, SnapshotStore
from sojourn.achievements.status import ScanStatus
from sojourn.core.errors import SojournError
from sojourn.ports.history import History

logger = logging.getLogger(__name__)
_POLL_SECONDS = 0.1  # between attempts to get the lock of another process


class ScanCoordinator:
    """Decides when to scan, runs at most one scan, and keeps the last good snapshot."""

    def __init__(
        self,
        history: History,
        documents: DocumentStore,
        *,
        book: RuleBook | None = None,
        settings: ScanSettings | None = None,
        scanner: Callable[[], SessionScanner] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.history, self.book, self.settings = history, book or RuleBook(), settings or ScanSettings()
        self.snapshots = SnapshotStore(documents, clock)
        self._documents, self._clock, self._scanner = documents, clock, scanner
        self._lock = threading.Lock()  # held briefly, never while a file is written
        self._writing = threading.Lock()  # a finished scan and a reset do not write at the same time
        self._status = ScanStatus.load(documents)
        self._job = self._new_job()
        self._thread: threading.Thread | None = None
        self._done = threading.Event()
        self.so_far: Snapshot | None = None  # the partial snapshot of the running scan
        self._full_wanted = False
        self._closing = threading.Event()

    # -- requests ----------------------------------------------------------

    def run_if_needed(
        self, force: bool = False, *, full: bool = False, wait: float | None = None, partials: bool = True
    ) -> bool:
        """Starts a scan if one is needed (or forced) and none is running; joins one that is.

        `full` reads everything again. With `wait` it returns when the scan ended or that many seconds passed.
        Returns whether a scan was started or joined.
        """
        until = time.monotonic() + (wait or 0.0)
        with self._lock:
            is_after_another = self._thread is not None and full
            if self._thread is not None:
                self._status.dedupe_hits += 1
                self._full_wanted = self._full_wanted or full
            elif force or full or self._is_due():
                self._start(force=force or full, full=full, partials=partials)
            else:
                return False
            done = self._done
        if wait is not None:
            done.wait(wait)
            if is_after_another:  # the full scan starts when the running one ends
                self._done.wait(max(0.0, until - time.monotonic()))
        return True

    def get_status(self) -> dict[str, Any]:
        """The status of scanning, as served by `scan-status`. Never starts a scan."""
        snapshot = self.snapshots.get()
        generated_at = snapshot["generated_at"] if snapshot is not None else None
        with self._lock:
            report = self._status.report()
        return {
            **report,
            "ttl_seconds": self.settings.ttl_seconds,
            "snapshot_generated_at": generated_at,
            "snapshot_age_seconds": max(0, int(self._clock() - generated_at)) if generated_at is not None else None,
            "snapshot_stale": self.is_stale(),
        }

    @property
    def is_running(self) -> bool:
        return self._thread is not None

    @property
    def has_failed(self) -> bool:
        return self._status.state == "failed"

    @property
    def last_error(self) -> str | None:
        return self._status.last_error

    @property
    def records(self) -> SessionAggregate:
        """The sessions of the last scan in this process."""
        return self._job.records

    def load_cache(self) -> Mapping[str, CachedSession]:
        """Reads the results of earlier scans."""
        cache = SessionCache(self._documents, self.book)
        cache.load()
        return cache.sessions

    def is_stale(self) -> bool:
        return self.snapshots.is_stale(self.settings.ttl_seconds)

    def note_stale_served(self) -> None:
        with self._lock:
            self._status.stale_served += 1

    def reset(self) -> None:
        """Deletes all results and unlock dates. A running scan is stopped and its result dropped."""
        with self._writing:
            with self._lock:
                self._status.clear()
                self._job, self.so_far = self._new_job(), None
            unlocks.save(self._documents, {})
            self.snapshots.clear()
            SessionCache(self._documents, self.book).clear()
            self._save_status()

    def close(self) -> None:
        """Stops a running scan; what it counted stays in the journal."""
        self._closing.set()
        thread = self._thread
        if thread is not None:
            thread.join()
        if self._status.run_count:
            self._save_status()
        self.history.close()

    # -- scanning ----------------------------------------------------------

    def _new_job(self) -> ScanJob:
        return ScanJob(self.history, self._documents, self.book, self.settings, self._scanner)

    def _is_due(self) -> bool:
        left = self._status.next_try_at - self._clock()
        must_wait = 0 < left <= self.settings.max_wait_seconds  # a longer wait means the clock was turned back
        return self.is_stale() and not must_wait

    def _start(self, *, force: bool, full: bool, partials: bool) -> None:
        """Starts the scanning thread. The caller holds the lock."""
        self._done = threading.Event()
        self._status.begin(self._clock())
        work = partial(self._scan, self._job, self._status.resets, full, partials)
        self._thread = threading.Thread(target=self._run, args=(force, work), name="achievements-scan", daemon=True)
        self._thread.start()

    def _run(self, force: bool, work: Callable[[], bool]) -> None:
        began = time.perf_counter()
        has_scanned, is_new, reason = False, True, None
        try:
            lock = self._acquire_lock(force=force)
            if lock is not None:
                try:
                    is_new = work()
                    has_scanned = True
                finally:
                    lock.release()
        except ScanStopped:
            logger.info("the achievements scan was stopped")
        except SojournError as error:
            logger.info("the achievements scan failed: %s", error)
            reason = str(error)
        except Exception as error:  # after any error the last good snapshot stays in use
            logger.exception("the achievements scan failed")
            reason = f"{type(error).__name__}: {error}"
        try:
            self._end(time.perf_counter() - began, has_scanned, reason)
            if is_new:
                self._save_status()
        finally:
            self._finish()

    def _acquire_lock(self, *, force: bool) -> ScanLock | None:
        """Waits for a scan in another process. None if its result is fresh and this scan was not forced."""
        while (lock := self._documents.try_lock()) is None:
            if self._closing.wait(_POLL_SECONDS):
                raise ScanStopped
        if not force and not self.is_stale():
            lock.release()
            return None
        return lock

    def _scan(self, job: ScanJob, resets: int, full: bool, partials: bool) -> bool:
        """Runs the job and saves its result; returns whether anything had changed since the last scan.

        `resets` is the number of resets so far: if it grows meanwhile, the result is dropped.
        """

        def was_reset() -> bool:
            return self._status.resets != resets

        if self._adopt_foreign_reset():
            job, resets = self._job, self._status.resets

        outcome = job.run(
            now=self._clock,
            full=full,
            on_progress=self._on_progress,
            on_partial=self._on_partial if partials else None,
            stopped=lambda: self._closing.is_set() or was_reset(),
        )
        with self._writing:
            if self._adopt_foreign_reset() or was_reset():
                raise ScanStopped
            job.save(outcome, self.snapshots)
        return outcome.is_new

    def _adopt_foreign_reset(self) -> bool:
        """Whether another process did a reset; if so, this process drops what it has in memory."""
        saved = ScanStatus.load(self._documents).resets
        with self._lock:
            if saved <= self._status.resets:
                return False
            self._status.resets, self._job = saved, self._new_job()
            return True

    def _save_status(self) -> None:
        try:
            self._status.save(self._documents)
        except OSError as error:
            logger.warning("the scan status cannot be saved: %s", error)

    def _on_progress(self, done: int, expected: int) -> None:
        with self._lock:
            self._status.sessions_scanned_so_far, self._status.sessions_expected_total = done, expected

    def _on_partial(self, snapshot: Snapshot) -> None:
        self.so_far = snapshot

    def _end(self, seconds: float, has_scanned: bool, reason: str | None) -> None:
        with self._lock:
            now, status, waits = self._clock(), self._status, self.settings
            if reason is not None:
                status.fail(now, seconds, reason, waits.first_wait_seconds, waits.max_wait_seconds)
            elif has_scanned:
                status.succeed(now, seconds)
            else:
                status.state = "failed" if status.last_error else "idle"

    def _finish(self) -> None:
        """Wakes the callers that wait for the scan, and starts a full scan that was requested meanwhile."""
        with self._lock:
            self.so_far = self._thread = None
            done = self._done
            if self._full_wanted and not self._closing.is_set():
                self._full_wanted = False
                self._start(force=True, full=True, partials=False)
            done.set()
