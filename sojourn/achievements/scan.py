"""Scans a history: lists the sessions, reuses cached results, and counts the rest, often in worker processes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, cached_property, partial

from sojourn.achievements.aggregate import SessionAggregate
from sojourn.achievements.engine import Engine
from sojourn.achievements.engine_plain import PlainEngine
from sojourn.achievements.plan import Plan, build_plan
from sojourn.achievements.rules import RuleBook
from sojourn.achievements.session_cache import CachedSession, CacheRecord, Fingerprint
from sojourn.achievements.session_scanner import Contribution, SessionScanner
from sojourn.core.errors import StoreCorrupt
from sojourn.ports.history import HasSize, History, SessionFacts
from sojourn.worker_pool import PARALLEL_FROM_BYTES, WorkerPool

try:
    from sojourn.achievements.engine_hyperscan import HyperscanEngine
except ImportError:  # no wheel for this machine: slower, same numbers
    HyperscanEngine = None  # type: ignore[assignment,misc]


# Below this many rows to read, starting other processes costs more than it saves.
IN_PROCESS_ROWS = 8_000


@dataclass(frozen=True, slots=True)
class ScanProgress:
    """The progress of a running scan."""

    so_far: SessionAggregate
    expected: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanResult:
    """A finished scan: every session in scan order, and how much work it was."""

    records: Sequence[CacheRecord]
    rescanned: int
    reused: int
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
    progress_callback: Callable[[ScanProgress], None] | None = None,
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
    counted; `progress_callback` is called after every `progress_every` sessions. Raises ScanStopped when `stopped`
    returns true before the end.
    """
    began = time.perf_counter()
    with ExitStack() as until_done:
        start_pool = partial(
            _start_pool, until_done, partial(start_workers, book, history, workers=workers, gentle=gentle)
        )
        is_first = only is None and not known
        early_pool = start_pool() if workers != 1 and is_first and _is_large(history) else None
        listed = [facts for facts in (history.sessions() if only is None else only) if not facts.archived]
        listed = listed[:limit] if limit and limit > 0 else listed
        state = _ScanState(listed, known or {})
        to_read = [facts for facts in listed if facts.id not in state.counted]
        reused = len(listed) - len(to_read)
        reported = reused // progress_every
        local = _LocalScanner(history, scanner or partial(build_scanner, book))
        batches: Iterator[list[Counted]]
        ahead = sum(facts.active_rows for facts in to_read)
        if workers == 1 or len(to_read) < 2 or ahead <= in_process_rows:  # a session is not split
            batches = ([one] for one in local.each([facts.id for facts in to_read]))
        else:
            sizes = [(facts.id, facts.active_rows) for facts in to_read]
            here = None if gentle else local.count
            batches = count_in_processes(early_pool or start_pool(), sizes, here=here, stopped=stopped)
        for finished in batches:
            fresh = state.take(finished)
            if on_counted is not None and fresh:
                on_counted(fresh)
            if stopped():
                raise ScanStopped
            done = len(state.counted) + len(state.damaged)
            if progress_callback is not None and done // progress_every > reported and done < len(listed):
                reported = done // progress_every
                progress_callback(ScanProgress(state.so_far(book), len(listed)))
    if stopped():
        raise ScanStopped
    records = state.records()
    return ScanResult(
        records=records,
        rescanned=len(to_read),
        reused=reused,
        messages=ahead,
        damaged=tuple(state.damaged),
        seconds=time.perf_counter() - began,
    )


def _start_pool(until_done: ExitStack, make: Callable[[], WorkerPool]) -> WorkerPool:
    return until_done.enter_context(make())


def _is_large(history: History) -> bool:
    """Whether a first scan will need worker processes, so that they can start while it lists the sessions."""
    return isinstance(history, HasSize) and history.size() > PARALLEL_FROM_BYTES


class _LocalScanner:
    """Counts in this process; builds its scanner on first use."""

    def __init__(self, history: History, scanner: Callable[[], SessionScanner]) -> None:
        self._history, self._scanner = history, cache(scanner)

    def each(self, sessions: Sequence[str]) -> Iterator[Counted]:
        return count_locally(self._scanner(), self._history, sessions) if sessions else iter(())

    def count(self, sessions: list[str]) -> list[Counted]:
        return list(self.each(sessions))


class _ScanState:
    """Collects the results of a scan."""

    def __init__(self, listed: Sequence[SessionFacts], known: Mapping[str, CachedSession]) -> None:
        self._listed = listed
        self._aggregate: SessionAggregate | None = None
        self._pending: list[str] = []  # counted, but not in the aggregate yet
        self.damaged: list[str] = []
        self.counted: dict[str, Contribution] = {
            facts.id: read.contribution
            for facts in listed
            if (read := known.get(facts.id)) is not None and read.fingerprint == Fingerprint.of(facts)
        }

    @cached_property
    def _by_id(self) -> dict[str, SessionFacts]:
        return {facts.id: facts for facts in self._listed}

    def so_far(self, book: RuleBook) -> SessionAggregate:
        """The aggregate of everything counted so far."""
        if self._aggregate is None:
            self._aggregate, self._pending = SessionAggregate(book), list(self.counted)
        self._aggregate.change([CacheRecord(self._by_id[session], self.counted[session]) for session in self._pending])
        self._pending = []
        return self._aggregate

    def take(self, finished: Sequence[Counted]) -> dict[str, CachedSession]:
        fresh = {}
        for session, contribution in finished:
            if contribution is None:
                self.damaged.append(session)
                continue
            self.counted[session] = contribution
            self._pending.append(session)
            fresh[session] = CachedSession(Fingerprint.of(self._by_id[session]), contribution)
        return fresh

    def records(self) -> list[CacheRecord]:
        return [CacheRecord(facts, self.counted[facts.id]) for facts in self._listed if facts.id in self.counted]


# A finished session and what it adds; None when its rows are damaged.
Counted = tuple[str, Contribution | None]


def build_scanner(book: RuleBook) -> SessionScanner:
    """Builds a scanner with the fastest engine that is installed."""
    planned = build_plan(book.metrics)
    return SessionScanner(book, planned, _choose_engine(planned))


def get_engine_name() -> str:
    return PlainEngine.name if HyperscanEngine is None else HyperscanEngine.name


def _choose_engine(planned: Plan) -> Engine:
    return PlainEngine(planned) if HyperscanEngine is None else HyperscanEngine(planned)


def count_locally(scanner: SessionScanner, history: History, sessions: Sequence[str]) -> Iterator[Counted]:
    """Counts in this process. A damaged session yields None and counting continues."""
    left = list(sessions)
    while left:
        try:
            for session, rows in history.messages(left):
                yield session, scanner.contribution(rows)
                left = left[left.index(session) + 1 :]
            return
        except StoreCorrupt:
            yield left.pop(0), None


def start_workers(book: RuleBook, history: History, *, workers: int | None = None, gentle: bool = False) -> WorkerPool:
    """Starts worker processes. `gentle` ones run at low priority, and this process does not help them."""
    return WorkerPool(_start_worker, (book, history, gentle), workers=workers, caller_works=not gentle)


def count_in_processes(
    pool: WorkerPool,
    sessions: Sequence[tuple[str, int]],
    *,
    here: Callable[[list[str]], list[Counted]] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[list[Counted]]:
    """Counts (session, rows) pairs in workers and partly `here`; yields batches of results in any order."""
    return pool.map(_count_in_worker, sessions, here=here, stopped=stopped)


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
    return list(count_locally(scanner, history, sessions))
