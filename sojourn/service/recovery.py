"""Recovery: ends turns that their own process could not end, because it died, lost the store or lost the lease."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable
from functools import partial

from sojourn.core.errors import Conflict, Interrupted, LeaseLost, NotDriving, SessionBusy, SojournError
from sojourn.core.events import Done, Yielded
from sojourn.core.sessions import Lease, SessionId, TurnId
from sojourn.ports.store import Store, Transaction
from sojourn.processes.identity import is_dead
from sojourn.service.turn_record import KIND, TurnRecord, list_active_turns
from sojourn.service.turn_state import TurnState, to_failed_event
from sojourn.text.codec import decode_value

_QUEUED_TTL_SECONDS = 3600.0  # for a queued turn of a process that cannot be checked

logger = logging.getLogger(__name__)


class Recovery:
    """Ends abandoned turns. `is_local` tells which turns run in this process; those are left alone."""

    def __init__(self, store: Store, is_local: Callable[[TurnId], bool]) -> None:
        self._store, self._is_local = store, is_local

    async def sweep(self, session: SessionId | None = None) -> int:
        """Ends every turn whose process is dead or whose lease has expired; returns how many."""
        ended = 0
        for record in await self._store.snapshot(partial(list_active_turns, session=session)):
            if self._is_local(record.id):
                continue
            try:
                ended += await self._store.transact(partial(_recover, record=record))
            except Conflict as error:  # another surface drives it, or a hand-off has begun
                logger.info("turn %s of session %s cannot be ended now: %s", record.id, record.session, error)
        return ended

    async def end(self, record: TurnRecord, error: SojournError | None = None) -> None:
        """Writes the end of a turn of this process that will not run. SessionBusy while another one holds the lease."""
        await self._store.transact(partial(_end_abandoned, record=record, error=error))


def _recover(store: Transaction, record: TurnRecord) -> bool:
    is_gone = is_dead(record.process)
    if record.state != "running" and not is_gone and time.time() - record.since < _QUEUED_TTL_SECONDS:
        return False
    try:
        return _end_abandoned(store, record, is_gone=is_gone)
    except SessionBusy:
        return False  # this turn or another one still runs


def _end_abandoned(
    store: Transaction, record: TurnRecord, error: SojournError | None = None, *, is_gone: bool = True
) -> bool:
    """Ends a turn if its record is still there. `is_gone`: nobody uses its lease any more. SessionBusy."""
    known = store.get_record(KIND, record.key)
    if known is None:
        return False
    record = decode_value(TurnRecord, known.value)
    lease = _find_lease(store, record) if is_gone else None
    if lease is None:
        surface = store.get(record.session).driver or record.by.surface
        lease = store.lease(record.session, holder="recovery", surface=surface)
    end_others(store, lease, record, list_active_turns(store, record.session))
    end_turn(store, lease, record, error)
    store.renew(lease, 0)
    return True


def _find_lease(store: Transaction, record: TurnRecord) -> Lease | None:
    """The lease of a turn, if it still holds."""
    try:
        return store.renew(record.lease) if record.lease else None
    except (LeaseLost, NotDriving):
        return None


def end_others(store: Transaction, lease: Lease, record: TurnRecord, active: Iterable[TurnRecord]) -> None:
    """Ends the other running turns of a session: the caller holds the lease, so they have lost theirs."""
    for one in active:
        if one.state == "running" and one.id != record.id:
            end_turn(store, lease, one)


def end_turn(store: Transaction, lease: Lease, record: TurnRecord, error: SojournError | None = None) -> None:
    """Appends all that a turn lacks, `done` included, and removes its record."""
    state = TurnState()
    for kept in store.read(record.session, after=record.after):
        if kept.turn == record.id:
            state.apply(kept)
    if not state.over:
        store.append(lease, _build_end(record, state, error, store.get(record.session).last_seq), turn=record.id)
    store.delete_record(KIND, record.key)


def _build_end(record: TurnRecord, state: TurnState, error: SojournError | None, last_seq: int) -> list[Yielded]:
    """What is missing. Only the lease holder writes, so the sequence numbers are known in advance."""
    status = "failed" if error else "cancelled" if record.state == "stopped" else "interrupted"
    why = error or _to_interrupted(state)
    items = [*([] if state.has_begun else record.opening()), *state.loose_ends(status)]
    state = state.expect(record.session, items, last_seq)
    failed = [] if state.failed or status == "cancelled" else [to_failed_event(why)]
    logger.warning("turn %s of session %s ended as %s", record.id, record.session, status)
    return [*items, *failed, Done(status=status, messages=tuple(state.ids))]


def _to_interrupted(state: TurnState) -> Interrupted:
    """The error that names the calls that were running."""
    running = ", ".join(call.name for call in state.open.values())
    what = f"while {running} was under way" if running else "before the request was answered"
    return Interrupted(f"Sojourn ended {what}.", hint="Say it again, or go on from here.")
