"""Scans a history: lists the sessions, reuses cached results, and counts the rest, often in worker processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING

from sojourn.achievements.aggregate import SessionAggregate
from sojourn.achievements.engine import Engine
from sojourn.achievements.engine_plain import PlainEngine
from sojourn.achievements.plan import build_plan
from sojourn.achievements.rules import RuleBook
from sojourn.achievements.session_cache import CachedSession, CacheRecord, Fingerprint
from sojourn.achievements.session_scanner import Contribution, SessionScanner
from sojourn.core.errors import StoreCorrupt
from sojourn.lazy import Lazy
from sojourn.ports.history import HasSize, History, SessionFacts
from sojourn.processes.worker_pool import PARALLEL_FROM_BYTES, WorkerPool

if TYPE_CHECKING:
    from sojourn.achievements.engine_hyperscan import HyperscanEngine

HYPERSCAN_ENGINE: Lazy[type[HyperscanEngine]] = Lazy("sojourn.achievements.engine_hyperscan:HyperscanEngine")

# Below this many rows to read, starting other processes costs more than it saves.
IN_PROCESS_ROWS = 8_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanResult:
    """A finished scan: every session in scan order, and how much work it was."""

    records: Sequence[CacheRecord]
    rescanned: int
    messages: int  # rows read in this scan
    damaged: tuple[str, ...]  # sessions that could not be read at all
    seconds: float


class ScanStopped(Exception):
    """The scan was asked to stop; what it counted is in the journal."""


def scan_sessions(
    history: History,
    book: RuleBook,
    *,
    known: Mapping[str, CachedSession] | None = None,
    only: Sequence[SessionFacts] | None = None,
    limit: int | None = None,
    progress_callback: Callable[[SessionAggregate, int], None] | None = None,
    progress_every: int = 250,
    on_counted: Callable[[Mapping[str, CachedSession]], None] | None = None,
    workers: int | None = None,
    gentle: bool = False,
    in_process_rows: int = IN_PROCESS_ROWS,
    scanner: Callable[[], SessionScanner] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> ScanResult:
    """Counts the whole history (or its `limit` newest sessions), reading only what is new or changed.

    `only` limits the scan to these sessions, if all others are known to be unchanged. A `scanner` that is at hand saves
    building one for work that needs no other processes. `on_counted` receives finished sessions soon after they are
    counted; `progress_callback` receives the aggregate so far and the expected number of sessions after every
    `progress_every` sessions. Raises ScanStopped when `stopped` returns true before the end.
    """
    began = time.perf_counter()
    with ExitStack() as until_done:

        def start_pool() -> WorkerPool:
            return until_done.enter_context(start_workers(book, history, workers=workers, gentle=gentle))

        is_first = only is None and not known
        early_pool = start_pool() if workers != 1 and is_first and _is_large(history) else None
        listed = _list_sessions(history, only, limit)
        state = _ScanState(listed, known or {})
        to_read = [facts for facts in listed if facts.id not in state.counted]
        reports = _ProgressReports(state, book, progress_callback, progress_every)
        count_here = partial(count_locally, cache(scanner or partial(build_scanner, book)), history)
        batches: Iterator[Iterable[Counted]]
        ahead = sum(facts.active_rows for facts in to_read)
        if workers == 1 or len(to_read) < 2 or ahead <= in_process_rows:  # a session is not split
            batches = ([one] for one in count_here([facts.id for facts in to_read]))
        else:
            sizes = [(facts.id, facts.active_rows) for facts in to_read]
            pool = early_pool or start_pool()
            batches = pool.map(_count_in_worker, sizes, here=None if gentle else count_here, stopped=stopped)
        for finished in batches:
            fresh = state.add(finished)
            if on_counted is not None and fresh:
                on_counted(fresh)
            if stopped():
                raise ScanStopped
            reports.send_if_due()
    if stopped():
        raise ScanStopped
    return ScanResult(
        records=state.list_records(),
        rescanned=len(to_read),
        messages=ahead,
        damaged=tuple(state.damaged),
        seconds=time.perf_counter() - began,
    )


def _list_sessions(history: History, only: Sequence[SessionFacts] | None, limit: int | None) -> list[SessionFacts]:
    listed = [facts for facts in (history.sessions() if only is None else only) if not facts.archived]
    return listed[:limit] if limit and limit > 0 else listed


def _is_large(history: History) -> bool:
    """Whether a first scan will need worker processes, so that they can start while it lists the sessions."""
    return isinstance(history, HasSize) and history.size() > PARALLEL_FROM_BYTES


class _ScanState:
    """Collects the results of a scan."""

    def __init__(self, listed: Sequence[SessionFacts], known: Mapping[str, CachedSession]) -> None:
        self.listed = listed
        self._aggregate: SessionAggregate | None = None
        self._pending: list[CacheRecord] = []  # counted, but not in the aggregate yet
        self.damaged: list[str] = []
        self.counted: dict[str, CacheRecord] = {
            facts.id: CacheRecord(facts, read.contribution)
            for facts in listed
            if (read := known.get(facts.id)) is not None and read.fingerprint == Fingerprint.of(facts)
        }

    @cached_property
    def _by_id(self) -> dict[str, SessionFacts]:
        return {facts.id: facts for facts in self.listed}

    def update_aggregate(self, book: RuleBook) -> SessionAggregate:
        """The aggregate of everything counted so far."""
        if self._aggregate is None:
            self._aggregate, self._pending = SessionAggregate(book), list(self.counted.values())
        self._aggregate.change(self._pending)
        self._pending = []
        return self._aggregate

    def add(self, finished: Iterable[Counted]) -> dict[str, CachedSession]:
        """Adds finished sessions; returns those that are not damaged."""
        fresh = {}
        for session, contribution in finished:
            if contribution is None:
                self.damaged.append(session)
                continue
            facts = self._by_id[session]
            self.counted[session] = record = CacheRecord(facts, contribution)
            self._pending.append(record)
            fresh[session] = CachedSession(Fingerprint.of(facts), contribution)
        return fresh

    def list_records(self) -> list[CacheRecord]:
        return [self.counted[facts.id] for facts in self.listed if facts.id in self.counted]


# A finished session and what it adds; None when its rows are damaged.
Counted = tuple[str, Contribution | None]


def build_scanner(book: RuleBook) -> SessionScanner:
    """Builds a scanner with the fastest engine that is installed."""
    plan = build_plan(book.metrics)
    try:
        engine: Engine = HYPERSCAN_ENGINE.load()(plan)
    except ImportError:  # no wheel for this machine: slower, same numbers
        engine = PlainEngine(plan)
    return SessionScanner(book, plan, engine)


def count_locally(
    scanner: Callable[[], SessionScanner], history: History, sessions: Sequence[str]
) -> Iterator[Counted]:
    """Counts in this process; builds the scanner on first use. A damaged session yields None and counting continues."""
    left = list(sessions)
    while left:
        try:
            for session, rows in history.messages(left):
                yield session, scanner().count_session(rows)
                left = left[left.index(session) + 1 :]
            return
        except StoreCorrupt:
            yield left.pop(0), None


def start_workers(book: RuleBook, history: History, *, workers: int | None = None, gentle: bool = False) -> WorkerPool:
    """Starts worker processes. `gentle` ones run at low priority, and this process does not help them."""
    return WorkerPool(_start_worker, (book, history, gentle), workers=workers, caller_works=not gentle)


# -- in the worker process; the state is global because there is one scanner per process --------

_worker: tuple[SessionScanner, History] | None = None


def _start_worker(book: RuleBook, history: History, gentle: bool) -> None:
    global _worker
    if gentle and hasattr(os, "nice"):
        os.nice(10)
    _worker = build_scanner(book), history


def _count_in_worker(sessions: list[str]) -> list[Counted]:
    if _worker is None:
        raise RuntimeError("The worker was not initialised.")
    scanner, history = _worker
    return list(count_locally(lambda: scanner, history, sessions))


class _ProgressReports:
    """Calls back after every `every` sessions of a scan, except after the last one."""

    def __init__(
        self, state: _ScanState, book: RuleBook, callback: Callable[[SessionAggregate, int], None] | None, every: int
    ) -> None:
        self._state, self._book, self._callback, self._every = state, book, callback, every
        self._sent = len(state.counted) // every

    def send_if_due(self) -> None:
        done, total = len(self._state.counted) + len(self._state.damaged), len(self._state.listed)
        if self._callback is not None and done // self._every > self._sent and done < total:
            self._sent = done // self._every
            self._callback(self._state.update_aggregate(self._book), total)
