"""What becomes of something a program said: the answers to it, and whether more are to come."""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import dataclass
from typing import Literal

from sojourn.core.errors import PlatformDown
from sojourn.core.places import Place, Sender, build_session_key
from sojourn.core.sessions import SessionId
from sojourn.core.settings import Settings
from sojourn.platforms.api_server import NAME
from sojourn.platforms.api_server.chats import Chats
from sojourn.platforms.rooms import RoomMessage
from sojourn.platforms.rooms_adapter import place_from_room
from sojourn.ports.app import PluginContext

Status = Literal["running", "asked", "done"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replies:
    """What was answered so far. `asked`: a turn waits for somebody to press a button."""

    status: Status
    notes: tuple[RoomMessage, ...]


def conversation_key(settings: Settings, place: Place, sender: Sender) -> str:
    """The key under which the gateway keeps the conversation."""
    return build_session_key(
        place,
        sender,
        group_sessions_per_user=bool(settings["gateway.group_sessions_per_user"]),
        thread_sessions_per_user=bool(settings["gateway.thread_sessions_per_user"]),
    )


class ReplyFinder:
    """Looks into the gateway's journal for how it goes."""

    def __init__(self, kit: PluginContext) -> None:
        self._store, self._settings, self._chats = kit.store, kit.settings, kit.shared(Chats)

    async def require_gateway(self) -> None:
        """PlatformDown if no gateway would hear what is said."""
        alive = await self._store.gateways()
        if not any(NAME in one.health.get("lines", {}) for one in alive):
            hint = f"Add [plugins.{NAME}] to config.toml and start `sojourn serve` or `sojourn gateway run`."
            raise PlatformDown(f"No gateway serves {NAME}.", hint=hint)

    async def to(self, note: RoomMessage) -> Replies:
        """What was answered to a note so far."""
        key = conversation_key(self._settings, place_from_room(NAME, note.room, note.thread), note.sender)
        runs = await self._chats.waits(note) or any(
            one.message_id == note.id or (note.pressed and one.state == "running")  # a press goes on with its turn
            for one in await self._store.incoming(place=key, states=("waiting", "running"), limit=1000)
        )
        on_its_way = await self._store.outgoing(place=key, states=("pending", "sending"), limit=1)
        later = await self._chats.read(note.room, after=note.n, limit=0)
        found = tuple(one for one in later if one.ours and one.thread == note.thread and not one.opens)
        if found and found[-1].buttons:
            return Replies(status="asked", notes=found)
        return Replies(status="running" if runs or on_its_way else "done", notes=found)

    async def wait(self, note: RoomMessage, seconds: float) -> Replies:
        """Until it is answered, or asked something, or until the time is over."""
        found = await self.to(note)
        try:
            async with (
                asyncio.timeout(seconds),
                aclosing(self._store.watch_gateway("records", "inbox", "outbox", seconds=1.0)) as bell,
            ):
                async for _ in bell:
                    found = await self.to(note)
                    if found.status != "running":
                        break
        except TimeoutError:
            found = await self.to(note)
        return found

    async def session(self, chat: str, thread: str | None, sender: Sender) -> SessionId | None:
        """The session that a chat talks to."""
        binding = await self._store.binding(
            conversation_key(self._settings, place_from_room(NAME, chat, thread), sender)
        )
        return binding.session if binding else None
