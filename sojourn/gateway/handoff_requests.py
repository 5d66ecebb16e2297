"""Asking for a hand-off: whether it can work is said at once, and how it goes until it is over.

Whoever asks may go away at any time. A wait that is too long ends only what nobody has picked up yet.
"""

from __future__ import annotations

import time
from collections.abc import AsyncGenerator
from contextlib import aclosing

from sojourn.core.errors import BadInput, Conflict, NotFound, PlatformDown
from sojourn.core.handoff import Handoff
from sojourn.core.sessions import OWNER, Principal, Session, SessionId
from sojourn.core.settings import Settings
from sojourn.gateway.home_channels import HomeChannels, no_home
from sojourn.ports.store import Store

LOCAL_SURFACES = ("cli", "web")  # where a session can go without a network: somebody picks it up there
_CARRY = 3600.0  # seconds for which a hand-off may be picked up when nobody waits for it


class HandoffRequests:
    """For the terminal, for chats, for the API."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._homes = store, HomeChannels(store, settings)
        self._wait = float(settings["handoff.wait_seconds"])

    async def ask(
        self,
        session: SessionId,
        platform: str,
        *,
        surface: str = "",
        target: str = "",
        by: str = "",
        principal: Principal = OWNER,
        waits: bool = False,
    ) -> Handoff:
        """Marks it pending. `surface` is who gives it away: the driver, if nobody is named. SessionBusy mid-turn,
        NotDriving, Conflict while one is under way; PlatformDown, NotFound, BadInput when it could not arrive."""
        await self._check(platform, target, principal)
        giver = surface or (await self._store.get(session)).driver or "cli"
        seconds = self._wait if waits else _CARRY
        return await self._store.request_handoff(
            session, platform, surface=giver, target=target, by=by, seconds=seconds + 5
        )

    async def _check(self, platform: str, target: str, principal: Principal) -> None:
        if not platform:
            raise BadInput("Hand it to whom?", hint="Name a platform: local, telegram, discord … or cli.")
        alive = await self._store.gateways()
        if not alive:
            raise PlatformDown("No gateway is running.", hint="Start one: `sojourn serve` or `sojourn gateway run`.")
        lines = [one.health.get("lines", {}).get(platform) for one in alive]
        served = [line for line in lines if line]
        if platform in LOCAL_SURFACES:
            return
        if not served:
            known = sorted({name for one in alive for name in one.health.get("lines", {})})
            raise NotFound(f'No gateway serves "{platform}".', hint=f"Served are: {', '.join(known) or 'none'}.")
        if not any(line["state"] in ("up", "starting") for line in served):
            why = next((line["problem"] for line in served if line["problem"]), "its line is down")
            raise PlatformDown(f"{platform} cannot be reached now: {why}", hint="`sojourn gateway status` shows more.")
        if not target and not await self._homes.known(platform, principal):
            raise no_home(platform)

    async def follow(self, asked: Handoff, *, seconds: float | None = None) -> AsyncGenerator[Handoff, None]:
        """Each step until it is over. If nobody picks it up in time it is ended, and only then."""
        until = time.monotonic() + (self._wait if seconds is None else seconds)
        seen, last = asked.state, asked
        yield asked
        async with aclosing(self._store.watch_gateway("handoffs", seconds=0.5)) as bell:
            async for _ in bell:
                last = await self._store.get_handoff(asked.id)
                if last.state == "requested" and time.monotonic() > until:
                    last = await self._expire(last)
                if last.state != seen:
                    seen = last.state
                    yield last
                if not last.is_live:
                    return

    async def _expire(self, handoff: Handoff) -> Handoff:
        try:
            return await self._store.cancel_handoff(
                handoff.id, as_="expired", error=f"Nobody picked it up within {self._wait:g} seconds."
            )
        except Conflict:  # at the last moment somebody did
            return await self._store.get_handoff(handoff.id)

    async def until_over(self, asked: Handoff, *, seconds: float | None = None) -> Handoff:
        async with aclosing(self.follow(asked, seconds=seconds)) as steps:
            return [step async for step in steps][-1]

    @staticmethod
    def told(handoff: Handoff, session: Session) -> str:
        """How it ended, in words."""
        name = session.title or session.id
        if handoff.state == "completed":
            if handoff.platform == "cli":
                return f"“{name}” waits in the terminal: sojourn chat --session {session.id}"
            if handoff.platform in LOCAL_SURFACES:
                return f"“{name}” is driven from {handoff.platform} now."
            note = f" {handoff.note}" if handoff.note else ""
            return f"“{name}” is on {handoff.platform} now.{note} Come back with: /resume {name}"
        why = handoff.error or handoff.error_code or handoff.state
        return f"The hand-off did not work: {why} The session here is intact."
