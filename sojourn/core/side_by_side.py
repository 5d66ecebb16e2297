"""A long list of sessions, worked through by several processes side by side, in parcels of about equal work."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import Any, TypeVar

MOST_ROWS, FEWEST_ROWS, MOST_SESSIONS = 4_000, 500, 100  # in one parcel
_ROUNDS = 6  # how often everybody would still get a parcel of this size; so the last ones are small
MOST_WORKERS = 8

Done = TypeVar("Done")


def parcels(sessions: Sequence[tuple[str, int]], workers: int = 1) -> Iterator[list[str]]:
    """Sessions and the rows of each, in parcels: large ones first, small ones at the end, so that all end together."""
    parcel: list[str] = []
    rows, left = 0, sum(count for _, count in sessions)
    for session, count in sessions:
        parcel.append(session)
        rows += count
        enough = max(FEWEST_ROWS, min(MOST_ROWS, left // (workers * _ROUNDS)))
        if rows >= enough or len(parcel) >= MOST_SESSIONS:
            yield parcel
            parcel, rows, left = [], 0, left - rows
    if parcel:
        yield parcel


def in_processes(
    work: Callable[[list[str]], Done], sessions: Sequence[tuple[str, int]], *, begin: Callable[..., None],
    given: tuple[Any, ...], workers: int | None = None, stopped: Callable[[], bool] = lambda: False,
) -> Iterator[Done]:  # fmt: skip
    """What comes of each parcel, in whatever order. Every process is begun with `begin(*given)`; both functions are
    found by their names there, so they stand at the top of their module."""
    size = min(workers or os.cpu_count() or 1, MOST_WORKERS)
    context = multiprocessing.get_context("spawn")  # a server has threads: forking it is not safe
    pool = ProcessPoolExecutor(size, mp_context=context, initializer=_begin, initargs=(begin, given))
    running: set[Future[Done]] = set()
    try:
        left = parcels(sessions, size)
        while True:
            while len(running) < size * 3 and (parcel := next(left, None)):
                running.add(pool.submit(work, parcel))
            if not running or stopped():
                return
            done, running = wait(running, timeout=1.0, return_when=FIRST_COMPLETED)
            for one in done:
                yield one.result()
    finally:
        pool.shutdown(wait=bool(running), cancel_futures=True)  # when all is done, nobody waits until they are gone


def _begin(begin: Callable[..., None], given: tuple[Any, ...]) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    begin(*given)


def _end_with_parent() -> None:
    """A parent that is killed cannot stop its workers: they watch it instead."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
