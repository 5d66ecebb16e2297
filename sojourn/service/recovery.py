"""Recovery: ends turns that their own process could not end, because it died, lost the store or lost the lease."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from sojourn.core.errors import Conflict, Interrupted, SessionBusy, SojournError
from sojourn.core.events import Done
from sojourn.core.sessions import Lease, Recorded, SessionId, TurnId
from sojourn.ports.store import SideWrites, Store
from sojourn.process_identity import is_dead
from sojourn.service.turn_record import KIND, TurnRecord, break_lease, list_active_turns, remove_turn
from sojourn.service.turn_state import TurnState, to_failed_event
from sojourn.service.turn_writer import brief_lease

_QUEUED_TTL_SECONDS = 3600.0  # for a queued turn of a process that cannot be checked

logger = logging.getLogger(__name__)


class Recovery:
    """Ends abandoned turns. `is_local` tells which turns run in this process; those are left alone."""

    def __init__(self, store: Store, is_local: Callable[[TurnId], bool]) -> None:
        self._store, self._is_local = store, is_local

    async def sweep(self, session: SessionId | None = None) -> int:
        """Ends every turn whose process is dead or whose lease has expired; returns how many."""
        ended = 0
        for record in await list_active_turns(self._store, session):
            if self._is_local(record.id):
                continue
            try:
                ended += await self._recover(record)
            except Conflict as error:  # another process was quicker
                logger.info("turn %s of session %s is ended by another process: %s", record.id, record.session, error)
        return ended

    async def _recover(self, record: TurnRecord) -> bool:
        dead = is_dead(record.process)
        if record.state != "running" and not dead and time.time() - record.since < _QUEUED_TTL_SECONDS:
            return False
        try:
            await self.end(record)
        except SessionBusy as busy:
            if not dead or busy.since != record.since:
                return False  # this turn or another one still runs
            await break_lease(self._store, record.session)
            await self.end(record)
        return True

    async def end(self, record: TurnRecord, error: SojournError | None = None) -> None:
        """Writes the end of an abandoned turn. SessionBusy while another process holds the lease."""
        session = await self._store.get(record.session)
        surface = session.driver or record.by.surface
        async with brief_lease(
            self._store, await self._store.lease(session.id, holder="recovery", surface=surface)
        ) as lease:
            state = await self._read_state(record)
            if not state.has_begun and not state.over:
                await self.end_running(lease, but=record)
            await self._end(lease, record, state, error)

    async def end_running(self, lease: Lease, *, but: TurnRecord) -> None:
        """Ends the other running turns of a session: the caller holds the lease, so they have lost theirs."""
        for one in await list_active_turns(self._store, but.session):
            if one.state == "running" and one.id != but.id:
                await self._end(lease, one, await self._read_state(one), None)

    async def _end(self, lease: Lease, record: TurnRecord, state: TurnState, error: SojournError | None) -> None:
        if state.over:
            await remove_turn(self._store, record)
        else:
            await self._write_end(lease, record, state, error)

    async def _read_state(self, record: TurnRecord) -> TurnState:
        state = TurnState()
        async for kept in self._store.read(record.session, after=record.after):
            if kept.turn == record.id:
                state.apply(kept)
        return state

    async def _write_end(self, lease: Lease, record: TurnRecord, state: TurnState, error: SojournError | None) -> None:
        """Appends all that is missing and removes the record in one transaction. Only the lease holder writes, so the
        sequence numbers are known in advance."""
        last = (await self._store.get(record.session)).last_seq
        status = "failed" if error else "cancelled" if record.state == "stopped" else "interrupted"
        missing = [] if state.has_begun else record.opening()
        why = error or _to_interrupted(state)
        items = [*missing, *state.loose_ends(status)]
        for seq, item in enumerate(items, last + 1):
            state.apply(Recorded(session=record.session, seq=seq, at=0.0, item=item, turn=record.id))
        failed = [] if state.failed or status == "cancelled" else [to_failed_event(why)]
        done = Done(status=status, messages=tuple(state.ids))
        await self._store.append(
            lease, [*items, *failed, done], turn=record.id, along=SideWrites(drop=((KIND, record.key),))
        )
        logger.warning("turn %s of session %s ended as %s", record.id, record.session, status)


def _to_interrupted(state: TurnState) -> Interrupted:
    """The error that names the calls that were running."""
    running = ", ".join(call.name for call in state.open.values())
    what = f"while {running} was under way" if running else "before the request was answered"
    return Interrupted(f"Sojourn ended {what}.", hint="Say it again, or go on from here.")
