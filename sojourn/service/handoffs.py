"""Hand-off requests: checks that a session can arrive, requests the hand-off, follows it to its end."""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

from sojourn.core.errors import Conflict, NotAllowed
from sojourn.core.handoff import LOCAL_SURFACES, Handoff
from sojourn.core.sessions import OWNER, Session
from sojourn.core.settings import Settings
from sojourn.ports.service import Caller
from sojourn.ports.store import Store
from sojourn.turn_support.handoff_destinations import HomeChannels, require_gateway

_DETACHED_TTL_SECONDS = 3600.0  # how long a request without a waiting caller may be picked up


class HandoffRequests:
    """Requests hand-offs on behalf of every surface. The caller may leave at any time; the hand-off goes on."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings

    @property
    def _wait_seconds(self) -> float:
        return float(self._settings["handoff.wait_seconds"])

    async def request(self, session: Session, platform: str, *, by: Caller, target: str, wait: bool) -> Handoff:
        """See `HandoffService.hand_off`."""
        if target and by.principal != OWNER:
            raise NotAllowed("You can only hand a session to your own home channel.", hint=f"/handoff {platform}")
        await require_gateway(self._store, platform)
        if not target and platform not in LOCAL_SURFACES:
            await HomeChannels(self._store, self._settings).require(platform, session.principal)
        return await self._store.request_handoff(
            session.id,
            platform,
            surface=by.surface or session.driver or "cli",
            target=target,
            by=by.name,
            seconds=(self._wait_seconds if wait else _DETACHED_TTL_SECONDS) + 5,
        )

    async def follow(self, handoff: Handoff, *, seconds: float | None = None) -> AsyncGenerator[Handoff, None]:
        """See `HandoffService.follow_handoff`. `seconds`: how long a gateway has to pick it up."""
        deadline = time.monotonic() + (self._wait_seconds if seconds is None else seconds)
        state = handoff.state
        yield handoff
        async with aclosing(self._store.watch_gateway("handoffs", seconds=0.5)) as wakeups:
            async for _ in wakeups:
                handoff = await self._store.get_handoff(handoff.id)
                if handoff.state == "requested" and time.monotonic() > deadline:
                    handoff = await self._expire(handoff)
                if handoff.state != state:
                    state = handoff.state
                    yield handoff
                if not handoff.is_live:
                    return

    async def _expire(self, handoff: Handoff) -> Handoff:
        error = f"Nobody picked it up within {self._wait_seconds:g} seconds."
        try:
            return await self._store.cancel_handoff(handoff.id, as_="expired", error=error)
        except Conflict:  # a gateway claimed it at the last moment
            return await self._store.get_handoff(handoff.id)
