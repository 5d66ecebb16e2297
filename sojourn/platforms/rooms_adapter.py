"""The agent's account in rooms of our own: the adapter of `local` and of `api_server`.

A room whose name begins with # is for several people, one with ! is for several people and has no threads, any other
one is private.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from sojourn.core.errors import BadInput, NotFound, SendRefused, ThreadsUnsupported
from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.platforms.rooms import Note, Rooms, room_name
from sojourn.ports.gateway_store import GatewayStore
from sojourn.ports.platform import Button, Inbound, PlatformInfo, Sent

MOST = 8000  # characters of one message of ours
US = Sender(id="sojourn", name="Sojourn", is_bot=True)
_KINDS: dict[str, PlaceKind] = {"#": "group", "!": "channel"}


def place_of(platform: str, room: str, thread: str | None = None) -> Place:
    """A room or a thread in it, the same for what comes in and for what is handed over."""
    if thread:
        return Place(platform=platform, chat=room, kind="thread", thread=thread, parent=room, name=room)
    return Place(platform=platform, chat=room, kind=_KINDS.get(room[0], "dm"), name=room)


class RoomsAdapter:
    """Hears what people say in these rooms, and answers there."""

    account = "rooms"

    def __init__(self, info: PlatformInfo, rooms: Rooms, store: GatewayStore) -> None:
        self.info, self._rooms, self._store = info, rooms, store

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        async with aclosing(self._store.watch_gateway("records")) as bell:
            async for _ in bell:
                while notes := await self._rooms.to_hear():
                    for note in notes:
                        yield self._inbound(note)
                        await self._rooms.heard(note)  # it was taken; this is our acknowledgement

    def _inbound(self, note: Note) -> Inbound:
        return Inbound(
            id=note.id,
            place=place_of(self.info.name, note.room, note.thread),
            sender=note.sender,
            text=note.text,
            at=note.at,
            pressed=note.pressed,
            reply_to=f"{note.room}/{note.answers}" if note.answers else "",
        )

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        return await self.ask(place, text, ())

    async def ask(
        self, place: Place, text: str, buttons: Sequence[Button], *, plain: bool = False, reply_to: str = ""
    ) -> Sent:
        _check(text)
        try:
            note = await self._rooms.say(place.chat, text, US, thread=place.thread, ours=True, buttons=buttons)
        except NotFound as error:
            raise SendRefused(str(error), kind="not_found", hint=error.hint) from error
        return Sent(place=place, id=note.id)

    async def edit(self, sent: Sent, text: str, *, plain: bool = False) -> None:
        _check(text)
        try:
            await self._rooms.edit(sent.place.chat, int(sent.id.rpartition("/")[2]), text)
        except NotFound as error:
            raise SendRefused(str(error), kind="not_found", hint=error.hint) from error

    async def create_handoff_thread(self, parent: Place, name: str) -> Place:
        if parent.thread:
            raise ThreadsUnsupported("A thread has no threads of its own.", hint="Name the room.")
        if parent.kind == "channel":
            raise ThreadsUnsupported(f"{parent.chat} has no threads.", hint="Rooms with ! never have.")
        return place_of(self.info.name, parent.chat, await self._rooms.open_thread(parent.chat, name, US))

    def home(self, chat: str) -> Place:
        room, _, thread = room_name(chat).partition("/")
        return place_of(self.info.name, room_name(room), thread or None)

    async def close(self) -> None:
        """There is no line to close."""


def _check(text: str) -> None:
    if len(text) > MOST:
        raise SendRefused(f"{len(text):,} characters are too many for one message.", kind="too_long")
    if not text:
        raise BadInput("An empty message cannot be sent.", hint="Say something.")
