"""local: rooms with threads, kept in our own store. Nobody needs an account to try a hand-off here.

A room whose name begins with # is for several people, one with ! is for several people and has no threads, any other
one is private. Whoever holds the server's token writes as `owner`.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing

from sojourn.core.errors import BadInput, NotFound, ThreadsUnsupported
from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.platforms.local_rooms import Note, Rooms, room_name
from sojourn.ports.kit import Kit
from sojourn.ports.platform import Inbound, PlatformInfo, SendRefused, Sent
from sojourn.ports.plugin import Plugin

NAME = "local"
_US = Sender(id="sojourn", name="Sojourn", is_bot=True)
_MOST = 8000
_KINDS: dict[str, PlaceKind] = {"#": "group", "!": "channel"}


def place_of(room: str, thread: str | None = None) -> Place:
    """A room or a thread in it, the same for what comes in and for what is handed over."""
    if thread:
        return Place(platform=NAME, chat=room, kind="thread", thread=thread, parent=room, name=room)
    return Place(platform=NAME, chat=room, kind=_KINDS.get(room[0], "dm"), name=room)


class Local:
    """The agent's own account in these rooms."""

    info = PlatformInfo(name=NAME, label="Local rooms", max_chars=_MOST, owner="owner")
    account = "rooms"

    def __init__(self, kit: Kit) -> None:
        self._rooms, self._store = kit.shared(Rooms), kit.store

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        async with aclosing(self._store.watch_journal("records")) as bell:
            async for _ in bell:
                while notes := await self._rooms.to_hear():
                    for note in notes:
                        yield _inbound(note)
                        await self._rooms.heard(note)  # it was taken; this is our acknowledgement

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        self._check(text)
        try:
            note = await self._rooms.say(place.chat, text, _US, thread=place.thread, ours=True)
        except NotFound as error:
            raise SendRefused(str(error), kind="not_found", hint=error.hint) from error
        return Sent(place=place, id=note.id)

    async def edit(self, sent: Sent, text: str, *, plain: bool = False) -> None:
        self._check(text)
        try:
            await self._rooms.edit(sent.place.chat, int(sent.id.rpartition("/")[2]), text)
        except NotFound as error:
            raise SendRefused(str(error), kind="not_found", hint=error.hint) from error

    async def create_handoff_thread(self, parent: Place, name: str) -> Place:
        if parent.thread:
            raise ThreadsUnsupported("A thread has no threads of its own.", hint="Name the room.")
        if parent.kind == "channel":
            raise ThreadsUnsupported(f"{parent.chat} has no threads.", hint="Rooms with ! never have.")
        return place_of(parent.chat, await self._rooms.open_thread(parent.chat, name, _US))

    def home(self, chat: str) -> Place:
        room, _, thread = room_name(chat).partition("/")
        return place_of(room_name(room), thread or None)

    async def close(self) -> None:
        """There is no line to close."""

    def _check(self, text: str) -> None:
        if len(text) > _MOST:
            raise SendRefused(f"{len(text):,} characters are too many for one message.", kind="too_long")
        if not text:
            raise BadInput("An empty message cannot be sent.", hint="Say something.")


def _inbound(note: Note) -> Inbound:
    return Inbound(id=note.id, place=place_of(note.room, note.thread), sender=note.sender, text=note.text, at=note.at)


plugin = Plugin(
    name=NAME,
    summary="Rooms with threads inside Sojourn: try the gateway and hand-offs without any account.",
    platforms={NAME: "sojourn.platforms.local:Local"},
    routes=("sojourn.platforms.local_api:router",),
)
