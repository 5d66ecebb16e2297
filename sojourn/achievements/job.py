"""One scan from beginning to end, without threads: read, count, evaluate; then, if still wanted, keep it."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

from sojourn.achievements import unlocks
from sojourn.achievements.checkpoint import Checkpoint
from sojourn.achievements.contributions import Known, Numbers, Record, Sums
from sojourn.achievements.rules import RuleBook
from sojourn.achievements.scan import IN_PROCESS_ROWS, Progress, ScanResult, scan_sessions
from sojourn.achievements.session import SessionScanner
from sojourn.achievements.shelf import Shelf
from sojourn.achievements.snapshot import Built, Snapshot, SnapshotStore, build_snapshot
from sojourn.achievements.unlocks import Unlock
from sojourn.achievements.workers import new_scanner
from sojourn.core.values import dataclass
from sojourn.ports.history import History

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanSettings:
    """How scans are made and how long their results are good."""

    ttl_seconds: float = 120.0
    progress_every: int = 250
    workers: int | None = None  # None: as many as there are cores
    gentle: bool = False  # whether scanning processes give way to everybody else
    in_process_rows: int = IN_PROCESS_ROWS
    first_wait: float = 5.0  # seconds until the next try after a failure; doubles each time
    most_wait: float = 600.0
    inherited_state: Path | None = None  # state.json of another program, whose unlock dates are taken over


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a scan found. `is_new` is false when nothing had changed since the last one."""

    snapshot: Snapshot
    unlocks: Mapping[str, Unlock]
    records: Sequence[Record]
    is_new: bool


class ScanJob:
    """Scans one history again and again, remembering what it knows. Used by one thread at a time."""

    def __init__(
        self,
        history: History,
        shelf: Shelf,
        book: RuleBook,
        settings: ScanSettings,
        scanner: Callable[[], SessionScanner] | None = None,
    ) -> None:
        self._history, self._shelf, self._book, self._settings = history, shelf, book, settings
        self._checkpoint = Checkpoint(shelf, book)
        self._last: tuple[Hashable, Outcome] | None = None
        self._sums: Sums | None = None  # of the last scan, and the time zone it was made in
        self._zone: tuple[object, ...] = ()
        self._unsaved: dict[str, Unlock] = {}  # unlocks the shelf refused: their dates hold while we run
        self._problem: str | None = None
        self._scanner = scanner or cache(partial(new_scanner, book))  # made when it is first needed

    @property
    def records(self) -> Sequence[Record]:
        """The sessions of the last finished scan."""
        return self._last[1].records if self._last is not None else ()

    def run(
        self,
        *,
        now: Callable[[], float] = time.time,
        full: bool = False,
        on_progress: Callable[[int, int], None] = lambda done, expected: None,
        on_partial: Callable[[Snapshot], None] | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Outcome:
        """Brings everything up to date. Reading errors are raised; what cannot be written is noted and left."""
        is_kept, self._problem = self._problem is None, None
        mark = (self._history.mark(), time.tzname, time.timezone)
        is_same = mark[0] is not None and self._last is not None and self._last[0] == mark
        if is_same and is_kept and not full:
            return self._as_before(int(now()))
        self._kept("the record of earlier scans", self._checkpoint.load)

        def progress(at: Progress) -> None:
            on_progress(len(at.tally), at.expected)
            if on_partial is not None:
                meta = _meta("in_progress", len(at.tally), expected=at.expected)
                on_partial(self._built(at.tally, meta, {}, int(now()), is_partial=True).snapshot)

        result = scan_sessions(
            self._history,
            self._book,
            known={} if full else dict(self._checkpoint.known),
            before={record.facts.id: record for record in self.records},
            progress_callback=progress,
            progress_every=self._settings.progress_every,
            on_counted=self._noted,
            workers=self._settings.workers,
            gentle=self._settings.gentle,
            in_process_rows=self._settings.in_process_rows,
            scanner=self._scanner,
            stopped=stopped,
        )
        before = unlocks.load(self._shelf, inherited=self._settings.inherited_state) | self._unsaved
        self._sums = Sums(self._book, result.records, self._sums if self._zone == mark[1:] else None)
        self._zone = mark[1:]
        built = self._built(self._sums, _result_meta(result), before, int(now()))
        outcome = Outcome(built.snapshot, built.records, result.records, is_new=True)
        self._last = mark, outcome
        return outcome

    def keep(self, outcome: Outcome, store: SnapshotStore) -> str | None:
        """Writes what a scan found; says what could not be written. The snapshot is in force either way.

        When nothing had changed there is nothing to write: only its time is new, and only in memory.
        """
        if not outcome.is_new:
            store.see_again(outcome.snapshot)
            return None
        now = outcome.snapshot["generated_at"]
        if not unlocks.are_kept(self._shelf, outcome.unlocks):
            is_kept = self._kept("unlock dates", lambda: unlocks.save(self._shelf, outcome.unlocks))
            self._unsaved = {} if is_kept else dict(outcome.unlocks)
        sessions = {record.facts.id for record in outcome.records}
        self._kept("the record of this scan", lambda: self._checkpoint.fold(sessions, now))
        outcome.snapshot["scan_meta"]["error"] = self._problem
        self._kept("the snapshot", lambda: store.set(outcome.snapshot))
        return self._problem

    # -- parts -------------------------------------------------------------

    def _as_before(self, now: int) -> Outcome:
        """Nothing was written since the last scan: the same numbers, seen again now."""
        assert self._last is not None
        mark, before = self._last
        count = len(before.records)
        meta = before.snapshot["scan_meta"] | {
            "mode": "incremental" if count else "full",
            "sessions_rescanned": 0, "sessions_reused": count,
            "duration_ms": 0, "sessions_scanned": 0, "messages_scanned": 0,
        }  # fmt: skip
        snapshot = before.snapshot | {"generated_at": now, "scan_meta": meta}
        outcome = Outcome(snapshot, before.unlocks, before.records, is_new=False)
        self._last = mark, outcome
        return outcome

    def _noted(self, fresh: Mapping[str, Known]) -> None:
        if self._problem is None:
            self._kept("the journal", lambda: self._checkpoint.note(fresh))

    def _built(
        self,
        numbers: Numbers,
        meta: Mapping[str, Any],
        known: Mapping[str, Unlock],
        now: int,
        *,
        is_partial: bool = False,
    ) -> Built:
        previews = self._history.previews
        return build_snapshot(
            self._book, numbers, scan_meta=meta, previews=previews, records=known, now=now, is_partial=is_partial
        )

    def _kept(self, what: str, write: Callable[[], None]) -> bool:
        """A full disk or a read-only folder costs us the record, not the result."""
        try:
            write()
        except OSError as error:
            logger.warning("achievements: %s cannot be kept: %s", what, error)
            self._problem = f"{what} cannot be kept: {error.strerror or error}"
            return False
        return True


def _meta(mode: str, done: int, *, expected: int) -> dict[str, Any]:
    return {
        "mode": mode,
        "sessions_total": done,
        "sessions_rescanned": 0,
        "sessions_reused": 0,
        "sessions_scanned_so_far": done,
        "sessions_expected_total": expected,
        "error": None,
    }


def _result_meta(result: ScanResult) -> dict[str, Any]:
    total = len(result.records)
    return _meta("incremental" if result.reused else "full", total, expected=total) | {
        "sessions_rescanned": result.rescanned,
        "sessions_reused": result.reused,
        "duration_ms": round(result.seconds * 1000),
        "sessions_scanned": result.rescanned,
        "messages_scanned": result.messages,
        "malformed_rows": result.problems,
        "damaged_sessions": list(result.damaged),
    }
