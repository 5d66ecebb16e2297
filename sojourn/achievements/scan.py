"""A scan: list the sessions, reuse what is known, read the rest, and put it together in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache, cached_property, partial

from sojourn.achievements.aggregate import Ledger
from sojourn.achievements.bookmarks import Bookmarks
from sojourn.achievements.rules import RuleBook
from sojourn.achievements.session_cache import Fingerprint, Known, Record
from sojourn.achievements.session_scanner import Contribution, SessionScanner
from sojourn.achievements.workers import Counted, count_here, count_in_processes, new_crew, new_scanner
from sojourn.ports.history import HasSize, History, SessionFacts
from sojourn.worker_pool import PARALLEL_FROM_BYTES, WorkerPool

# Below this many rows to read, starting other processes costs more than it saves.
IN_PROCESS_ROWS = 8_000


@dataclass(frozen=True, slots=True)
class Progress:
    """A scan on its way."""

    so_far: Ledger
    expected: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ScanResult:
    """A finished scan: every session in scan order, and how much work it was."""

    records: Sequence[Record]
    rescanned: int
    reused: int
    messages: int  # rows read in this scan
    damaged: tuple[str, ...]  # sessions that could not be read at all
    seconds: float


class ScanStopped(Exception):
    """Somebody asked the scan to end early; what was counted is in the journal."""


def scan_sessions(
    history: History,
    book: RuleBook,
    *,
    known: Mapping[str, Known] | None = None,
    only: Sequence[SessionFacts] | None = None,
    bookmarks: Bookmarks | None = None,
    limit: int | None = None,
    progress_callback: Callable[[Progress], None] | None = None,
    progress_every: int = 250,
    on_counted: Callable[[Mapping[str, Known]], None] | None = None,
    workers: int | None = None,
    gentle: bool = False,
    in_process_rows: int = IN_PROCESS_ROWS,
    scanner: Callable[[], SessionScanner] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> ScanResult:
    """Counts the whole history (or its `limit` newest sessions), reading only what is new or changed.

    `only` are the sessions to look at where the others are known to be as they were; those of them that are read in
    this process are read on from their `bookmarks`. A `scanner` that is at hand saves making one for work that needs
    no other processes. `on_counted` hears of finished sessions soon after they are counted, `progress_callback` after
    every `progress_every` sessions. Raises ScanStopped when `stopped` says so before the end.
    """
    began = time.perf_counter()
    with ExitStack() as until_done:
        new_hands = partial(_hands, until_done, partial(new_crew, book, history, workers=workers, gentle=gentle))
        is_first = only is None and not known
        early = new_hands() if workers != 1 and is_first and _is_large(history) else None
        listed = [facts for facts in (history.sessions() if only is None else only) if not facts.archived]
        listed = listed[:limit] if limit and limit > 0 else listed
        desk = _Desk(listed, known or {})
        to_read = [facts for facts in listed if facts.id not in desk.counted]
        reused = len(listed) - len(to_read)
        reported = reused // progress_every
        at_hand = _AtHand(history, scanner or partial(new_scanner, book))
        parcels: Iterator[list[Counted]]
        ahead = sum(map(bookmarks.rows_ahead if bookmarks else _rows, to_read))
        if workers == 1 or len(to_read) < 2 or ahead <= in_process_rows:  # a session is not split
            each = bookmarks.count(to_read) if bookmarks else at_hand.each([facts.id for facts in to_read])
            parcels = ([one] for one in each)
        else:
            sizes = [(facts.id, facts.active_rows) for facts in to_read]
            here = None if gentle else at_hand.count
            parcels = count_in_processes(early or new_hands(), sizes, here=here, stopped=stopped)
        for finished in parcels:
            fresh = desk.take(finished)
            if on_counted is not None and fresh:
                on_counted(fresh)
            if stopped():
                raise ScanStopped
            done = len(desk.counted) + len(desk.damaged)
            if progress_callback is not None and done // progress_every > reported and done < len(listed):
                reported = done // progress_every
                progress_callback(Progress(desk.so_far(book), len(listed)))
    if stopped():
        raise ScanStopped
    records = desk.records()
    return ScanResult(
        records=records,
        rescanned=len(to_read),
        reused=reused,
        messages=ahead,
        damaged=tuple(desk.damaged),
        seconds=time.perf_counter() - began,
    )


def _rows(facts: SessionFacts) -> int:
    return facts.active_rows


def _hands(until_done: ExitStack, make: Callable[[], WorkerPool]) -> WorkerPool:
    return until_done.enter_context(make())


def _is_large(history: History) -> bool:
    """Whether a first scan will surely want other processes: they can start while its sessions are listed."""
    return isinstance(history, HasSize) and history.size() > PARALLEL_FROM_BYTES


class _AtHand:
    """Counting in this very process, with a scanner that is made when it is first needed."""

    def __init__(self, history: History, scanner: Callable[[], SessionScanner]) -> None:
        self._history, self._scanner = history, cache(scanner)

    def each(self, sessions: Sequence[str]) -> Iterator[Counted]:
        return count_here(self._scanner(), self._history, sessions) if sessions else iter(())

    def count(self, sessions: list[str]) -> list[Counted]:
        return list(self.each(sessions))


class _Desk:
    """Where contributions are collected until all are there."""

    def __init__(self, listed: Sequence[SessionFacts], known: Mapping[str, Known]) -> None:
        self._listed = listed
        self._ledger: Ledger | None = None
        self._untold: list[str] = []  # counted, but not in the ledger yet
        self.damaged: list[str] = []
        self.counted: dict[str, Contribution] = {
            facts.id: read.contribution
            for facts in listed
            if (read := known.get(facts.id)) is not None and read.fingerprint == Fingerprint.of(facts)
        }

    @cached_property
    def _by_id(self) -> dict[str, SessionFacts]:
        return {facts.id: facts for facts in self._listed}

    def so_far(self, book: RuleBook) -> Ledger:
        """What is counted so far; the second time only what is new is added."""
        if self._ledger is None:
            self._ledger, self._untold = Ledger(book), list(self.counted)
        self._ledger.change([Record(self._by_id[session], self.counted[session]) for session in self._untold])
        self._untold = []
        return self._ledger

    def take(self, finished: Sequence[Counted]) -> dict[str, Known]:
        fresh = {}
        for session, contribution in finished:
            if contribution is None:
                self.damaged.append(session)
                continue
            self.counted[session] = contribution
            self._untold.append(session)
            fresh[session] = Known(Fingerprint.of(self._by_id[session]), contribution)
        return fresh

    def records(self) -> list[Record]:
        return [Record(facts, self.counted[facts.id]) for facts in self._listed if facts.id in self.counted]
