"""The target of a hand-off: a new thread where the network has threads, else the home channel with the reason."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from sojourn.core.errors import NotAllowed, NoThreadHere, PlatformDown, SendRefused, ThreadsUnsupported
from sojourn.core.handoff import Handoff
from sojourn.core.places import Place
from sojourn.core.sessions import Session
from sojourn.gateway.bindings import encode_place
from sojourn.gateway.context import GatewayContext
from sojourn.gateway.render import without_calls
from sojourn.ports.platform import CanThread, PlatformAdapter
from sojourn.ports.store import Record
from sojourn.turn_support.handoff_destinations import HomeChannel, place_from

_KIND = "handoff_place"
_RETRY_SECONDS = (0.5, 1.5)
_MAX_WAIT_SECONDS = 30.0  # a network that asks for a longer pause makes the hand-off fail
_THREAD_NAME_CHARS = 80


async def open_target_place(adapter: PlatformAdapter, home: Place, title: str) -> Place:
    """Opens a thread. Where there can be none, gives the home channel with `fallback_reason`."""
    if not isinstance(adapter, CanThread):
        return replace(
            home, fallback_reason=f"{adapter.info.label} has no threads, so the session is in the chat itself."
        )
    if home.thread:
        return replace(home, fallback_reason="The home channel is already a thread.")
    try:
        name = without_calls(f"Sojourn — {title}"[:_THREAD_NAME_CHARS], adapter.info)
        return await adapter.create_handoff_thread(home, name)
    except ThreadsUnsupported as error:
        home = error.place if isinstance(error, NoThreadHere) else home
        reason = f"No thread could be opened there ({error}), so the session is in the chat itself."
        return replace(home, fallback_reason=reason)


class HandoffTarget:
    """Finds the place of a hand-off once. It is stored, so that no second thread is opened after a crash."""

    def __init__(self, context: GatewayContext) -> None:
        self._context = context

    async def find(self, handoff: Handoff, session: Session, adapter: PlatformAdapter) -> Place:
        """BadInput without a home channel, NotAllowed for one that is no longer this person's, PlatformFailed."""
        record = await self._context.store.get_record(_KIND, handoff.id)
        if record is not None and (place := place_from(record.value)) is not None:
            return place
        home = await self._context.homes.find(adapter, session.principal, handoff.target)
        await self.require_same_person(home, session, adapter)
        place = await self._open(adapter, home.place, session.title or session.id)
        record = Record(kind=_KIND, key=handoff.id, value=encode_place(place), session=session.id)
        await self._context.store.put_record(record)
        return place

    async def require_same_person(self, home: HomeChannel, session: Session, adapter: PlatformAdapter) -> None:
        """A transcript goes to nobody else: the person who chose the home channel must still have this identity."""
        if home.chosen_by is None:
            return
        identity = await self._context.identities.identify(adapter.info, home.chosen_by)
        if identity is None or identity.principal != session.principal:
            raise NotAllowed(
                f"The home channel on {adapter.info.label} was chosen by somebody who may no longer see this session.",
                hint="Choose it again with /sethome.",
            )

    async def _open(self, adapter: PlatformAdapter, home: Place, title: str) -> Place:
        for pause in _RETRY_SECONDS:
            try:
                return await open_target_place(adapter, home, title)
            except (PlatformDown, SendRefused) as error:
                wait = getattr(error, "retry_after", None) or pause
                if wait > _MAX_WAIT_SECONDS:
                    raise
                await asyncio.sleep(wait)
        return await open_target_place(adapter, home, title)

    async def session_key(self, place: Place, session: Session, adapter: PlatformAdapter) -> str:
        """The key that this person's next message in the place will have."""
        is_shared = place.kind == "dm" or place.kind == "thread" or bool(place.thread)
        sender = None if is_shared else await self._context.identities.find_sender(adapter.info, session.principal)
        return self._context.keys.key(place, sender)
