"""Single connection: an adapter's one connection, opened when it is first needed, and anew after it was lost."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar


class ClosableConnection(Protocol):
    """A connection that may be lost."""

    @property
    def is_open(self) -> bool: ...

    async def close(self) -> None: ...


C = TypeVar("C", bound=ClosableConnection)


class SingleConnection(Generic[C]):
    """The same connection for everybody who asks. `open` makes one, and raises why it cannot."""

    def __init__(self, open: Callable[[], Awaitable[C]]) -> None:
        self._open, self._lock = open, asyncio.Lock()
        self._current: C | None = None

    async def get(self) -> C:
        async with self._lock:
            if self._current is None or not self._current.is_open:
                await self.close()
                self._current = await self._open()
            return self._current

    async def close(self) -> None:
        current, self._current = self._current, None
        if current is not None:
            await current.close()
