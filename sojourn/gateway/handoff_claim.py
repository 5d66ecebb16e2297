"""A hand-off in our hands: how it stands, and steps that are taken once, also when the store goes away in between."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from sojourn.core.errors import Conflict, LeaseLost, StoreUnavailable
from sojourn.core.handoff import Handoff, State, Step
from sojourn.ports.handoffs import HandoffStore

_PAUSE = 0.5  # seconds until a store that is away is asked again

logger = logging.getLogger(__name__)


class ClaimedHandoff:
    """`now` is what the store says, for as long as it is ours. `moved` is set by every step."""

    def __init__(self, store: HandoffStore, handoff: Handoff) -> None:
        self._store, self.now = store, handoff
        self.moved = asyncio.Event()
        self._lock = asyncio.Lock()

    async def advance(self, step: Step, **given: str) -> None:
        await self._take(step, lambda now: self._store.advance_handoff(now, step, **given))

    async def complete(self) -> None:
        await self._take("completed", self._store.complete_handoff)

    async def fail(self, code: str, error: str) -> None:
        await self._take("failed", lambda now: self._store.fail_handoff(now, code, error))

    async def _take(self, to: State, change: Callable[[Handoff], Awaitable[Handoff]]) -> None:
        """Nobody knows whether a step was kept when the line broke; it is tried again, and then it may be there."""
        async with self._lock:
            is_unsure = False
            while True:
                try:
                    self.now = await change(self.now)
                    break
                except StoreUnavailable as error:
                    if not error.retryable:
                        raise
                    is_unsure = True
                    logger.warning("hand-off %s waits for the store: %s", self.now.id, error)
                    await asyncio.sleep(_PAUSE)
                except Conflict:
                    if not is_unsure or not await self._was_kept(to):
                        raise
                    break
        self.moved.set()

    async def _was_kept(self, to: State) -> bool:
        found = await self._store.get_handoff(self.now.id)
        if (found.fence, found.state) != (self.now.fence, to):
            return False
        self.now = found
        return True

    async def renew(self, seconds: float, *, can_go_on: Callable[[], bool]) -> None:
        """For as long as it runs. LeaseLost when another one carries it, when somebody has ended it, or when it was
        let go because somebody else has to go on with it."""
        while True:
            await asyncio.sleep(seconds / 3)
            try:
                async with self._lock:
                    if self.now.is_live and not can_go_on():
                        self.now = await self._store.renew_handoff(self.now, 0)
                        raise LeaseLost("The account is used by another process now, which has to go on with it.")
                    if self.now.is_live:
                        self.now = await self._store.renew_handoff(self.now, seconds)
            except StoreUnavailable as error:
                logger.warning("hand-off %s could not be renewed: %s", self.now.id, error)
            except LeaseLost:
                raise
            except Conflict as error:
                raise LeaseLost(f"The hand-off is not ours any more: {error}") from error
