"""A line: one account on one network, kept alive. What comes in is kept before it is acknowledged.

One process at a time uses a credential; when it dies or lets go, another one takes the line over.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Awaitable, Callable
from contextlib import aclosing, suppress
from typing import Literal

from sojourn.core.errors import KeyRefused, LeaseLost, PlatformDown, SojournError, StoreUnavailable
from sojourn.core.messages import Json
from sojourn.ports.gateway_store import CredentialLease, GatewayStore
from sojourn.ports.platform import Inbound, PlatformAdapter

State = Literal["starting", "up", "down", "refused", "elsewhere", "closed"]
Keep = Callable[["PlatformConnection", Inbound], Awaitable[None]]
_STEADY = 1.0  # seconds a line that was lost has to hold before it counts as up again
_FIRST, _MOST, _REFUSED = 0.5, 60.0, 60.0  # seconds between two tries

logger = logging.getLogger(__name__)


class PlatformConnection:
    """Listens for as long as it runs, whatever happens on the way. The adapter's host: one of the three edges."""

    def __init__(
        self, adapter: PlatformAdapter, journal: GatewayStore, owner: str, keep: Keep, *, seconds: float = 20.0
    ) -> None:
        self.adapter, self._journal, self._owner, self._keep = adapter, journal, owner, keep
        self._seconds = seconds
        self.state: State = "starting"
        self.problem = ""
        self.since = time.time()
        self.tries = 0
        self.is_held = False  # nobody else has the account; between two tries it is let go
        self.changed = asyncio.Event()  # the state is another one

    @property
    def name(self) -> tuple[str, str]:
        return self.adapter.info.name, self.adapter.account

    @property
    def is_ours(self) -> bool:
        """Whether this process may use the account now."""
        return self.state in ("up", "down")

    def health(self) -> dict[str, Json]:
        return {"state": self.state, "since": self.since, "problem": self.problem, "account": self.adapter.account}

    async def run(self) -> None:
        """Until cancelled."""
        try:
            while True:
                hold = await self._hold()
                try:
                    await self._while_held(hold)
                except LeaseLost as error:
                    self._now("elsewhere", str(error))
                except Exception as error:  # noqa: BLE001  the edge of an adapter: a stranger's may raise anything
                    self._failed(error)
                    await asyncio.sleep(self._pause(error))
        finally:
            self._now("closed")

    async def _hold(self) -> CredentialLease:
        """The right to use the account, as soon as nobody else has it."""
        credential = ":".join(self.name)
        while True:
            try:
                hold = await self._journal.lease_credential(credential, self._owner, seconds=self._seconds)
            except StoreUnavailable as error:
                hold, why = None, str(error)
            else:
                why = "Another process uses this account."
            if hold is not None:
                return hold
            self._now("elsewhere", why)
            with suppress(TimeoutError, StoreUnavailable):
                async with (
                    asyncio.timeout(self._seconds / 4),
                    aclosing(self._journal.watch_gateway("gateways")) as bell,
                ):
                    await anext(bell)  # at once
                    await anext(bell)  # when somebody lets go

    async def _while_held(self, hold: CredentialLease) -> None:
        self.is_held = True
        listening = asyncio.create_task(self._listen())
        renewing = asyncio.create_task(self._renew(hold))
        try:
            await asyncio.wait({listening, renewing}, return_when=asyncio.FIRST_COMPLETED)
            for task in (renewing, listening):
                if task.done():
                    await task
        finally:
            for task in (listening, renewing):
                task.cancel()
            await asyncio.gather(listening, renewing, return_exceptions=True)
            self.is_held = False
            with suppress(SojournError):
                await self._journal.renew_credential(hold, seconds=0)

    async def _renew(self, hold: CredentialLease) -> None:
        """Raises LeaseLost when another process uses the account, or when nobody can know."""
        good_until = time.monotonic() + self._seconds
        while True:
            await asyncio.sleep(self._seconds / 4)
            try:
                hold = await self._journal.renew_credential(hold, seconds=self._seconds)
                good_until = time.monotonic() + self._seconds
            except StoreUnavailable as error:
                if time.monotonic() > good_until - self._seconds / 4:
                    raise LeaseLost(f"The account could not be held: {error}") from error

    async def _listen(self) -> None:
        steady = asyncio.get_running_loop().call_later(_STEADY if self.tries else 0, self._now, "up")
        try:
            async with aclosing(self.adapter.listen()) as heard:
                async for inbound in heard:
                    self.tries = 0
                    self._now("up")
                    await self._keep(self, inbound)
        finally:
            steady.cancel()
        raise PlatformDown(f"{self.adapter.info.label} stopped listening.", hint="It is tried again.")

    def _failed(self, error: Exception) -> None:
        if time.time() - self.since > _MOST:
            self.tries = 0  # it held for a while
        self.tries += 1
        self._now("refused" if isinstance(error, KeyRefused) else "down", str(error))
        if isinstance(error, SojournError):
            logger.warning("%s: %s", self.adapter.info.name, error)
        else:
            logger.error("the adapter of %s failed", self.adapter.info.name, exc_info=error)

    def _pause(self, error: Exception) -> float:
        if isinstance(error, KeyRefused):
            return _REFUSED
        most = min(_MOST, _FIRST * 2 ** (self.tries - 1))
        return random.uniform(most / 2, most)

    def _now(self, state: State, problem: str = "") -> None:
        if state != self.state or problem != self.problem:
            if state != self.state:
                self.since = time.time()
            self.state, self.problem = state, problem
            self.changed.set()
