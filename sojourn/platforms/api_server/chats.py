"""The chats of programs, their adapter, and the replies to a message."""

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
from sojourn.platforms.rooms import RoomMessage, Rooms
from sojourn.platforms.rooms_adapter import MAX_CHARS, RoomsAdapter, place_from_room
from sojourn.ports.app import HasStore, PluginContext
from sojourn.ports.platform import PlatformInfo


class Chats(Rooms):
    """The rooms of this platform."""

    def __init__(self, app: HasStore) -> None:
        super().__init__(app, NAME)


class ApiServer(RoomsAdapter):
    """The agent's account. The holder of the server's token writes as `owner`."""

    info = PlatformInfo(name=NAME, label="HTTP API", max_chars=MAX_CHARS, owner="owner")

    def __init__(self, app: PluginContext) -> None:
        super().__init__(self.info, app.shared(Chats), app.store)


Status = Literal["running", "asked", "done"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Replies:
    """The replies so far. `asked`: a turn waits for a pressed button."""

    status: Status
    messages: tuple[RoomMessage, ...]


def conversation_key(settings: Settings, place: Place, sender: Sender) -> str:
    """The gateway's key of a conversation."""
    return build_session_key(
        place,
        sender,
        group_sessions_per_user=bool(settings["gateway.group_sessions_per_user"]),
        thread_sessions_per_user=bool(settings["gateway.thread_sessions_per_user"]),
    )


class ReplyFinder:
    """Finds replies in the rooms and the gateway's inbox and outbox."""

    def __init__(self, app: PluginContext) -> None:
        self._store, self._settings, self._chats = app.store, app.settings, app.shared(Chats)

    async def require_gateway(self) -> None:
        """PlatformDown if no gateway serves this platform."""
        gateways = await self._store.gateways()
        if not any(NAME in one.health.get("lines", {}) for one in gateways):
            hint = f"Add [plugins.{NAME}] to config.toml and start `sojourn serve` or `sojourn gateway run`."
            raise PlatformDown(f"No gateway serves {NAME}.", hint=hint)

    async def find(self, message: RoomMessage) -> Replies:
        """The replies to a message so far."""
        key = conversation_key(self._settings, place_from_room(NAME, message.room, message.thread), message.sender)
        is_running = await self._chats.is_unread(message) or any(
            one.message_id == message.id or (message.pressed and one.state == "running")  # a press continues its turn
            for one in await self._store.incoming(place=key, states=("waiting", "running"), limit=1000)
        )
        unsent = await self._store.outgoing(place=key, states=("pending", "sending"), limit=1)
        later = await self._chats.read(message.room, after=message.n, limit=0)
        replies = tuple(one for one in later if one.ours and one.thread == message.thread and not one.opens)
        if replies and replies[-1].buttons:
            return Replies(status="asked", messages=replies)
        return Replies(status="running" if is_running or unsent else "done", messages=replies)

    async def wait(self, message: RoomMessage, seconds: float) -> Replies:
        """Waits until the replies are complete, a turn asks something, or the time is over."""
        replies = await self.find(message)
        try:
            async with (
                asyncio.timeout(seconds),
                aclosing(self._store.watch_gateway("records", "inbox", "outbox", seconds=1.0)) as wakeups,
            ):
                async for _ in wakeups:
                    replies = await self.find(message)
                    if replies.status != "running":
                        break
        except TimeoutError:
            replies = await self.find(message)
        return replies

    async def session(self, chat: str, thread: str | None, sender: Sender) -> SessionId | None:
        """The session bound to a chat."""
        key = conversation_key(self._settings, place_from_room(NAME, chat, thread), sender)
        binding = await self._store.binding(key)
        return binding.session if binding else None
