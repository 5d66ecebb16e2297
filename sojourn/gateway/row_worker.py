"""The row worker: claims rows of the gateway's tables when they change, and handles each in a task of its own."""

from __future__ import annotations

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from contextlib import aclosing
from typing import Any

from sojourn.asyncio_tasks import cancel_tasks
from sojourn.core.errors import SojournError, StoreUnavailable
from sojourn.gateway.context import GatewayContext
from sojourn.ports.gateway_store import Topic

_STORE_RETRY_SECONDS = 1.0

logger = logging.getLogger(__name__)


class RetryLater(Exception):
    """A message cannot be handled yet. `error` is the reason, for the case that it
    never can. No person sees it."""

    def __init__(self, error: SojournError) -> None:
        super().__init__(str(error))
        self.error = error


class RowWorker(ABC):
    """A worker on the rows of `topic`, which it also reads every `poll_seconds`."""

    topic: Topic
    poll_seconds = 1.0

    def __init__(self, context: GatewayContext) -> None:
        self._context, self._store = context, context.store
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Claims rows until cancelled; then the tasks are cancelled too, and clean up."""
        try:
            while True:
                try:
                    async with aclosing(self._store.watch_gateway(self.topic, seconds=self.poll_seconds)) as wakeups:
                        async for _ in wakeups:
                            while await self._claim_batch():
                                pass
                except StoreUnavailable as error:
                    logger.warning("the %s cannot be read: %s", self.topic, error)
                    await asyncio.sleep(_STORE_RETRY_SECONDS)
        finally:
            await cancel_tasks(self._tasks)

    @abstractmethod
    async def _claim_batch(self) -> bool:
        """Starts work on claimable rows. True if there may be more."""

    def _start_task(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
