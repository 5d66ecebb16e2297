"""Several processes that count sessions side by side. Each opens the history for itself."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Sequence

from sojourn.achievements.engine import Engine
from sojourn.achievements.engine_plain import PlainEngine
from sojourn.achievements.plan import Plan, plan
from sojourn.achievements.rules import RuleBook
from sojourn.achievements.session_scanner import Contribution, SessionScanner
from sojourn.core.errors import StoreCorrupt
from sojourn.ports.history import History
from sojourn.worker_pool import WorkerPool

try:
    from sojourn.achievements.engine_hyperscan import HyperscanEngine
except ImportError:  # no wheel for this machine: slower, same numbers
    HyperscanEngine = None  # type: ignore[assignment,misc]

# A finished session and what it adds; None when its rows are damaged.
Counted = tuple[str, Contribution | None]


def new_scanner(book: RuleBook) -> SessionScanner:
    """A scanner with the fastest engine of this machine."""
    planned = plan(book.metrics)
    return SessionScanner(book, planned, _engine(planned))


def engine_name() -> str:
    return PlainEngine.name if HyperscanEngine is None else HyperscanEngine.name


def _engine(planned: Plan) -> Engine:
    return PlainEngine(planned) if HyperscanEngine is None else HyperscanEngine(planned)


def count_here(scanner: SessionScanner, history: History, sessions: Sequence[str]) -> Iterator[Counted]:
    """Counts in this very process. A damaged session is reported and the next one read."""
    left = list(sessions)
    while left:
        try:
            for session, rows in history.messages(left):
                yield session, scanner.contribution(rows)
                left = left[left.index(session) + 1 :]
            return
        except StoreCorrupt:
            yield left.pop(0), None


def new_crew(book: RuleBook, history: History, *, workers: int | None = None, gentle: bool = False) -> WorkerPool:
    """Processes that will count. `gentle` ones leave the processor to everybody else who wants it, and this process to
    those it serves."""
    return WorkerPool(_begin, (book, history, gentle), workers=workers, caller_works=not gentle)


def count_in_processes(
    crew: WorkerPool,
    sessions: Sequence[tuple[str, int]],
    *,
    here: Callable[[list[str]], list[Counted]] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Iterator[list[Counted]]:
    """Counts (session, rows) pairs in other processes, and some `here`; yields what is finished, in whatever order."""
    return crew.map(_count, sessions, here=here, stopped=stopped)


# -- in the worker process: the process is the object, these two are its state ---------------

_worker: tuple[SessionScanner, History] | None = None


def _begin(book: RuleBook, history: History, gentle: bool) -> None:
    global _worker
    if gentle and hasattr(os, "nice"):
        os.nice(10)
    gc.disable()  # counting leaves no circles behind, only many small things to look through
    _worker = new_scanner(book), history


def _count(sessions: list[str]) -> list[Counted]:
    if _worker is None:
        raise RuntimeError("A worker counts before it was begun.")
    scanner, history = _worker
    return list(count_here(scanner, history, sessions))
