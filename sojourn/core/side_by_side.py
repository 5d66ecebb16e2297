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
LARGE = 32_000_000  # bytes: to read so much, other processes are surely worth starting

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


class Crew:
    """Processes that work side by side. They are started at once: they are ready when it is known what there is to do.

    Each is begun with `begin(*given)`. That and what they do is found by name there, so both stand at the top of their
    module. With `lends_a_hand` the caller's own process does a part too, while the others are still starting.
    """

    def __init__(
        self,
        begin: Callable[..., None],
        given: tuple[Any, ...],
        *,
        workers: int | None = None,
        lends_a_hand: bool = False,
    ) -> None:
        self._hands = min(workers or os.cpu_count() or 1, MOST_WORKERS)
        self._size = max(1, self._hands - lends_a_hand)
        context = multiprocessing.get_context("spawn")  # a server has threads: forking it is not safe
        self._pool = ProcessPoolExecutor(self._size, mp_context=context, initializer=_begin, initargs=(begin, given))
        self._running: set[Future[Any]] = set()
        for _ in range(self._size):
            self._pool.submit(_be_ready)

    def does(
        self,
        work: Callable[[list[str]], Done],
        sessions: Sequence[tuple[str, int]],
        *,
        here: Callable[[list[str]], Done] | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Iterator[Done]:
        """What comes of each parcel, in whatever order; `here` does some of them itself."""
        running = self._running
        left = parcels(sessions, self._hands)
        while True:
            while len(running) < self._size * 3 and (parcel := next(left, None)):
                running.add(self._pool.submit(work, parcel))
            own = next(left, None) if here is not None else None
            if own and here is not None:
                yield here(own)
            if stopped() or not (own or running):
                return
            done, _ = wait(running, timeout=0.0 if own else 1.0, return_when=FIRST_COMPLETED)
            for one in done:
                running.remove(one)
                yield one.result()

    def __enter__(self) -> Crew:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=bool(self._running), cancel_futures=True)  # nobody waits until idle ones are gone


def _be_ready() -> None:
    """A process is started by giving it something to do."""


def _begin(begin: Callable[..., None], given: tuple[Any, ...]) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    begin(*given)


def _end_with_parent() -> None:
    """A parent that is killed cannot stop its workers: they watch it instead."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
