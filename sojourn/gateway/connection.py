"""A platform connection: one account on one network, reconnected for as long as the gateway runs.

One process at a time uses an account; when that process ends or releases its lease, another one takes over. The inbox
stores a message before the adapter acknowledges it.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Literal

from sojourn.asyncio_tasks import cancel_tasks
from sojourn.core.errors import KeyRefused, LeaseLost, PlatformDown, SojournError, StoreUnavailable
from sojourn.core.messages import Json
from sojourn.ports.gateway_store import AccountKey, CredentialLease, GatewayStore
from sojourn.ports.platform import Inbound, PlatformAdapter

ConnectionState = Literal["starting", "up", "down", "refused", "elsewhere", "closed"]
Receive = Callable[["PlatformConnection", Inbound], Awaitable[None]]
_STABLE_SECONDS = 1.0  # how long a lost connection has to last before it counts as up again
_FIRST_RETRY_SECONDS, _MAX_RETRY_SECONDS, _REFUSED_RETRY_SECONDS = 0.5, 60.0, 60.0

logger = logging.getLogger(__name__)


class PlatformConnection:
    """Runs one adapter: leases its account, listens, and reconnects after any failure.

    adapter: the network's adapter; its code may raise anything.
    receive: stores one inbound message.
    changed: set when `state` or `problem` changes.
    lease_seconds: how long the account stays leased without a renewal.
    """

    def __init__(
        self,
        adapter: PlatformAdapter,
        store: GatewayStore,
        owner: str,
        receive: Receive,
        changed: asyncio.Event,
        *,
        lease_seconds: float,
    ) -> None:
        self.adapter, self._store, self._owner, self._receive = adapter, store, owner, receive
        self._changed, self._lease_seconds = changed, lease_seconds
        self.state: ConnectionState = "starting"
        self.problem = ""
        self.since = time.time()
        self.failures = 0
        self.is_leased = False  # the lease is released between two attempts

    @property
    def key(self) -> AccountKey:
        return self.adapter.info.name, self.adapter.account

    @property
    def is_ours(self) -> bool:
        """Whether this process may use the account now."""
        return self.state in ("up", "down")

    def health(self) -> dict[str, Json]:
        return {"state": self.state, "since": self.since, "problem": self.problem, "account": self.adapter.account}

    async def run(self) -> None:
        """Listens until cancelled."""
        try:
            while True:
                lease = await self._acquire()
                try:
                    await self._listen_while_leased(lease)
                except LeaseLost as error:
                    self._set_state("elsewhere", str(error))
                except Exception as error:  # noqa: BLE001  the edge of an adapter: plugin code may raise anything
                    self._record_failure(error)
                    await asyncio.sleep(self._retry_seconds(error))
        finally:
            self._set_state("closed")

    async def _acquire(self) -> CredentialLease:
        """Waits until no other process uses the account, and leases it."""
        while True:
            try:
                lease = await self._store.lease_credential(":".join(self.key), self._owner, seconds=self._lease_seconds)
            except StoreUnavailable as error:
                lease, problem = None, str(error)
            else:
                problem = "Another process is using this account."
            if lease is not None:
                return lease
            self._set_state("elsewhere", problem)
            with suppress(TimeoutError, StoreUnavailable):
                async with (
                    asyncio.timeout(self._lease_seconds / 4),
                    aclosing(self._store.watch_gateway("gateways")) as wakeups,
                ):
                    await anext(wakeups)  # comes at once
                    await anext(wakeups)  # comes when a lease is released

    async def _listen_while_leased(self, lease: CredentialLease) -> None:
        self.is_leased = True
        tasks = [asyncio.create_task(self._renew(lease)), asyncio.create_task(self._listen())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            for task in tasks:
                if task.done():
                    await task
        finally:
            await cancel_tasks(tasks)
            self.is_leased = False
            with suppress(SojournError):
                await self._store.renew_credential(lease, seconds=0)

    async def _renew(self, lease: CredentialLease) -> None:
        """Raises LeaseLost when another process has the account, or when the store cannot confirm the lease in time."""
        expires = time.monotonic() + self._lease_seconds
        while True:
            await asyncio.sleep(self._lease_seconds / 4)
            try:
                lease = await self._store.renew_credential(lease, seconds=self._lease_seconds)
                expires = time.monotonic() + self._lease_seconds
            except StoreUnavailable as error:
                if time.monotonic() > expires - self._lease_seconds / 4:
                    raise LeaseLost(f"The lease of the account could not be renewed: {error}") from error

    async def _listen(self) -> None:
        delay = _STABLE_SECONDS if self.failures else 0
        set_up = asyncio.get_running_loop().call_later(delay, self._set_state, "up")
        try:
            async with aclosing(self.adapter.listen()) as messages:
                async for inbound in messages:
                    self.failures = 0
                    self._set_state("up")
                    await self._receive(self, inbound)
        finally:
            set_up.cancel()
        raise PlatformDown(f"{self.adapter.info.label} stopped listening.", hint="The gateway will reconnect.")

    def _record_failure(self, error: Exception) -> None:
        if time.time() - self.since > _MAX_RETRY_SECONDS:
            self.failures = 0  # the connection was stable before
        self.failures += 1
        self._set_state("refused" if isinstance(error, KeyRefused) else "down", str(error))
        if isinstance(error, SojournError):
            logger.warning("%s: %s", self.adapter.info.name, error)
        else:
            logger.error("the adapter of %s failed", self.adapter.info.name, exc_info=error)

    def _retry_seconds(self, error: Exception) -> float:
        if isinstance(error, KeyRefused):
            return _REFUSED_RETRY_SECONDS
        longest = min(_MAX_RETRY_SECONDS, _FIRST_RETRY_SECONDS * 2 ** (self.failures - 1))
        return random.uniform(longest / 2, longest)

    def _set_state(self, state: ConnectionState, problem: str = "") -> None:
        if state != self.state or problem != self.problem:
            if state != self.state:
                self.since = time.time()
            self.state, self.problem = state, problem
            self._changed.set()
