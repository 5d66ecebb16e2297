"""Ends turns that their process could not end: killed, crashed, cut off, or driven out by another surface."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from sojourn.core.errors import Conflict, Interrupted, SessionBusy, SojournError
from sojourn.core.events import Done
from sojourn.core.sessions import Lease, Recorded, SessionId, TurnId
from sojourn.ports.store import SideWrites, Store
from sojourn.service.begun import KIND, Begun, break_lease, off_record, on_record
from sojourn.service.course import Course, told
from sojourn.service.log import held
from sojourn.service.process import is_dead

_FORGOTTEN_QUEUE = 3600.0  # a request that waits for longer, and nobody knows whether its process lives

logger = logging.getLogger(__name__)


class Recovery:
    """`is_mine` tells turns that run here, which are left alone."""

    def __init__(self, store: Store, is_mine: Callable[[TurnId], bool]) -> None:
        self._store, self._is_mine = store, is_mine

    async def sweep(self, session: SessionId | None = None) -> int:
        """Ends every turn whose process is gone or whose lease is over; returns how many."""
        ended = 0
        for begun in await on_record(self._store, session):
            if self._is_mine(begun.id):
                continue
            try:
                ended += await self._mend(begun)
            except Conflict as error:  # another process was quicker
                logger.info("turn %s of session %s is cared for elsewhere: %s", begun.id, begun.session, error)
        return ended

    async def _mend(self, begun: Begun) -> bool:
        dead = is_dead(begun.process)
        if begun.state != "running" and not dead and time.time() - begun.since < _FORGOTTEN_QUEUE:
            return False
        try:
            await self.end(begun)
        except SessionBusy as busy:
            if not dead or busy.since != begun.since:
                return False  # it still runs, or another turn does
            await break_lease(self._store, begun.session)
            await self.end(begun)
        return True

    async def end(self, begun: Begun, error: SojournError | None = None) -> None:
        """Writes the end of a turn that nobody writes any more. SessionBusy while somebody does."""
        session = await self._store.get(begun.session)
        surface = session.driver or begun.by.surface
        async with held(self._store, await self._store.lease(session.id, holder="recovery", surface=surface)) as lease:
            await self.end_under(lease, begun, error)

    async def end_under(self, lease: Lease, begun: Begun, error: SojournError | None = None) -> None:
        """The same, for who has the lease: nobody else writes any more."""
        course = await self._course(begun)
        if not course.begun and not course.over:
            await self.end_running(lease, but=begun)
        await self._end(lease, begun, course, error)

    async def end_running(self, lease: Lease, *, but: Begun) -> None:
        """A turn begins when those before it have ended. None of them has a lease any more, for that is ours."""
        for one in await on_record(self._store, but.session):
            if one.state == "running" and one.id != but.id:
                await self._end(lease, one, await self._course(one), None)

    async def _end(self, lease: Lease, begun: Begun, course: Course, error: SojournError | None) -> None:
        if course.over:
            await off_record(self._store, begun)
        else:
            await self._write_end(lease, begun, course, error)

    async def _course(self, begun: Begun) -> Course:
        course = Course()
        async for kept in self._store.read(begun.session, after=begun.after):
            if kept.turn == begun.id:
                course.see(kept)
        return course

    async def _write_end(self, lease: Lease, begun: Begun, course: Course, error: SojournError | None) -> None:
        """All that is missing, and off record, in one step: whoever is killed here leaves no turn half ended. While we
        have the lease nobody else writes, so the numbers are known before."""
        last = (await self._store.get(begun.session)).last_seq
        status = "failed" if error else "cancelled" if begun.state == "stopped" else "interrupted"
        missing = [] if course.begun else begun.opening()
        why = error or _why(course)
        items = [*missing, *course.loose_ends(status)]
        for seq, item in enumerate(items, last + 1):
            course.see(Recorded(session=begun.session, seq=seq, at=0.0, item=item, turn=begun.id))
        failed = [] if course.failed or status == "cancelled" else [told(why)]
        done = Done(status=status, messages=tuple(course.ids))
        await self._store.append(
            lease, [*items, *failed, done], turn=begun.id, along=SideWrites(drop=((KIND, begun.key),))
        )
        logger.warning("turn %s of session %s ended as %s", begun.id, begun.session, status)


def _why(course: Course) -> Interrupted:
    """What happened, and what was under way."""
    under_way = ", ".join(call.name for call in course.open.values())
    what = f"while {under_way} was under way" if under_way else "before the request was answered"
    return Interrupted(f"Sojourn ended {what}.", hint="Say it again, or go on from here.")
