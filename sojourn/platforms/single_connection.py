"""Single connection: an adapter's one connection, opened when it is first needed, and anew after it was lost."""

from __future__ import annotations

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

from sojourn.core.errors import KeyRefused
from sojourn.ports.gateway_store import Gateways

_SHUT_OUT_SECONDS = 3600.0


class ClosableConnection(Protocol):
    """A connection that may be lost."""

    @property
    def is_open(self) -> bool: ...

    async def close(self) -> None: ...


C = TypeVar("C", bound=ClosableConnection)


async def try_connection(leases: Gateways, account: str, open: Callable[[], Awaitable[C]]) -> None:
    """Opens a connection and closes it, unless a gateway uses the account: the two would end each other."""
    lease = await leases.lease_credential(account, uuid.uuid4().hex)
    if lease is not None:
        try:
            await (await open()).close()
        finally:
            await leases.renew_credential(lease, seconds=0)


class SingleConnection(Generic[C]):
    """The same connection for everybody who asks. `open` makes one, and raises why it cannot."""

    def __init__(self, open: Callable[[], Awaitable[C]]) -> None:
        self._open, self._lock = open, asyncio.Lock()
        self._current: C | None = None
        self._refusal, self._refused_until = KeyRefused(""), 0.0

    async def get(self) -> C:
        """KeyRefused for an hour after `shut_out`, besides what `open` raises."""
        async with self._lock:
            if time.monotonic() < self._refused_until:
                raise KeyRefused(str(self._refusal), hint=self._refusal.hint)
            if self._current is None or not self._current.is_open:
                await self.close()
                self._current = await self._open()
            return self._current

    def shut_out(self, refusal: KeyRefused) -> KeyRefused:
        """Another program has taken over: for an hour nothing is opened, as the two would go on shutting each other
        out. Gives the error back."""
        self._refusal, self._refused_until = refusal, time.monotonic() + _SHUT_OUT_SECONDS
        return refusal

    async def close(self) -> None:
        current, self._current = self._current, None
        if current is not None:
            await current.close()
