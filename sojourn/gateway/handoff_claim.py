"""A claimed hand-off: each step is applied exactly once, also when the store is unavailable in between."""

from __future__ import annotations

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable

from sojourn.core.errors import Conflict, LeaseLost, StoreUnavailable
from sojourn.core.handoff import Handoff, State, Step
from sojourn.ports.handoffs import HandoffStore
from sojourn.turn_support.store_retry import retry_while_away

logger = logging.getLogger(__name__)


class ClaimedHandoff:
    """A hand-off that this gateway carries out. `current` is its stored state; each step sets `changed`."""

    def __init__(self, store: HandoffStore, handoff: Handoff) -> None:
        self._store, self.current = store, handoff
        self.changed = asyncio.Event()
        self._lock = asyncio.Lock()

    async def advance(self, step: Step, **details: str) -> None:
        await self._apply(step, lambda current: self._store.advance_handoff(current, step, **details))

    async def complete(self) -> None:
        await self._apply("completed", self._store.complete_handoff)

    async def fail(self, code: str, error: str) -> None:
        await self._apply("failed", lambda current: self._store.fail_handoff(current, code, error))

    async def _apply(self, to: State, change: Callable[[Handoff], Awaitable[Handoff]]) -> None:
        """Applies a step. After a lost connection it is unknown whether the store applied it, so it is tried again."""
        is_retry = False

        async def change_once() -> Handoff:
            nonlocal is_retry
            is_uncertain, is_retry = is_retry, True
            try:
                return await change(self.current)
            except Conflict:
                if not is_uncertain or not await self._has_reached(to):
                    raise
                return self.current

        async with self._lock:
            self.current = await retry_while_away(change_once, f"hand-off {self.current.id}", seconds=math.inf)
        self.changed.set()

    async def _has_reached(self, state: State) -> bool:
        stored = await self._store.get_handoff(self.current.id)
        if (stored.fence, stored.state) != (self.current.fence, state):
            return False
        self.current = stored
        return True

    async def renew(self, seconds: float, *, is_served: Callable[[], bool]) -> None:
        """Renews the claim until it is lost: LeaseLost if another gateway has claimed the hand-off or it has ended,
        and if `is_served` says that another gateway has the account; then the claim is released."""
        while True:
            await asyncio.sleep(seconds / 3)
            try:
                async with self._lock:
                    if self.current.is_live and not is_served():
                        self.current = await self._store.renew_handoff(self.current, 0)
                        raise LeaseLost("Another process uses the account now and has to go on with the hand-off.")
                    if self.current.is_live:
                        self.current = await self._store.renew_handoff(self.current, seconds)
            except StoreUnavailable as error:
                logger.warning("hand-off %s could not be renewed: %s", self.current.id, error)
            except LeaseLost:
                raise
            except Conflict as error:
                raise LeaseLost(f"The hand-off is no longer ours: {error}") from error
