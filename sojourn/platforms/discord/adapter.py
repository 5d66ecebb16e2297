"""Discord adapter. Discord renders Markdown itself, so text is sent unchanged."""

from __future__ import annotations

import asyncio
import binascii
import re
import secrets
from base64 import b64decode
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager, suppress
from hashlib import sha256
from io import BytesIO
from typing import Final

import discord

from sojourn.core.errors import NoThreadHere, SendRefused, ThreadsUnsupported
from sojourn.core.places import Place
from sojourn.platforms.cursor import CursorStore, ReceivedCursor
from sojourn.platforms.discord import NAME, DiscordSettings
from sojourn.platforms.discord.errors import translate_errors
from sojourn.platforms.discord.gateway_client import GatewayClient, current_snowflake, fetch_missed
from sojourn.platforms.discord.messages import place_from_channel, place_from_name, to_button_press, to_inbound
from sojourn.platforms.markdown import split_fences
from sojourn.platforms.refusals import refusals_as_outage
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import BotProfile, Button, File, Inbound, PlatformInfo, Sent

_MAX_CHARS, _MAX_NAME_CHARS = 2000, 100
_LONG_FENCE = re.compile(r"^(`{4,})\n(.*?)\n\1$", re.DOTALL | re.MULTILINE)
_ARCHIVE_AFTER_MINUTES: Final = 1440  # minutes of silence until a thread is archived


class Discord:
    """The bot's account."""

    info = PlatformInfo(name=NAME, label="Discord", max_chars=_MAX_CHARS)

    def __init__(self, app: PluginContext) -> None:
        self._settings: DiscordSettings = app.configured(NAME)
        self._cursors = CursorStore(app.store, NAME, self.account)
        self._open_lock = asyncio.Lock()
        self._client: GatewayClient | None = None

    @property
    def account(self) -> str:
        """The bot's id, which is the first part of its token."""
        token = self._settings.token.reveal()
        first = token.partition(".")[0]
        with suppress(binascii.Error, UnicodeDecodeError):
            if (id := b64decode(first + "=" * (-len(first) % 4), validate=True).decode("ascii")).isdecimal():
                return id
        return sha256(token.encode()).hexdigest()[:12]

    async def identify(self) -> BotProfile:
        async with refusals_as_outage(), self._use_client() as client:
            assert client.user is not None  # logged in
            return BotProfile(
                name=client.user.display_name, address=str(client.user), picture=client.user.display_avatar.url
            )

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        async with refusals_as_outage(), self._use_client() as client:
            cursors, before = self._cursors, await self._cursors.load_cursor()
            cursor = before or await cursors.start(current_snowflake())
            async with client.open_gateway():
                if before is not None and not client.is_backfilled:
                    for message in await fetch_missed(client, cursor):
                        if (inbound := await to_inbound(message, client)) is not None:
                            yield inbound
                            cursor = await cursors.save_cursor(_advance_cursor(cursor, inbound))
                client.is_backfilled = True
                while True:
                    event = await client.next_event()
                    if isinstance(event, discord.Interaction):
                        if (press := await to_button_press(event, client)) is not None:
                            yield press
                        await client.acknowledge_press(event)
                    elif not cursor.contains(str(event.id)) and (inbound := await to_inbound(event, client)):
                        yield inbound
                        cursor = await cursors.save_cursor(_advance_cursor(cursor, inbound))
                    client.mark_stored()

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        return await self.ask(place, text, (), plain=plain, reply_to=reply_to)

    async def ask(
        self, place: Place, text: str, buttons: Sequence[Button], *, plain: bool = False, reply_to: str = ""
    ) -> Sent:
        async with self._use_channel(place) as channel, asyncio.timeout(self._settings.answer_seconds):
            message = await channel.send(
                _escape_if_plain(text, plain),
                nonce=secrets.randbits(62),  # deduplicates a retry of the library
                reference=_reply_reference(place, reply_to),  # type: ignore[arg-type]
                view=_build_view(buttons) if buttons else None,  # type: ignore[arg-type]
            )
        return Sent(place=place, id=str(message.id))

    async def edit(self, sent: Sent, text: str, *, plain: bool = False) -> None:
        async with self._use_channel(sent.place) as channel, asyncio.timeout(self._settings.answer_seconds):
            await channel.get_partial_message(_parse_id(sent.id)).edit(content=_escape_if_plain(text, plain), view=None)

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        async with self._use_channel(place) as channel:
            message = await channel.send(caption, file=discord.File(BytesIO(file.data), filename=file.name))
        return Sent(place=place, id=str(message.id))

    async def typing(self, place: Place) -> None:
        async with self._use_channel(place) as channel:
            await channel.typing()

    async def react(self, sent: Sent, sign: str) -> None:
        async with self._use_channel(sent.place) as channel:
            await channel.get_partial_message(_parse_id(sent.id)).add_reaction(sign)

    async def create_handoff_thread(self, parent: Place, name: str) -> Place:
        name = name.strip()[:_MAX_NAME_CHARS] or "Sojourn"
        id = _parse_id(parent.chat)
        async with self._use_client() as client:
            try:
                channel = client.get_channel(id) or await client.fetch_channel(id)
                if isinstance(channel, discord.Thread):
                    channel = channel.parent or await client.fetch_channel(channel.parent_id)
                return place_from_channel(await _create_thread(channel, name))
            except discord.HTTPException as error:
                if error.status >= 500 or error.status in (401, 429):
                    raise
                hint = "Let the bot see the channel, send messages and create public threads there."
                raise ThreadsUnsupported(f"Discord opens no thread there: {error.text}.", hint=hint) from error

    def home(self, chat: str) -> Place:
        return place_from_name(chat, self._client)

    async def close(self) -> None:
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _open(self) -> GatewayClient:
        """Returns the logged-in client; logging in validates the token."""
        async with self._open_lock:
            if self._client is None:
                client = GatewayClient(self._settings.base_url)
                try:
                    async with asyncio.timeout(self._settings.answer_seconds):
                        await client.login(self._settings.token.reveal())
                except BaseException:
                    await client.http.close()
                    raise
                self._client = client
        return self._client

    @asynccontextmanager
    async def _use_client(self) -> AsyncGenerator[GatewayClient, None]:
        """Yields the logged-in client, and translates the errors of its calls."""
        async with translate_errors():
            yield await self._open()

    @asynccontextmanager
    async def _use_channel(self, place: Place) -> AsyncGenerator[discord.PartialMessageable, None]:
        async with self._use_client() as client:
            yield client.get_partial_messageable(_parse_id(place.chat))


