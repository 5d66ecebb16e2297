"""What each part of a SQL store is given: transactions to run in, and somebody to wake it."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from sojourn.stores.sql.bell import Waiters
from sojourn.stores.sql.db import Db

T = TypeVar("T")


class Transactions(ABC):
    """A database says here how it runs a transaction and how it hears of others."""

    safety_net = 2.0  # seconds after which a watcher looks although nobody rang

    def __init__(self) -> None:
        self.waiters = Waiters()

    @abstractmethod
    async def _write(self, work: Callable[[Db], T]) -> T:
        """Runs `work` in one transaction; it is on disk when this returns."""

    @abstractmethod
    async def _read(self, work: Callable[[Db], T]) -> T:
        """Runs `work` on the store as it is at one moment."""

    @abstractmethod
    def _listen(self) -> None:
        """From now on rings of other processes reach `self.waiters`."""

    async def _rest(self, rung: asyncio.Event, seconds: float | None = None) -> None:
        with suppress(TimeoutError):
            # wait_for would lose a cancellation that meets a ring
            async with asyncio.timeout(self.safety_net if seconds is None else seconds):
                await rung.wait()
