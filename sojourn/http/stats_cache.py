"""Statistics of the store for pages: from counters at once; what needs the whole file is measured behind them."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace

from sojourn.core.errors import SojournError
from sojourn.ports.store import Store
from sojourn.ports.store_admin import StoreStats

_MEASURE_SECONDS = 3600.0  # between two measurements of what uses the space
_PATIENCE_SECONDS = 0.1  # counters take a few milliseconds
logger = logging.getLogger(__name__)


class StatsCache:
    """The last statistics. A store without counters reads all of itself, which nobody should wait for twice."""

    def __init__(self) -> None:
        self._store: Store | None = None
        self._known: tuple[int, StoreStats] | None = None  # with the change it was counted at
        self._measured_at: float | None = None
        self._count: asyncio.Task[None] | None = None
        self._measurement: asyncio.Task[None] | None = None

    async def read(self, store: Store) -> StoreStats:
        """Waits for the first count. Later the answer of a store without counters may be one change behind."""
        if store is not self._store:
            self._store, self._known, self._measured_at = store, None, None
        at = await store.last_change()
        if self._known is None:
            self._known = at, await store.stats(by_part=False)
        if self._known[0] != at:
            if self._count is None or self._count.done():
                self._count = asyncio.create_task(self._read(store, at, by_part=False))
            await asyncio.wait({self._count}, timeout=_PATIENCE_SECONDS)
        self._measure_if_due(store, at)
        return self._known[1]

    def _measure_if_due(self, store: Store, at: int) -> None:
        now = time.monotonic()
        if self._measured_at is not None and now - self._measured_at < _MEASURE_SECONDS:
            return
        if self._measurement is None or self._measurement.done():
            self._measured_at = now
            self._measurement = asyncio.create_task(self._read(store, at, by_part=True))

    async def _read(self, store: Store, at: int, *, by_part: bool) -> None:
        try:
            self._keep(store, at, await store.stats(by_part=by_part))
        except SojournError as error:
            logger.debug("the store could not be counted: %s", error)

    def _keep(self, store: Store, at: int, found: StoreStats) -> None:
        if store is self._store:
            before = self._known[1].bytes_by if self._known else {}
            self._known = at, replace(found, bytes_by=found.bytes_by or before)
