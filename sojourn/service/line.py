"""Who is next: one turn per session at a time, in every process; requests that come meanwhile wait in order."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Coroutine
from dataclasses import dataclass, replace
from typing import Any

from sojourn.core.errors import (
    BeingHandedOver,
    Conflict,
    Interrupted,
    NotDriving,
    NotFound,
    SessionBusy,
    SojournError,
    StoreUnavailable,
)
from sojourn.core.sessions import Lease, Session, TurnId
from sojourn.ports.app import HasStore
from sojourn.ports.runtime import CanComplete
from sojourn.ports.service import Turn
from sojourn.ports.store import SideWrites
from sojourn.service import keys, titles
from sojourn.service.agent import AgentService
from sojourn.service.begun import PAUSE, TRIES, Begun, lease_soon, off_record, on_record, running
from sojourn.service.course import Course
from sojourn.service.loading import Loading
from sojourn.service.log import LEASE_SECONDS, Pen
from sojourn.service.process import is_dead
from sojourn.service.recovery import Recovery
from sojourn.service.turn import Ending, Turns

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Opened:
    """A turn that has begun, with its pen, and the session as it was then."""

    begun: Begun
    pen: Pen
    session: Session


class Line:
    """Starts turns as tasks of this process and looks after them."""

    def __init__(
        self,
        kit: HasStore,
        loading: Loading,
        turns: Turns,
        agent: AgentService,
        recovery: Recovery,
        closing: asyncio.Event,
    ) -> None:
        self._kit, self._store, self._loading, self._turns = kit, kit.store, loading, turns
        self._agent, self._recovery, self._closing = agent, recovery, closing
        self.mine: dict[TurnId, asyncio.Task[None]] = {}
        self._afterwards: set[asyncio.Task[None]] = set()

    # accepting
    async def accept(self, begun: Begun, *, wait: bool) -> Turn:
        """What was said is kept when this returns. SessionBusy if it may not wait; NotDriving."""
        if earlier := await keys.earlier(self._store, begun):
            await self._recovery.sweep(begun.session)  # whoever repeats it waits for its end
            return earlier
        try:
            lease = await self._lease(begun)
        except SessionBusy:
            if earlier := await keys.earlier(self._store, begun):
                return earlier
            if not wait:
                raise
            return await self._queue(begun)
        try:
            return await self._start(begun, lease)
        except Conflict:
            if earlier := await keys.earlier(self._store, begun):  # the same request, twice at once
                return earlier
            raise

    async def _lease(self, begun: Begun) -> Lease:
        """The lease. SessionBusy while a turn runs or others wait, who are first."""
        line = await on_record(self._store, begun.session)
        if line:
            await self._recovery.sweep(begun.session)
            line = await on_record(self._store, begun.session)
        if ahead := next((one for one in line if one.state == "queued" and not is_dead(one.process)), None):
            raise SessionBusy(begun.session, holder=ahead.holder, surface=ahead.by.surface, since=ahead.since)
        return await lease_soon(self._store, begun.session, holder=begun.holder, surface=begun.by.surface)

    # waiting
    async def _queue(self, begun: Begun) -> Turn:
        session = await self._store.get(begun.session)
        begun = replace(begun, after=session.last_seq, since=time.time())
        await keys.claim(self._store, begun)
        await self._store.put_record(begun.record())
        if now := await running(self._store, begun.session):
            word = {"turn": now.id, "queued": begun.id}
            await self._store.send_control(begun.session, "queued", word, by=begun.who)
        self._begin(begun, self._wait(begun))
        return begun.turn

    async def _wait(self, begun: Begun) -> None:
        if opened := await self._until_open(begun):
            await self._run(opened)

    async def _until_open(self, begun: Begun) -> Opened | None:
        """Until it is the oldest one that waits and the session is free. None: it came to nothing, and that is told."""
        while not self._closing.is_set():
            lease = None
            try:
                line = await on_record(self._store, begun.session)
                me = next((one for one in line if one.id == begun.id), None)
                if me is None:
                    return None  # the session went, or another process ended it
                if me.state == "stopped":
                    await self._give_up(me)
                    return None
                if not any(one.since < me.since and not is_dead(one.process) for one in line if one.state == "queued"):
                    lease = await self._store.lease(
                        begun.session, holder=begun.holder, surface=begun.by.surface, seconds=LEASE_SECONDS
                    )
            except (SessionBusy, BeingHandedOver):
                pass
            except StoreUnavailable as error:
                logger.warning("turn %s of session %s waits for the store: %s", begun.id, begun.session, error)
            except NotDriving as error:
                await self._give_up(begun, error)
                return None
            if lease is not None:
                return await self._open_or_give_up(begun, lease)
            await self._pause(begun)
        await self._give_up(begun, Interrupted("Sojourn was stopped before this was answered.", hint="Say it again."))
        return None

    async def _open_or_give_up(self, begun: Begun, lease: Lease) -> Opened | None:
        try:
            return await self._open(begun, lease)
        except StoreUnavailable:
            await self._give_up(begun)
        except SojournError as error:  # the wheel was taken at this very moment
            await self._give_up(begun, error)
        return None

    async def _pause(self, begun: Begun) -> None:
        """A moment, or until a turn of ours ends."""
        others = [task for turn, task in self.mine.items() if turn != begun.id]
        if others:
            await asyncio.wait(others, timeout=PAUSE * 2, return_when=asyncio.FIRST_COMPLETED)
        else:
            await asyncio.sleep(PAUSE * 2)

    async def _give_up(self, begun: Begun, error: SojournError | None = None) -> None:
        """Writes that it will not run, as soon as that can be written: whoever asked waits for its end."""
        tries = 0
        while tries < TRIES:
            try:
                return await self._recovery.end(begun, error)
            except NotFound:
                return  # the session went
            except (Conflict, StoreUnavailable):
                tries += self._closing.is_set()
                await asyncio.sleep(PAUSE * 2)

    # running
    async def _start(self, begun: Begun, lease: Lease) -> Turn:
        opened = await self._open(begun, lease, claim=True)
        self._begin(opened.begun, self._run(opened))
        return opened.begun.turn

    async def _open(self, begun: Begun, lease: Lease, *, claim: bool = False) -> Opened:
        """Puts the turn on record and its opening into the log, in one step: now it has begun. Those before it have
        ended."""
        pen = Pen(self._store, lease, begun.id)
        try:
            await self._recovery.end_running(lease, but=begun)
            session = await self._store.get(begun.session)
            begun = begun.running(lease, session.last_seq)
            pen.after = begun.after
            along = SideWrites(new=keys.claims(begun) if claim else (), put=(begun.record(),))
            await pen.begin(*begun.opening(), along=along)
        except BaseException as error:
            if not pen.is_unsure and (not isinstance(error, StoreUnavailable) or not error.retryable):
                await off_record(self._store, begun)
                await keys.let_go(self._store, begun)
            # else nobody knows how much of it was kept: whatever is on record is ended when the store is back
            await pen.let_go()
            raise
        return Opened(begun, pen, replace(session, last_seq=pen.after))

    def _begin(self, begun: Begun, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work, name=f"turn {begun.id}")
        self.mine[begun.id] = task
        task.add_done_callback(lambda _: self._over(begun, task))

    def _over(self, begun: Begun, task: asyncio.Task[None]) -> None:
        """What could not be ended here stays on record: it is ended when the store is back."""
        self.mine.pop(begun.id, None)
        if not task.cancelled() and (error := task.exception()):
            logger.error("turn %s of session %s could not be ended", begun.id, begun.session, exc_info=error)

    async def _run(self, opened: Opened) -> None:
        begun, session = opened.begun, opened.session
        named = await self._name(opened)
        session = replace(session, title=session.title or named)
        if outcome := await self._turns.run(begun, opened.pen, session):
            after = asyncio.create_task(self._after(begun, named, *outcome))
            self._afterwards.add(after)
            after.add_done_callback(self._afterwards.discard)

    # afterwards
    async def _name(self, opened: Opened) -> str | None:
        """The title a new session gets from its first request, if it has none."""
        begun = opened.begun
        if begun.said.internal or opened.session.title:
            return None
        try:
            return await titles.give(self._store, begun.session, titles.words_of(begun.said.text))
        except SojournError as error:
            logger.warning("session %s got no title: %s", begun.session, error)
            return None

    async def _after(self, begun: Begun, title: str | None, ending: Ending, course: Course) -> None:
        """Sources may learn from the turn, and a runtime that can may find a better title."""
        try:
            if ending.request is not None:
                await self._agent.learn(ending.request, course.messages, ending.status)
            runtime = await self._loading.runtime(begun.runtime)
            wanted = ending.status == "completed" and self._kit.settings["agent.titles"]
            if title and wanted and isinstance(runtime, CanComplete):
                await titles.improve(self._store, begun.session, runtime, course.messages, instead_of=title)
        except SojournError as error:
            logger.info("after turn %s: %s", begun.id, error)

    async def settle(self) -> None:
        """Returns when nothing runs here any more."""
        while tasks := [*self.mine.values(), *self._afterwards]:
            await asyncio.wait(tasks)

    async def close(self) -> None:
        """Turns that run were told to end; what is only for later may be cut."""
        if self.mine:
            await asyncio.wait([*self.mine.values()], timeout=15)
        if self._afterwards:
            await asyncio.wait([*self._afterwards], timeout=2)
        for task in [*self.mine.values(), *self._afterwards]:
            task.cancel()
        await asyncio.gather(*self.mine.values(), *self._afterwards, return_exceptions=True)
