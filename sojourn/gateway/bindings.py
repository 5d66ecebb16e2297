"""Which session a place talks to. A place without one gets a new one with its first words."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from sojourn.core.codec import encode_value
from sojourn.core.errors import Conflict, NotFound
from sojourn.core.places import Place
from sojourn.core.sessions import Session, SessionId
from sojourn.gateway.pairing import Identity
from sojourn.gateway.payloads import InboundPayload, SessionKeys
from sojourn.ports.gateway_store import Binding, Bindings
from sojourn.ports.service import Caller, Service


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A place as one person has it: the key of the conversation, and what is bound there."""

    key: str
    binding: Binding | None

    @property
    def session(self) -> SessionId | None:
        return self.binding.session if self.binding else None


class ConversationBindings:
    """Finds, opens and moves. No person ever gets to a session of another."""

    def __init__(self, journal: Bindings, service: Service, keys: SessionKeys) -> None:
        self._journal, self._service, self._keys = journal, service, keys

    async def spot(self, letter: InboundPayload, person: Identity) -> Conversation:
        """The conversation a message belongs to. Where another person's session is bound, each has their own."""
        for key in dict.fromkeys((self._keys.key(letter.place, letter.sender), self._keys.key(letter.place, None))):
            binding = await self._journal.binding(key)
            if binding is not None and binding.principal == person.principal:
                return Conversation(key=key, binding=binding)
            if binding is not None:
                own = self._keys.own(letter.place, letter.sender)
                return Conversation(key=own, binding=await self._journal.binding(own))
        return Conversation(key=self._keys.key(letter.place, letter.sender), binding=None)

    async def session(self, spot: Conversation, person: Identity, by: Caller, *, chosen: SessionId | None) -> Session:
        """The session there, opened now if there is none. `chosen`: where the words went before a crash, and where
        they may have been answered."""
        for known in filter(None, (chosen, spot.session)):
            with suppress(NotFound):  # it was deleted
                return await self._service.get(known, principal=person.principal)
        return await self._service.open(by)

    async def is_free(self, spot: Conversation, session: Session) -> bool:
        """Whether that session may be bound there: nothing is, and it is bound nowhere else."""
        if await self._journal.bindings(session=session.id):
            return False
        if spot.session is not None:
            with suppress(NotFound):
                await self._service.get(spot.session)
                return False
        return True

    async def bind(self, spot: Conversation, session: SessionId, place: Place, person: Identity) -> Binding:
        """From now on the place talks to that session; Conflict when somebody was quicker."""
        seen = spot.binding.revision if spot.binding else 0
        return await self._journal.bind(
            spot.key, session, principal=person.principal, details=encode_place(place), expect=seen
        )

    async def leave(self, spot: Conversation) -> None:
        """The next words there begin a new session; the one that was there can be resumed."""
        if spot.binding is not None:
            await self._journal.unbind(spot.key, expect=spot.binding.revision)

    async def restore(self, key: str, session: SessionId) -> None:
        """Takes a session away from a place again and brings back what it displaced."""
        binding = await self._journal.binding(key)
        if binding is None or binding.session != session:
            return
        try:
            if binding.previous is None:
                await self._journal.unbind(key, expect=binding.revision)
            else:
                before = await self._service.get(binding.previous)
                await self._journal.bind(key, before.id, principal=before.principal, expect=binding.revision)
        except NotFound:  # what was there is gone
            await self._journal.unbind(key)
        except Conflict:
            return  # somebody has bound it anew meanwhile

    async def release(self, session: SessionId) -> None:
        """The session goes where no place is: wherever it was bound, what was there before comes back."""
        for binding in await self._journal.bindings(session=session):
            await self.restore(binding.place, session)


def encode_place(place: Place) -> dict[str, object]:
    return {"place": encode_value(place)}
