"""Store retry: repeats an operation while the store is unavailable."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from sojourn.core.errors import StoreUnavailable

T = TypeVar("T")
WAIT_SECONDS = 60.0  # of a turn
_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.1, 2.0

logger = logging.getLogger(__name__)


async def retry_while_away(
    operation: Callable[[], Awaitable[T]], waiting: str = "a turn", *, seconds: float | None = None
) -> T:
    """Repeats an operation while the store is unavailable. The last try may have been committed after all.

    waiting: what waits, for the log. seconds: how long at most, WAIT_SECONDS by default
    """
    deadline = time.monotonic() + (WAIT_SECONDS if seconds is None else seconds)
    pause = _FIRST_PAUSE_SECONDS
    while True:
        try:
            return await operation()
        except StoreUnavailable as error:
            if not error.retryable or time.monotonic() > deadline:
                raise
            logger.warning("%s waits for the store: %s", waiting, error)
        await asyncio.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE_SECONDS)
