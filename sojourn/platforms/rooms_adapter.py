"""Adapter of our own rooms, used by `local` and `api_server`.

A room name starting with # is a group, one starting with ! a group without threads, any other a private chat.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from contextlib import aclosing

from sojourn.core.errors import BadInput, NotFound, SendRefused, ThreadsUnsupported
from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.platforms.refusals import check_length
from sojourn.platforms.rooms import RoomMessage, Rooms, parse_room_name
from sojourn.ports.gateway_store import GatewayStore
from sojourn.ports.platform import Button, Inbound, PlatformInfo, Sent

MAX_CHARS = 8000  # of one message of ours
AGENT_SENDER = Sender(id="sojourn", name="Sojourn", is_bot=True)
_KINDS: dict[str, PlaceKind] = {"#": "group", "!": "channel"}


def place_from_room(platform: str, room: str, thread: str | None = None) -> Place:
    """Builds the place of a room or of a thread in it."""
    if thread:
        return Place(platform=platform, chat=room, kind="thread", thread=thread, parent=room, name=room)
    return Place(platform=platform, chat=room, kind=_KINDS.get(room[0], "dm"), name=room)


class RoomsAdapter:
    """Receives what people write in these rooms, and replies there."""

    account = "rooms"

    def __init__(self, info: PlatformInfo, rooms: Rooms, store: GatewayStore) -> None:
        self.info, self._rooms, self._store = info, rooms, store

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        async with aclosing(self._store.watch_gateway("records")) as wakeups:
            async for _ in wakeups:
                while messages := await self._rooms.list_unread():
                    for message in messages:
                        yield self._to_inbound(message)
                        await self._rooms.mark_read(message)  # acknowledges it

    def _to_inbound(self, message: RoomMessage) -> Inbound:
        return Inbound(
            id=message.id,
            place=place_from_room(self.info.name, message.room, message.thread),
            sender=message.sender,
            text=message.text,
            at=message.at,
            pressed=message.pressed,
            reply_to=f"{message.room}/{message.answers}" if message.answers else "",
        )

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        return await self.ask(place, text, ())

    async def ask(
        self, place: Place, text: str, buttons: Sequence[Button], *, plain: bool = False, reply_to: str = ""
    ) -> Sent:
        self._check_text(text)
        try:
            message = await self._rooms.say(
                place.chat, text, AGENT_SENDER, thread=place.thread, ours=True, buttons=buttons
            )
        except NotFound as error:
            raise SendRefused(str(error), kind="not_found", hint=error.hint) from error
        return Sent(place=place, id=message.id)

    async def edit(self, sent: Sent, text: str, *, plain: bool = False) -> None:
        self._check_text(text)
        try:
            await self._rooms.edit(sent.place.chat, int(sent.id.rpartition("/")[2]), text)
        except NotFound as error:
            raise SendRefused(str(error), kind="not_found", hint=error.hint) from error

    async def create_handoff_thread(self, parent: Place, name: str) -> Place:
        if parent.thread:
            raise ThreadsUnsupported("A thread has no threads of its own.", hint="Name the room.")
        if parent.kind == "channel":
            raise ThreadsUnsupported(f"{parent.chat} has no threads.", hint="Rooms with ! never have.")
        thread = await self._rooms.open_thread(parent.chat, name, AGENT_SENDER)
        return place_from_room(self.info.name, parent.chat, thread)

    def home(self, chat: str) -> Place:
        room, _, thread = parse_room_name(chat).partition("/")
        return place_from_room(self.info.name, parse_room_name(room), thread or None)

    def _check_text(self, text: str) -> None:
        check_length(text, self.info)
        if not text:
            raise BadInput("An empty message cannot be sent.", hint="Say something.")

    async def close(self) -> None:
        """Nothing to close."""
