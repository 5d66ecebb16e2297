"""Client of Discord's gateway WebSocket.

Reconnecting is left to our gateway instead of the library: a new connection resumes behind the last stored message, as
long as Discord keeps the session (some minutes).
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import discord
from discord.gateway import DiscordWebSocket
from discord.http import HTTPClient, Route
from yarl import URL

_MAX_RATE_LIMIT_SECONDS = 1.0  # longer waits are raised, so that the gateway can do other work
_OPEN_TIMEOUT_SECONDS, _CLOSE_TIMEOUT_SECONDS = 30.0, 1.5  # seconds
_RESUMABLE_CLOSE_CODE = 4000  # a connection closed with this code can be resumed

GatewayEvent = discord.Message | discord.Interaction


@dataclass(frozen=True, slots=True)
class _ResumePoint:
    id: str
    sequence: int
    gateway: URL


class GatewayClient(discord.Client):
    """One bot, with the fewest intents that let it read and reply."""

    def __init__(self, base_url: str) -> None:
        intents = discord.Intents(guilds=True, guild_messages=True, dm_messages=True, message_content=True)
        discord.VoiceClient.warn_nacl = discord.VoiceClient.warn_dave = False  # voice is not used
        super().__init__(intents=intents, max_messages=None, allowed_mentions=discord.AllowedMentions.none())
        self.http.max_ratelimit_timeout = _MAX_RATE_LIMIT_SECONDS
        _redirect_requests(self.http, base_url.rstrip("/"))
        self._arrived: asyncio.Queue[GatewayEvent | None] = asyncio.Queue()
        self._unkept: deque[int] = deque()  # sequence numbers of events not stored yet
        self._session: _ResumePoint | None = None
        self.is_backfilled = False  # messages missed before this session were fetched

    def dispatch(self, event: str, /, *args: Any, **named: Any) -> None:
        if event in ("message", "interaction"):
            self._unkept.append(self.ws.sequence or 0)
            self._arrived.put_nowait(args[0])
        super().dispatch(event, *args, **named)

    @asynccontextmanager
    async def open_gateway(self) -> AsyncGenerator[None, None]:
        """Connects; `next_event` yields events until the block ends."""
        self._arrived, self._unkept = asyncio.Queue(), deque()
        arrived, ws = self._arrived, await self._connect()
        self._polling = asyncio.create_task(_poll(ws))
        self._polling.add_done_callback(lambda _: arrived.put_nowait(None))
        try:
            yield
        finally:
            self._polling.cancel()
            self._session = self._resume_point(ws)
            with suppress(TimeoutError, OSError):
                async with asyncio.timeout(_CLOSE_TIMEOUT_SECONDS):
                    await ws.close(code=_RESUMABLE_CLOSE_CODE)

    async def next_event(self) -> GatewayEvent:
        """Returns the next message or button press; raises the library's error when the connection ends."""
        if (found := await self._arrived.get()) is None:
            await self._polling  # raises why
        assert found is not None
        return found

    def mark_stored(self) -> None:
        """Marks the last event as stored."""
        self._unkept.popleft()

    async def _connect(self) -> DiscordWebSocket:
        old = self._session
        self.is_backfilled = self.is_backfilled and old is not None
        async with asyncio.timeout(_OPEN_TIMEOUT_SECONDS):
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

    def _resume_point(self, ws: DiscordWebSocket) -> _ResumePoint | None:
        if not ws.session_id or ws.sequence is None:
            return None  # no session to resume
        return _ResumePoint(ws.session_id, self._unkept[0] - 1 if self._unkept else ws.sequence, ws.gateway)

    @contextmanager
    def wait_for_rate_limit(self) -> Iterator[None]:
        """Lets the library wait out rate limits instead of raising."""
        self.http.max_ratelimit_timeout = None
        try:
            yield
        finally:
            self.http.max_ratelimit_timeout = _MAX_RATE_LIMIT_SECONDS

    async def acknowledge_press(self, pressed: discord.Interaction) -> None:
        """Acknowledges a button press, which ends its spinner; Discord accepts this for a few seconds."""
        route = Route(
            "POST", "/interactions/{id}/{interaction_token}/callback", id=pressed.id, interaction_token=pressed.token
        )
        with suppress(discord.NotFound):
            await self.http.request(route, json={"type": discord.InteractionResponseType.deferred_message_update.value})


async def _poll(ws: DiscordWebSocket) -> None:
    while True:
        await ws.poll_event()


def _redirect_requests(http: HTTPClient, base_url: str) -> None:
    """Redirects this client's requests to another base URL; the library has one for all clients."""
    ask = http.request

    async def request(route: Route, **named: Any) -> Any:
        route.url = base_url + route.url.removeprefix(Route.BASE)
        return await ask(route, **named)

    http.request = request  # type: ignore[method-assign]
