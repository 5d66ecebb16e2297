"""Where a hand-off lands: a fresh thread where there are threads, else the home channel, and why."""

from __future__ import annotations

import asyncio

from sojourn.core.codec import encode_value
from sojourn.core.errors import NotAllowed, NoThreadHere, PlatformDown, PlatformFailed, SendRefused, ThreadsUnsupported
from sojourn.core.handoff import Handoff
from sojourn.core.places import Place
from sojourn.core.sessions import Session
from sojourn.gateway.context import GatewayContext
from sojourn.ports.platform import CanThread, PlatformAdapter
from sojourn.ports.store import Record
from sojourn.service.home_channels import HomeChannel, place_from

_KIND = "handoff_place"
_PAUSES = (0.5, 1.5)  # seconds before a network is asked again
_LONGEST = 80  # characters of a thread's name


async def open_target_place(adapter: PlatformAdapter, home: Place, title: str) -> Place:
    """A thread, if the network has them; the reason travels with the place if it has none there."""
    if not isinstance(adapter, CanThread):
        return home.with_fallback_reason(f"{adapter.info.label} has no threads, so it is in the chat itself.")
    if home.thread:
        return home.with_fallback_reason("The home channel is a thread already.")
    try:
        return await adapter.create_handoff_thread(home, f"Sojourn — {title}"[:_LONGEST])
    except ThreadsUnsupported as why:
        home = why.place if isinstance(why, NoThreadHere) else home
        return home.with_fallback_reason(f"No thread could be opened there ({why}), so it is in the chat itself.")


class HandoffTarget:
    """Finds the place of a hand-off once: what was found is kept, so that going on after a crash opens no second."""

    def __init__(self, desk: GatewayContext) -> None:
        self._desk = desk

    async def find(self, handoff: Handoff, session: Session, adapter: PlatformAdapter) -> Place:
        """BadInput without a home channel, NotAllowed for one that is no longer theirs, PlatformFailed."""
        kept = await self._desk.store.get_record(_KIND, handoff.id)
        if kept is not None and (place := place_from(kept.value)) is not None:
            return place
        home = await self._desk.homes.find(adapter, session.principal, handoff.target)
        await self._check(home, session, adapter)
        place = await self._open(adapter, home.place, session.title or session.id)
        value = {"place": encode_value(place)}
        await self._desk.store.put_record(Record(kind=_KIND, key=handoff.id, value=value, session=session.id))
        return place

    async def _check(self, home: HomeChannel, session: Session, adapter: PlatformAdapter) -> None:
        """Whoever chose the home channel must still be who they were: a transcript goes to nobody else."""
        if home.chosen_by is None:
            return
        person = await self._desk.people.known(adapter.info, home.chosen_by)
        if person is None or person.principal != session.principal:
            raise NotAllowed(
                f"The home channel on {adapter.info.label} was chosen by somebody who may no longer see this session.",
                hint="Choose it anew with /sethome.",
            )

    async def _open(self, adapter: PlatformAdapter, home: Place, title: str) -> Place:
        for pause in (*_PAUSES, None):
            try:
                return await open_target_place(adapter, home, title)
            except (PlatformDown, SendRefused) as error:
                wait = getattr(error, "retry_after", None) or pause
                if pause is None or wait is None or wait > 30:
                    raise
                await asyncio.sleep(wait)
        raise PlatformFailed("No place could be found.")  # pragma: no cover  the loop above returns or raises

    async def key(self, place: Place, session: Session, adapter: PlatformAdapter) -> str:
        """The key that the next words of this person will have there."""
        is_shared = place.kind == "dm" or place.kind == "thread" or bool(place.thread)
        sender = None if is_shared else await self._desk.people.sender_of(adapter.info, session.principal)
        return self._desk.keys.key(place, sender)
