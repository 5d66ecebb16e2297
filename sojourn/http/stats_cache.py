"""Statistics of the store for pages: counted once, served at once, counted again in the background after a change."""

from __future__ import annotations

import asyncio
import logging

from sojourn.core.errors import SojournError
from sojourn.ports.store import Store
from sojourn.ports.store_admin import StoreStats

logger = logging.getLogger(__name__)


class StatsCache:
    """The last statistics. Counting reads the whole store, which nobody should wait for twice."""

    def __init__(self) -> None:
        self._store: Store | None = None
        self._known: tuple[int, StoreStats] | None = None  # with the change it was counted at
        self._task: asyncio.Task[None] | None = None

    async def read(self, store: Store) -> StoreStats:
        """Waits only for the first count; a later answer may be one change behind, and is counted again."""
        if store is not self._store:
            self._store, self._known = store, None
        at = await store.last_change()
        if self._known is None:
            self._known = at, await store.stats()
        elif self._known[0] != at and (self._task is None or self._task.done()):
            self._task = asyncio.create_task(self._count(store, at))
        return self._known[1]

    async def _count(self, store: Store, at: int) -> None:
        try:
            found = at, await store.stats()
        except SojournError as error:
            logger.debug("the store could not be counted: %s", error)
            return
        if store is self._store:
            self._known = found