def _advance_cursor(cursor: ReceivedCursor, inbound: Inbound) -> ReceivedCursor:
    """Advances the cursor; private chats are remembered, because Discord does not list them to a bot."""
    cursor = cursor.advance(inbound.id, int(inbound.id))
    return cursor.with_place(inbound.place.chat) if inbound.place.kind == "dm" else cursor


def _build_view(buttons: Sequence[Button]) -> discord.ui.View:
    """Builds buttons without a library callback: presses arrive in `listen`, also after a restart."""
    view = discord.ui.View(timeout=None)
    for one in buttons:
        view.add_item(discord.ui.Button(label=one.label, custom_id=one.value))
    view.stop()
    return view


async def _create_thread(channel: object, name: str) -> discord.Thread:
    """Creates a thread in a text channel; where that is refused, on a message of its own."""
    if isinstance(channel, discord.ForumChannel):
        post = await channel.create_thread(name=name, content=name, auto_archive_duration=_ARCHIVE_AFTER_MINUTES)
        return post.thread
    if not isinstance(channel, discord.TextChannel):
        kind = str(getattr(channel, "type", "such")).replace("_", " ")
        why, hint = f"A {kind} channel of Discord has no threads.", "Name a text channel."
        raise NoThreadHere(why, hint=hint, place=place_from_channel(channel))
    kind_of_thread = discord.ChannelType.news_thread if channel.is_news() else discord.ChannelType.public_thread
    try:
        return await channel.create_thread(name=name, type=kind_of_thread, auto_archive_duration=_ARCHIVE_AFTER_MINUTES)
    except discord.HTTPException as refused:
        if refused.status >= 500 or refused.status == 429:
            raise
    seed = await channel.send(name)
    try:
        return await seed.create_thread(name=name, auto_archive_duration=_ARCHIVE_AFTER_MINUTES)
    except discord.HTTPException:
        with suppress(discord.HTTPException):
            await seed.delete()
        raise


def _to_short_fence(block: re.Match[str]) -> str:
    return f"```\n{split_fences(block[2])}\n```"


def _escape_if_plain(text: str, plain: bool) -> str:
    """Escapes Markdown in plain text, as long as the result fits. Discord knows no fence of more than three marks."""
    escaped = discord.utils.escape_markdown(text) if plain else _LONG_FENCE.sub(_to_short_fence, text)
    return escaped if len(escaped) <= _MAX_CHARS else text


def _parse_id(id: str) -> int:
    if not id.isdecimal():
        raise SendRefused(f"{id!r} is not an id of Discord.", kind="not_found")
    return int(id)


def _reply_reference(place: Place, to: str) -> discord.MessageReference | None:
    if not to:
        return None
    message, channel = _parse_id(to), _parse_id(place.chat)
    return discord.MessageReference(message_id=message, channel_id=channel, fail_if_not_exists=False)
