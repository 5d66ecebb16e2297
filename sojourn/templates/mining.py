"""Reading a whole history for its shapes: several processes side by side, and only what changed since last time."""

from __future__ import annotations

import gc
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from dataclasses import dataclass

from sojourn.core.errors import BadInput, StoreCorrupt
from sojourn.core.sessions import OWNER
from sojourn.ports.history import History, SessionFacts, TellsExchanges
from sojourn.templates.shapes import Digest, digest, fingerprint

# Below this many rows to read, starting other processes costs more than it saves.
IN_PROCESS_ROWS = 8_000
ROWS_AT_A_TIME = 1_500
MOST_WORKERS = 8

Mined = tuple[str, Digest | None]  # None: its rows are damaged
Known = Mapping[str, tuple[str, Digest]]  # by session: the fingerprint and what was found then
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Yield:
    """What a history holds. `known` is for next time; `damaged` sessions could not be read."""

    facts: Sequence[SessionFacts]  # those that were mined, newest first
    known: Known
    read: int
    damaged: tuple[str, ...] = ()


def mine(
    history: History, known: Known, *, progress: Progress | None = None, workers: int | None = None,
    in_process_rows: int = IN_PROCESS_ROWS,
) -> Yield:  # fmt: skip
    """The shapes of all sessions of the owner that are not archived; sessions that did not change are not read."""
    facts = [one for one in history.sessions() if not one.archived and one.principal == OWNER]
    prints = {one.id: fingerprint(one) for one in facts}
    found = {id: known[id] for id, now in prints.items() if id in known and known[id][0] == now}
    left = [one for one in facts if one.id not in found]
    damaged: list[str] = []
    parcels: Iterator[list[Mined]]
    if workers == 1 or sum(one.active_rows for one in left) <= in_process_rows:
        parcels = (mine_here(history, part) for part in _parcels(left))
    else:
        parcels = _in_processes(history, left, workers)
    for parcel in parcels:
        for id, shape in parcel:
            if shape is None:
                damaged.append(id)
            else:
                found[id] = prints[id], shape
        if progress is not None:
            progress(len(found) + len(damaged), len(facts))
    return Yield(facts=facts, known=found, read=len(left), damaged=tuple(damaged))


def mine_here(history: History, sessions: Sequence[str]) -> list[Mined]:
    """In this very process. A damaged session is reported and the next one read."""
    if not isinstance(history, TellsExchanges):
        raise BadInput("This history does not tell which answer belongs to which call.", hint="Import it first.")
    done: list[Mined] = []
    while len(done) < len(sessions):
        try:
            done += [(session, digest(rows)) for session, rows in history.exchanges(sessions[len(done) :])]
        except StoreCorrupt:
            done += _one_by_one(history, sessions[len(done) :])
    return done


def _one_by_one(history: TellsExchanges, sessions: Sequence[str]) -> Iterator[Mined]:
    for session in sessions:
        try:
            yield from ((session, digest(rows)) for _, rows in history.exchanges([session]))
        except StoreCorrupt:
            yield session, None


def _parcels(facts: Sequence[SessionFacts]) -> Iterator[list[str]]:
    """Sessions in parcels of about equal work."""
    parcel: list[str] = []
    rows = 0
    for one in facts:
        parcel.append(one.id)
        rows += one.active_rows
        if rows >= ROWS_AT_A_TIME:
            yield parcel
            parcel, rows = [], 0
    if parcel:
        yield parcel


def _in_processes(history: History, facts: Sequence[SessionFacts], workers: int | None) -> Iterator[list[Mined]]:
    size = min(workers or os.cpu_count() or 1, MOST_WORKERS)
    context = multiprocessing.get_context("spawn")  # a server has threads: forking it is not safe
    pool = ProcessPoolExecutor(size, mp_context=context, initializer=_begin, initargs=(history,))
    try:
        parcels = _parcels(facts)
        running: set[Future[list[Mined]]] = set()
        while True:
            while len(running) < size * 3 and (parcel := next(parcels, None)):
                running.add(pool.submit(_mine, parcel))
            if not running:
                return
            done, running = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
            for one in done:
                yield one.result()
    finally:
        pool.shutdown(cancel_futures=True)


# -- in the worker process: the process is the object, this is its state ---------------------

_history: History | None = None


def _begin(history: History) -> None:
    global _history
    threading.Thread(target=_end_with_parent, daemon=True).start()
    gc.disable()  # a digest leaves no circles behind, only millions of small things to look through
    _history = history


def _end_with_parent() -> None:
    """A parent that is killed cannot stop its workers: they watch it instead."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _mine(sessions: list[str]) -> list[Mined]:
    if _history is None:
        raise RuntimeError("A worker mines before it was begun.")
    return mine_here(_history, sessions)
