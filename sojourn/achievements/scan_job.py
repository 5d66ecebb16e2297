"""One scan without threads: `run` reads, counts and evaluates; `save` writes the result."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from sojourn.achievements import unlocks
from sojourn.achievements.aggregate import SessionAggregate
from sojourn.achievements.document_store import DocumentStore
from sojourn.achievements.rules import RuleBook
from sojourn.achievements.scan import IN_PROCESS_ROWS, ScanResult, build_scanner, scan_sessions
from sojourn.achievements.session_cache import CachedSession, SessionCache
from sojourn.achievements.session_scanner import SessionScanner
from sojourn.achievements.snapshot import Snapshot, SnapshotStore, build_snapshot
from sojourn.achievements.threshold_dates import ThresholdDates
from sojourn.achievements.unlocks import Unlock
from sojourn.ports.history import HasChangeFeed, History, HistoryChanges

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanSettings:
    """Settings of scans, and how long their results are fresh."""

    ttl_seconds: float = 120.0
    progress_every: int = 250
    workers: int | None = None  # None: as many as there are cores
    gentle: bool = False  # worker processes run at low priority
    in_process_rows: int = IN_PROCESS_ROWS
    first_wait_seconds: float = 5.0  # seconds until a retry after a failure; doubles each time
    max_wait_seconds: float = 600.0
    inherited_state: Path | None = None  # state.json of another program; its unlock dates are adopted
    is_ours: bool = False  # a scan of our own store: badges say when they were reached, and stay unlocked


@dataclass(frozen=True, slots=True)
class ScanOutcome:
    """The result of a scan. `is_new` is false if nothing had changed since the last one."""

    snapshot: Snapshot
    unlocks: Mapping[str, Unlock]
    records: SessionAggregate
    is_new: bool


class ScanJob:
    """Scans one history repeatedly and reuses earlier results. Used by one thread at a time."""

    def __init__(
        self,
        history: History,
        documents: DocumentStore,
        book: RuleBook,
        settings: ScanSettings,
        scanner: Callable[[], SessionScanner] | None = None,
    ) -> None:
        self._history, self._documents, self._book, self._settings = history, documents, book, settings
        self._cache = SessionCache(documents, book)
        self._last: tuple[Hashable, ScanOutcome] | None = None
        self._aggregate: SessionAggregate | None = None  # None if it may be older than the last list of sessions
        self._zone: tuple[object, ...] = ()  # the time zone in which it was counted
        self._unsaved: dict[str, Unlock] = {}  # unlocks that could not be written; valid while this process runs
        self._problem: str | None = None
        self._dates = ThresholdDates(book) if settings.is_ours else None
        self._scanner = scanner or cache(partial(build_scanner, book))  # made when it is first needed

    @property
    def records(self) -> SessionAggregate:
        """The sessions of the last finished scan."""
        return self._last[1].records if self._last is not None else SessionAggregate(self._book)

    def run(
        self,
        *,
        now: Callable[[], float] = time.time,
        full: bool = False,
        on_progress: Callable[[int, int], None] = lambda done, expected: None,
        on_partial: Callable[[Snapshot], None] | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> ScanOutcome:
        """Counts what changed and evaluates the badges. Read errors are raised; write errors go into `scan_meta`."""
        is_saved, self._problem = self._problem is None, None
        mark = (self._history.fingerprint(), time.tzname, time.timezone)
        is_same = mark[0] is not None and self._last is not None and self._last[0] == mark
        if is_same and is_saved and not full:
            return self._repeat_last(int(now()))
        self._try_save("the record of earlier scans", self._cache.load)

        def progress(counted: SessionAggregate, expected: int) -> None:
            on_progress(len(counted), expected)
            if on_partial is not None:
                meta = _build_meta("in_progress", len(counted), expected=expected)
                on_partial(self._build(counted, meta, int(now()))[0])

        aggregate, result = self._update(mark[1:], full, progress, stopped)
        before = unlocks.load(self._documents, inherited=self._settings.inherited_state) | self._unsaved
        dates = None if result.damaged else self._dates
        snapshot, after = self._build(aggregate, _build_result_meta(result, aggregate), int(now()), before, dates)
        outcome = ScanOutcome(snapshot, after, aggregate, is_new=True)
        self._last = mark, outcome
        return outcome

    def save(self, outcome: ScanOutcome, store: SnapshotStore) -> str | None:
        """Writes the result of a scan and returns the problem if that failed. The snapshot is served either way.

        If nothing had changed, only the time of the snapshot in memory is updated.
        """
        if not outcome.is_new:
            store.set_in_memory(outcome.snapshot)
            return None
        now = outcome.snapshot["generated_at"]
        if not unlocks.are_saved(self._documents, outcome.unlocks):
            is_saved = self._try_save("unlock dates", lambda: unlocks.save(self._documents, outcome.unlocks))
            self._unsaved = {} if is_saved else dict(outcome.unlocks)
        self._try_save("the record of this scan", lambda: self._cache.compact(outcome.records, now))
        outcome.snapshot["scan_meta"]["error"] = self._problem
        self._try_save("the snapshot", lambda: store.set(outcome.snapshot))
        return self._problem

    # -- parts -------------------------------------------------------------

    def _update(
        self,
        zone: tuple[object, ...],
        full: bool,
        progress: Callable[[SessionAggregate, int], None],
        stopped: Callable[[], bool],
    ) -> tuple[SessionAggregate, ScanResult]:
        """Scans only the changed sessions if the history reports a few; otherwise all of them."""
        aggregate = None if full or self._zone != zone else self._aggregate
        self._aggregate, self._zone = None, zone  # until success: the history reports each change only once
        changes = self._find_few_changes() if aggregate is not None else None
        result = scan_sessions(
            self._history,
            self._book,
            known={} if full else self._cache.sessions,
            only=changes.facts if changes is not None else None,
            progress_callback=progress,
            progress_every=self._settings.progress_every,
            on_counted=self._save_to_journal,
            workers=self._settings.workers,
            gentle=self._settings.gentle,
            in_process_rows=self._settings.in_process_rows,
            scanner=self._scanner,
            stopped=stopped,
        )
        if aggregate is None or changes is None:
            aggregate = SessionAggregate(self._book, result.records)
        else:
            left_out = {facts.id for facts in changes.facts} - {record.facts.id for record in result.records}
            aggregate.change(result.records, [*changes.gone, *left_out])
        self._aggregate = None if result.damaged else aggregate  # a damaged session may be repaired without a sign
        return aggregate, result

    def _find_few_changes(self) -> HistoryChanges | None:
        """The changes the history reports; None if it cannot or if they are many."""
        changes = self._history.changes() if isinstance(self._history, HasChangeFeed) else None
        return changes if changes is not None and len(changes.facts) < self._settings.progress_every else None

    def _repeat_last(self, now: int) -> ScanOutcome:
        """Repeats the last result with the present time: nothing was written since."""
        assert self._last is not None
        mark, before = self._last
        count = len(before.records)
        meta = before.snapshot["scan_meta"] | {
            "mode": "incremental" if count else "full",
            "sessions_rescanned": 0,
            "sessions_reused": count,
            "duration_ms": 0,
            "sessions_scanned": 0,
            "messages_scanned": 0,
        }
        snapshot = before.snapshot | {"generated_at": now, "scan_meta": meta}
        outcome = ScanOutcome(snapshot, before.unlocks, before.records, is_new=False)
        self._last = mark, outcome
        return outcome

    def _save_to_journal(self, fresh: Mapping[str, CachedSession]) -> None:
        if self._problem is None:
            self._try_save("the journal", lambda: self._cache.add(fresh))

    def _build(
        self,
        sessions: SessionAggregate,
        meta: Mapping[str, Any],
        now: int,
        known: Mapping[str, Unlock] | None = None,
        dates: ThresholdDates | None = None,
    ) -> tuple[Snapshot, dict[str, Unlock]]:
        previews = self._history.previews
        return build_snapshot(
            self._book, sessions, scan_meta=meta, previews=previews, now=now, known=known, dates=dates
        )

    def _try_save(self, what: str, write: Callable[[], None]) -> bool:
        """Runs `write` and records an OSError: a full disk must not cost the result of the scan."""
        try:
            write()
        except OSError as error:
            logger.warning("achievements: %s cannot be saved: %s", what, error)
            self._problem = f"{what} cannot be saved: {error.strerror or error}"
            return False
        return True


def _build_meta(mode: str, done: int, *, expected: int) -> dict[str, Any]:
    counts = {"sessions_total": done, "sessions_scanned_so_far": done, "sessions_expected_total": expected}
    return {"mode": mode, **counts, "sessions_rescanned": 0, "sessions_reused": 0, "error": None}


def _build_result_meta(result: ScanResult, aggregate: SessionAggregate) -> dict[str, Any]:
    total = len(aggregate)
    reused = total - result.rescanned + len(result.damaged)
    return _build_meta("incremental" if reused else "full", total, expected=total) | {
        "sessions_rescanned": result.rescanned,
        "sessions_reused": reused,
        "duration_ms": round(result.seconds * 1000),
        "sessions_scanned": result.rescanned,
        "messages_scanned": result.messages,
        "malformed_rows": aggregate.problems,
        "damaged_sessions": list(result.damaged),
    }
