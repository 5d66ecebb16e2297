"""Miner: reads a whole history for its shapes, in several processes, and only what changed since last time."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from sojourn.core.errors import StoreCorrupt
from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER
from sojourn.ports.history import HasSize, History, SessionFacts
from sojourn.processes.worker_pool import PARALLEL_FROM_BYTES, WorkerPool, batches
from sojourn.templates.session_shape import Digest, digest_session, fingerprint
from sojourn.templates.tool_calls import read_exchanges

# Below this many rows to read, starting other processes costs more than it saves.
IN_PROCESS_ROWS = 8_000

Mined = tuple[str, Digest | None]  # None: its rows are damaged
Known = Mapping[str, tuple[str, Digest]]  # by session: the fingerprint and what was found then
Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class MiningResult:
    """What a history holds. `known` is for next time; `damaged` sessions could not be read."""

    facts: Sequence[SessionFacts]  # those that were mined, newest first
    known: Known
    read: int
    damaged: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Json]:
        """The figures, for a surface."""
        return {"sessions": len(self.facts), "read": self.read, "damaged": list(self.damaged)}


def mine(
    history: History,
    known: Known,
    *,
    progress: Progress | None = None,
    workers: int | None = None,
    in_process_rows: int = IN_PROCESS_ROWS,
) -> MiningResult:
    """The shapes of all sessions of the owner that are not archived; sessions that did not change are not read."""
    with ExitStack() as until_done:
        early = (
            until_done.enter_context(_start_workers(history, workers))
            if workers != 1 and _is_large(history, known)
            else None
        )
        facts = [one for one in history.sessions() if not one.archived and one.principal == OWNER]
        prints = {one.id: fingerprint(one) for one in facts}
        found = {id: known[id] for id, now in prints.items() if id in known and known[id][0] == now}
        left = [one for one in facts if one.id not in found]
        damaged: list[str] = []
        sizes = [(one.id, one.active_rows) for one in left]
        mined: Iterator[list[Mined]]
        if workers == 1 or sum(rows for _, rows in sizes) <= in_process_rows:
            mined = (mine_here(history, part) for part in batches(sizes))
        else:
            mined = (early or until_done.enter_context(_start_workers(history, workers))).map(_mine, sizes)
        for parcel in mined:
            for id, shape in parcel:
                if shape is None:
                    damaged.append(id)
                else:
                    found[id] = prints[id], shape
            if progress is not None:
                progress(len(found) + len(damaged), len(facts))
    return MiningResult(facts=facts, known=found, read=len(left), damaged=tuple(damaged))


def _start_workers(history: History, workers: int | None) -> WorkerPool:
    return WorkerPool(_set_history, (history,), workers=workers)


def _is_large(history: History, known: Known) -> bool:
    """Whether so much is to be read that other processes can start while the sessions are listed."""
    return not known and isinstance(history, HasSize) and history.size() > PARALLEL_FROM_BYTES


def mine_here(history: History, sessions: Sequence[str]) -> list[Mined]:
    """Mines sessions in this process. A damaged session is reported and skipped."""
    done: list[Mined] = []
    while len(done) < len(sessions):
        try:
            done += [
                (session, digest_session(rows)) for session, rows in read_exchanges(history, sessions[len(done) :])
            ]
        except StoreCorrupt:
            done += _mine_singly(history, sessions[len(done) :])
    return done


def _mine_singly(history: History, sessions: Sequence[str]) -> Iterator[Mined]:
    for session in sessions:
        try:
            yield from ((session, digest_session(rows)) for _, rows in read_exchanges(history, [session]))
        except StoreCorrupt:
            yield session, None


# -- in the worker process ---------------------------------------------------------------

_history: History | None = None


def _set_history(history: History) -> None:
    global _history
    gc.disable()  # a digest leaves no circles behind, only millions of small things to look through
    _history = history


def _mine(sessions: list[str]) -> list[Mined]:
    if _history is None:
        raise RuntimeError("The worker has no history.")
    return mine_here(_history, sessions)
