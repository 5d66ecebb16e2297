"""Client of Discord's gateway WebSocket.

Reconnecting is left to our gateway instead of the library: a new connection resumes behind the last stored message, as
long as Discord keeps the session (some minutes).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import discord
from discord.gateway import DiscordWebSocket
from discord.http import HTTPClient, Route
from yarl import URL

from sojourn.platforms.cursor import ReceivedCursor
from sojourn.platforms.proxies import find_proxy

_MAX_RATE_LIMIT_SECONDS = 1.0  # longer waits are raised, so that the gateway can do other work
_OPEN_TIMEOUT_SECONDS, _CLOSE_TIMEOUT_SECONDS = 30.0, 1.5
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
        proxy = find_proxy(base_url)  # the library looks for none, and knows no SOCKS
        super().__init__(
            intents=intents,
            max_messages=None,
            allowed_mentions=discord.AllowedMentions.none(),
            proxy=proxy if proxy.startswith("http") else None,
        )
        self.http.max_ratelimit_timeout = _MAX_RATE_LIMIT_SECONDS
        _redirect_requests(self.http, base_url.rstrip("/"))
        self._events: asyncio.Queue[GatewayEvent | None] = asyncio.Queue()
        self._unstored: deque[int] = deque()  # sequence numbers of events not stored yet
        self._session: _ResumePoint | None = None
        self.is_backfilled = False  # messages missed before this session were fetched

    def dispatch(self, event: str, /, *args: Any, **options: Any) -> None:
        if event in ("message", "interaction"):
            self._unstored.append(self.ws.sequence or 0)
            self._events.put_nowait(args[0])
        super().dispatch(event, *args, **options)

    @asynccontextmanager
    async def open_gateway(self) -> AsyncGenerator[None, None]:
        """Connects; `next_event` yields events until the block ends."""
        self._events, self._unstored = asyncio.Queue(), deque()
        events, ws = self._events, await self._connect()
        self._poll_task = asyncio.create_task(_poll(ws))
        self._poll_task.add_done_callback(lambda _: events.put_nowait(None))
        try:
            yield
        finally:
            self._poll_task.cancel()
            self._session = self._resume_point(ws)
            with suppress(TimeoutError, OSError):
                async with asyncio.timeout(_CLOSE_TIMEOUT_SECONDS):
                    await ws.close(code=_RESUMABLE_CLOSE_CODE)

    async def next_event(self) -> GatewayEvent:
        """Returns the next message or button press; raises the library's error when the connection ends."""
        if (event := await self._events.get()) is None:
            await self._poll_task  # raises why
        assert event is not None
        return event

    def mark_stored(self) -> None:
        """Marks the last event as stored."""
        self._unstored.popleft()

    async def _connect(self) -> DiscordWebSocket:
        previous = self._session
        self.is_backfilled = self.is_backfilled and previous is not None
        async with asyncio.timeout(_OPEN_TIMEOUT_SECONDS):
            gateway = previous.gateway if previous else URL((await self.http.get_bot_gateway())[1])
            self.ws = await DiscordWebSocket.from_client(
                self,
                initial=True,
                gateway=gateway,
                resume=previous is not None,
                session=previous.id if previous else None,
                sequence=previous.sequence if previous else None,
            )
        return self.ws

    def _resume_point(self, ws: DiscordWebSocket) -> _ResumePoint | None:
        if not ws.session_id or ws.sequence is None:
            return None  # no session to resume
        return _ResumePoint(ws.session_id, self._unstored[0] - 1 if self._unstored else ws.sequence, ws.gateway)

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
    send = http.request

    async def request(route: Route, **options: Any) -> Any:
        route.url = base_url + route.url.removeprefix(Route.BASE)
        return await send(route, **options)

    http.request = request  # type: ignore[method-assign]


_OVERLAP_IDS = 5_000 << 22  # five seconds, in ids

logger = logging.getLogger(__name__)


def current_snowflake() -> int:
    """Returns the snowflake id of now; ids encode time."""
    return discord.utils.time_snowflake(discord.utils.utcnow())


async def fetch_missed(client: GatewayClient, cursor: ReceivedCursor) -> list[discord.Message]:
    """Fetches newer messages, oldest first: of channels, open threads, and known private chats (which Discord does
    not list)."""
    since, messages = cursor.since(_OVERLAP_IDS), list[discord.Message]()
    with client.wait_for_rate_limit():  # a restart would have to read as much
        async for channel in _iter_changed_channels(client, since):
            messages += await _fetch_newer(channel, since)
        for chat in cursor.places:
            messages += await _fetch_newer(client.get_partial_messageable(int(chat)), since)
    return sorted((one for one in messages if not cursor.contains(str(one.id))), key=lambda one: one.id)


async def _iter_changed_channels(client: discord.Client, since: int) -> AsyncGenerator[discord.abc.Messageable, None]:
    """Yields channels and threads with new messages."""
    async for guild in client.fetch_guilds(limit=None, with_counts=False):
        for channel in [*await guild.fetch_channels(), *await guild.active_threads()]:
            if isinstance(channel, discord.abc.Messageable) and (getattr(channel, "last_message_id", 0) or 0) > since:
                yield channel


async def _fetch_newer(channel: discord.abc.Messageable, since: int) -> list[discord.Message]:
    try:
        history = channel.history(limit=None, after=discord.Object(since), oldest_first=True)
        return [message async for message in history]
    except (discord.Forbidden, discord.NotFound) as error:
        logger.info("missed messages in %s cannot be read: %s", channel, error.text)
        return []
