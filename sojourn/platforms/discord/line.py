"""Discord's line. The library would connect again by itself; here that is left to the gateway, and each new line goes
on where the last message was safely kept, as long as Discord remembers (some minutes)."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import discord
from discord.gateway import DiscordWebSocket
from discord.http import HTTPClient, Route
from yarl import URL

_SHORT_WAIT = 1.0  # seconds; longer waits are told to the gateway, which can do something else meanwhile
_OPENING, _CLOSING = 30.0, 1.5  # seconds
_RESUMABLE = 4000  # a line closed with this code can be gone on with


@dataclass(frozen=True, slots=True)
class _Session:
    id: str
    sequence: int
    gateway: URL


class Line(discord.Client):
    """One bot. Only what is needed to hear and answer is asked for."""

    def __init__(self, base_url: str) -> None:
        intents = discord.Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=True)
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False  # nobody misses its voice here
        super().__init__(intents=intents, max_messages=None, allowed_mentions=discord.AllowedMentions.none())
        self.http.max_ratelimit_timeout = _SHORT_WAIT
        _lead(self.http, base_url.rstrip("/"))
        self._arrived: asyncio.Queue[discord.Message | None] = asyncio.Queue()
        self._unkept: deque[int] = deque()  # the sequence numbers of messages that are not safely kept
        self._session: _Session | None = None

    def dispatch(self, event: str, /, *args: Any, **named: Any) -> None:
        if event == "message":
            self._unkept.append(self.ws.sequence or 0)
            self._arrived.put_nowait(args[0])
        super().dispatch(event, *args, **named)

    async def messages(self) -> AsyncGenerator[discord.Message, None]:
        """What is written, until the line ends: that is raised, in the library's words. When the generator is resumed
        after a message, that one is kept."""
        self._arrived, self._unkept = asyncio.Queue(), deque()
        arrived, ws = self._arrived, await self._connect()
        polling = asyncio.create_task(_poll(ws))
        polling.add_done_callback(lambda _: arrived.put_nowait(None))
        try:
            while (message := await arrived.get()) is not None:
                yield message
                self._unkept.popleft()
            await polling  # raises why
        finally:
            polling.cancel()
            self._session = self._to_resume(ws)
            with suppress(TimeoutError, OSError):
                async with asyncio.timeout(_CLOSING):
                    await ws.close(code=_RESUMABLE)

    async def _connect(self) -> DiscordWebSocket:
        old = self._session
        async with asyncio.timeout(_OPENING):
            gateway = old.gateway if old else URL((await self.http.get_bot_gateway())[1])
            self.ws = await DiscordWebSocket.from_client(
                self,
                initial=True,
                gateway=gateway,
                resume=old is not None,
                session=old.id if old else None,
                sequence=old.sequence if old else None,
            )
        return self.ws

    def _to_resume(self, ws: DiscordWebSocket) -> _Session | None:
        if not ws.session_id or ws.sequence is None:
            return None  # Discord has forgotten it, or never began
        return _Session(ws.session_id, self._unkept[0] - 1 if self._unkept else ws.sequence, ws.gateway)


async def _poll(ws: DiscordWebSocket) -> None:
    while True:
        await ws.poll_event()


def _lead(http: HTTPClient, base_url: str) -> None:
    """Leads this one client's requests to another address; the library knows only one for all."""
    ask = http.request

    async def request(route: Route, **named: Any) -> Any:
        route.url = base_url + route.url.removeprefix(Route.BASE)
        return await ask(route, **named)

    http.request = request  # type: ignore[method-assign]
