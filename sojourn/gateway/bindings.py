"""Conversation bindings: which session a conversation in a chat talks to."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from sojourn.core.errors import Conflict, NotFound
from sojourn.core.places import Place
from sojourn.core.sessions import Session, SessionId
from sojourn.gateway.pairing import Identity
from sojourn.gateway.payloads import InboundPayload, SessionKeys
from sojourn.ports.gateway_store import Binding, Bindings
from sojourn.ports.service import Caller, Service
from sojourn.text.codec import encode_value
from sojourn.text.redaction import mark_identifiers


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversation:
    """A conversation of one person in a place: its session key and its binding."""

    key: str
    binding: Binding | None

    @property
    def session(self) -> SessionId | None:
        return self.binding.session if self.binding else None


class ConversationBindings:
    """Finds and changes bindings. Nobody gets access to another person's session."""

    def __init__(self, store: Bindings, service: Service, keys: SessionKeys) -> None:
        self._store, self._service, self._keys = store, service, keys

    async def find(self, payload: InboundPayload, identity: Identity) -> Conversation:
        """The conversation of a message. Where another person's session is bound, each person has their own."""
        place, sender = payload.place, payload.sender
        for key in dict.fromkeys((self._keys.key(place, sender), self._keys.key(place, None))):
            binding = await self._store.binding(key)
            if binding is not None and binding.principal == identity.principal:
                return Conversation(key=key, binding=binding)
            if binding is not None:
                key = self._keys.personal_key(place, sender)
                return Conversation(key=key, binding=await self._store.binding(key))
        return Conversation(key=self._keys.key(place, sender), binding=None)

    async def open_session(
        self, conversation: Conversation, identity: Identity, by: Caller, *, assigned: SessionId | None
    ) -> Session:
        """The session of a conversation, opened now if there is none.

        assigned: the session that the message went to before a crash; it may contain the answer.
        """
        for id in filter(None, (assigned, conversation.session)):
            with suppress(NotFound):  # it was deleted
                return await self._service.get(id, principal=identity.principal)
        return await self._service.open(by)

    async def is_free(self, conversation: Conversation, session: Session) -> bool:
        """Whether the session can be bound there: it is bound nowhere else, and the conversation has none."""
        if await self._store.bindings(session=session.id):
            return False
        if conversation.session is not None:
            with suppress(NotFound):
                await self._service.get(conversation.session)
                return False
        return True

    async def bind(self, conversation: Conversation, session: SessionId, place: Place, identity: Identity) -> Binding:
        """Binds a session to a conversation. Conflict if the binding changed since it was read."""
        revision = conversation.binding.revision if conversation.binding else 0
        return await self._store.bind(
            conversation.key, session, principal=identity.principal, details=encode_place(place), expect=revision
        )

    async def leave(self, conversation: Conversation) -> None:
        """Unbinds the session; the next message opens a new one."""
        if conversation.binding is not None:
            await self._store.unbind(conversation.key, expect=conversation.binding.revision)

    async def restore(self, key: str, session: SessionId) -> None:
        """Unbinds a session from a conversation and binds the previous one again."""
        binding = await self._store.binding(key)
        if binding is None or binding.session != session:
            return
        try:
            if binding.previous is None:
                await self._store.unbind(key, expect=binding.revision)
            else:
                previous = await self._service.get(binding.previous)
                await self._store.bind(key, previous.id, principal=previous.principal, expect=binding.revision)
        except NotFound:  # the previous session was deleted
            await self._store.unbind(key)
        except Conflict:
            return  # the conversation was bound to another session in the meantime

    async def release(self, session: SessionId) -> None:
        """Unbinds a session everywhere, and restores the previous session of each conversation."""
        for binding in await self._store.bindings(session=session):
            await self.restore(binding.place, session)


def encode_place(place: Place) -> dict[str, object]:
    return {"place": mark_identifiers(encode_value(place))}
