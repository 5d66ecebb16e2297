"""The pen of one turn: one writer at a time, any number of watchers.

Kept first, seen second: whoever watches reads the store, and nothing is there before it is kept.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress

from sojourn.core.errors import LeaseLost, NotDriving, NotFound, StoreUnavailable
from sojourn.core.events import Done, Yielded
from sojourn.core.messages import Message
from sojourn.core.sessions import Lease, Recorded, TurnId
from sojourn.ports.store import SessionStore, SideWrites
from sojourn.service.course import Course

LEASE_SECONDS = 30.0
_AWAY = 60.0  # seconds for which a store that has gone away is waited for
_MOST = 256  # items that may wait; whoever brings more waits too
GONE = (LeaseLost, NotDriving, NotFound)  # the session is somebody else's now, or nobody's

logger = logging.getLogger(__name__)


class Pen:
    """Writes items in the order they are given. Those that wait together are kept together."""

    def __init__(self, store: SessionStore, lease: Lease, turn: TurnId | None) -> None:
        self.store, self.lease, self.turn = store, lease, turn
        self.course = Course()
        self.after = 0  # the last number in the log that is known here
        self.lock = asyncio.Lock()  # whoever uses the lease while it might change
        self.closed = self.is_free = False
        self.is_unsure = False  # the store went away, and whether the last items were kept is not known
        self._waiting: list[Yielded] = []
        self._along: SideWrites | None = None  # goes along with the next items
        self._writing: asyncio.Task[None] | None = None

    async def __call__(self, *items: Yielded) -> None:
        """Chunks and progress go their way at once. A message is kept when this returns: nobody acts on a
        call before it is known that it was asked for."""
        if self.closed:
            raise LeaseLost("The turn is over.", hint="What was kept before that is safe.")
        for item in items:
            self.soon(item)
        if any(isinstance(item, Message) for item in items) or len(self._waiting) > _MOST or self._has_failed():
            await self.flush()

    def soon(self, item: Yielded) -> bool:
        """Puts an item in line. False: too much waits already, and what is not a message may be left out."""
        if self.closed:
            return False
        self._waiting.append(item)
        if self._writing is None:
            self._writing = asyncio.create_task(self._write())
        return len(self._waiting) <= _MOST

    async def begin(self, *items: Yielded, along: SideWrites) -> None:
        """Keeps the first items in one step with what goes along."""
        self._along = along
        await self(*items)

    async def end(self, *items: Yielded, along: SideWrites | None = None) -> None:
        """Keeps the last items in one step with what goes along. Whatever anybody brings after them is left out:
        `done` is last."""
        await self.flush()
        if self.closed:
            return  # somebody else has had the last word
        self._along = along
        for item in items:
            self.soon(item)
        self.closed = True
        await self.flush()
        self.is_free = along is not None and along.release_lease and self.course.over

    async def flush(self) -> None:
        """Returns when everything is kept; raises, once, why it could not be."""
        while (writing := self._writing) is not None:
            try:
                await asyncio.shield(writing)
            finally:
                if self._writing is writing and writing.done():
                    self._writing = None

    @property
    def is_behind(self) -> bool:
        return len(self._waiting) > _MOST // 2

    def _has_failed(self) -> bool:
        return self._writing is not None and self._writing.done()

    async def _write(self) -> None:
        while self._waiting:
            async with self.lock:
                batch, self._waiting = self._waiting, []
                along, self._along = self._along, None
                for kept in await self._append(batch, along):
                    self.course.see(kept)
                    self.after = kept.seq
        self._writing = None

    async def _append(self, batch: list[Yielded], along: SideWrites | None) -> list[Recorded]:
        """Keeps them once, also when the store goes away meanwhile and nobody knows whether they were kept."""
        gone, pause = 0.0, 0.1
        while True:
            try:
                kept = await self._kept_before(along) if gone else []
                kept = kept or await self.store.append(self.lease, batch, turn=self.turn, along=along)
                self.is_unsure = False
                return kept
            except StoreUnavailable as error:
                self.is_unsure, gone = True, gone or time.monotonic()
                if not error.retryable or time.monotonic() > gone + _AWAY:
                    raise
                logger.warning("turn %s waits for the store: %s", self.turn, error)
            await asyncio.sleep(pause)
            pause = min(pause * 2, 2.0)

    async def _kept_before(self, along: SideWrites | None) -> list[Recorded]:
        """What stands in the log and was not known to be kept. Renewing waits for an append that is still under way;
        one that let go of the lease, too, was the end."""
        try:
            self.lease = await self.store.renew(self.lease, LEASE_SECONDS)
        except (LeaseLost, NotDriving):
            kept = await self._since()
            if along is None or not along.release_lease or not any(isinstance(one.item, Done) for one in kept):
                raise
            return kept
        return await self._since()

    async def _since(self) -> list[Recorded]:
        """What stands in the log of this turn, after the last number that is known here."""
        return [kept async for kept in self.store.read(self.lease.session, after=self.after) if kept.turn == self.turn]

    async def hold(self) -> None:
        """Renews the lease for as long as this runs; raises when it is gone."""
        while True:
            await asyncio.sleep(LEASE_SECONDS / 3)
            try:
                async with self.lock:
                    self.lease = await self.store.renew(self.lease, LEASE_SECONDS)
            except StoreUnavailable as error:
                logger.warning("the lease on %s could not be renewed: %s", self.lease.session, error)

    async def move(self, surface: str) -> None:
        """Gives the wheel to another surface and goes on writing for it. For a moment nobody has the lease: whoever
        took the turn for one that was left behind, and ended it, has had the last word."""
        async with self.lock:
            old = self.lease
            await self.store.drive(old.session, surface, fence=old.driver_fence)
            self.lease = await self.store.lease(old.session, holder=old.holder, surface=surface, seconds=LEASE_SECONDS)
            if any(isinstance(kept.item, Done) for kept in await self._since()):
                self.closed, self._waiting = True, []

    async def let_go(self) -> None:
        """Once is enough."""
        if self.is_free:
            return
        with suppress(*GONE, StoreUnavailable):  # then it is gone, or will be soon
            async with self.lock:
                await self.store.renew(self.lease, 0)
                self.is_free = True


@asynccontextmanager
async def held(store: SessionStore, lease: Lease) -> AsyncIterator[Lease]:
    """A lease for a moment: to undo, to take the wheel, to end what another process left."""
    try:
        yield lease
    finally:
        with suppress(*GONE):
            await store.renew(lease, 0)
