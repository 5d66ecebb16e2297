"""Invitations to rooms: followed beside all else, as a room's server may be slow, or gone."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable

from sojourn.asyncio_tasks import cancel_tasks
from sojourn.core.errors import KeyRefused, PlatformDown, SendRefused

_MAX_JOINS = 20  # at once
_MAX_TRIES, _RETRY_SECONDS = 5, 5.0

logger = logging.getLogger(__name__)


class Invitations:
    """Those of one account. `join` enters a room: SendRefused, KeyRefused, PlatformDown."""

    def __init__(self, join: Callable[[str], Awaitable[object]]) -> None:
        self._join, self._tasks = join, dict[str, asyncio.Task[None]]()

    def follow(self, room: str) -> None:
        """Enters a room some time. One that does not let us in stays among the invitations: it must not end the
        connection, which would meet it again."""
        if len(self._tasks) < _MAX_JOINS and room not in self._tasks:
            self._tasks[room] = asyncio.create_task(self._enter(room))

    async def _enter(self, room: str) -> None:
        try:
            await self._join_in_time(room)
        except (SendRefused, KeyRefused, PlatformDown) as error:
            logger.warning("the invitation to %s could not be followed: %s", room, error)
        finally:
            del self._tasks[room]

    async def _join_in_time(self, room: str) -> None:
        """Waits where the server wants fewer requests: it tells an invitation once."""
        for _ in range(_MAX_TRIES - 1):
            try:
                await self._join(room)
                return
            except SendRefused as error:
                if error.kind != "rate_limited":
                    raise
                await asyncio.sleep(error.retry_after or _RETRY_SECONDS)
        await self._join(room)

    async def close(self) -> None:
        await cancel_tasks(self._tasks.values())
