"""Pool of worker processes for long lists of sessions, which it hands out in batches of about equal work."""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import Any, TypeVar

from sojourn.root_logger import set_up_root_logger

MAX_BATCH_ROWS, MIN_BATCH_ROWS, MAX_BATCH_SESSIONS = 4_000, 500, 100
_ROUNDS = 6  # how often every worker would still get a batch of the current size; so the last batches are small
MAX_WORKERS = 8
PARALLEL_FROM_BYTES = 32_000_000  # reading this much takes longer than starting processes

Result = TypeVar("Result")


def batches(sessions: Sequence[tuple[str, int]], workers: int = 1) -> Iterator[list[str]]:
    """Splits sessions (id, number of rows): large batches first, small ones last, so that all workers end together."""
    batch: list[str] = []
    rows, left = 0, sum(count for _, count in sessions)
    for session, count in sessions:
        batch.append(session)
        rows += count
        enough = max(MIN_BATCH_ROWS, min(MAX_BATCH_ROWS, left // (workers * _ROUNDS)))
        if rows >= enough or len(batch) >= MAX_BATCH_SESSIONS:
            yield batch
            batch, rows, left = [], 0, left - rows
    if batch:
        yield batch


class WorkerPool:
    """Processes that start at once, so that they are ready when the list of sessions is known.

    Each worker first runs `begin(*given)`. Workers import `begin` and the mapped function by name, so both are
    module-level functions. With `caller_works` the calling process handles batches too.
    """

    def __init__(
        self,
        begin: Callable[..., None],
        given: tuple[Any, ...],
        *,
        workers: int | None = None,
        caller_works: bool = False,
    ) -> None:
        self._workers = min(workers or os.cpu_count() or 1, MAX_WORKERS)
        self._size = max(1, self._workers - caller_works)
        context = multiprocessing.get_context("spawn")  # a server has threads: forking it is not safe
        self._pool = ProcessPoolExecutor(self._size, mp_context=context, initializer=_begin, initargs=(begin, given))
        self._running: set[Future[Any]] = set()
        for _ in range(self._size):
            self._pool.submit(_do_nothing)

    def map(
        self,
        work: Callable[[list[str]], Result],
        sessions: Sequence[tuple[str, int]],
        *,
        here: Callable[[list[str]], Result] | None = None,
        stopped: Callable[[], bool] = lambda: False,
    ) -> Iterator[Result]:
        """Yields the result of each batch, in any order; `here` handles some of them in the calling process."""
        running = self._running
        left = batches(sessions, self._workers)
        while True:
            while len(running) < self._size * 3 and (batch := next(left, None)):
                running.add(self._pool.submit(work, batch))
            own = next(left, None) if here is not None else None
            if own and here is not None:
                yield here(own)
            if stopped() or not (own or running):
                return
            done, _ = wait(running, timeout=0.0 if own else 1.0, return_when=FIRST_COMPLETED)
            for future in done:
                running.remove(future)
                yield future.result()

    def __enter__(self) -> WorkerPool:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=bool(self._running), cancel_futures=True)  # idle workers are not waited for


def _do_nothing() -> None:
    """The first task of each worker: the pool starts a process only when there is a task."""


def _begin(begin: Callable[..., None], given: tuple[Any, ...]) -> None:
    set_up_root_logger(None)
    threading.Thread(target=_exit_with_parent, daemon=True).start()
    begin(*given)


def _exit_with_parent() -> None:
    """A parent that is killed cannot stop its workers, so each worker watches its parent."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
