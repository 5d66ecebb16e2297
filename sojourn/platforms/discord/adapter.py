"""One Discord bot. Discord shows Markdown as it is, so nothing has to be translated."""

from __future__ import annotations

import asyncio
import binascii
import secrets
from base64 import b64decode
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from hashlib import sha256
from io import BytesIO
from typing import Final

import discord

from sojourn.core.errors import NoThreadHere, SendRefused, ThreadsUnsupported
from sojourn.core.places import Place
from sojourn.platforms.cursor import CursorStore, ReceivedCursor
from sojourn.platforms.discord.backfill import missed, now
from sojourn.platforms.discord.errors import listening, translated
from sojourn.platforms.discord.gateway_client import GatewayClient
from sojourn.platforms.discord.messages import inbound, named, place_of, pressed
from sojourn.platforms.discord.settings import NAME, DiscordSettings
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import Button, File, Inbound, PlatformInfo, Sent
from sojourn.ports.records import RecordStore

_MOST, _MOST_NAME = 2000, 100
_A_DAY: Final = 1440  # minutes of silence until a thread is archived


class Discord:
    """The bot's account."""

    info = PlatformInfo(name=NAME, label="Discord", max_chars=_MOST)

    def __init__(self, settings: DiscordSettings, store: RecordStore) -> None:
        self._settings, self._opening = settings, asyncio.Lock()
        self._position = CursorStore(store, NAME, self.account)
        self._line: GatewayClient | None = None

    @property
    def account(self) -> str:
        """The bot's id: it is what a token begins with."""
        token = self._settings.token.reveal()
        first = token.partition(".")[0]
        with suppress(binascii.Error, UnicodeDecodeError):
            if (id := b64decode(first + "=" * (-len(first) % 4), validate=True).decode("ascii")).isdecimal():
                return id
        return sha256(token.encode()).hexdigest()[:12]

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        async with listening():
            line = await self._open()
        position, before = self._position, await self._position.heard()
        heard = before or await position.begin(now())
        async with listening(), line.connected():
            if before is not None and not line.has_caught_up:
                for message in await missed(line, heard):
                    if (written := await inbound(message, line)) is not None:
                        yield written
                        heard = await position.keep_heard(_plus(heard, written))
            line.has_caught_up = True
            while True:
                news = await line.news()
                if isinstance(news, discord.Interaction):
                    if (press := await pressed(news, line)) is not None:
                        yield press
                    await line.let_go_of(news)
                elif not heard.has(str(news.id)) and (written := await inbound(news, line)) is not None:
                    yield written
                    heard = await position.keep_heard(_plus(heard, written))
                line.kept()

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        return await self.ask(place, text, (), plain=plain, reply_to=reply_to)

    async def ask(
        self, place: Place, text: str, buttons: Sequence[Button], *, plain: bool = False, reply_to: str = ""
    ) -> Sent:
        room = await self._room(place)
        async with translated(), asyncio.timeout(self._settings.answer_seconds):
            message = await room.send(
                _written(text, plain),
                nonce=secrets.randbits(62),  # the library may ask twice; Discord knows it by this and sends once
                reference=_reply(place, reply_to),  # type: ignore[arg-type]
                view=_view(buttons) if buttons else None,  # type: ignore[arg-type]
            )
        return Sent(place=place, id=str(message.id))

    async def edit(self, sent: Sent, text: str, *, plain: bool = False) -> None:
        room = await self._room(sent.place)
        async with translated(), asyncio.timeout(self._settings.answer_seconds):
            await room.get_partial_message(_number(sent.id)).edit(content=_written(text, plain), view=None)

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        room = await self._room(place)
        async with translated():
            message = await room.send(caption, file=discord.File(BytesIO(file.data), filename=file.name))
        return Sent(place=place, id=str(message.id))

    async def typing(self, place: Place) -> None:
        room = await self._room(place)
        async with translated():
            await room.typing()

    async def react(self, sent: Sent, sign: str) -> None:
        room = await self._room(sent.place)
        async with translated():
            await room.get_partial_message(_number(sent.id)).add_reaction(sign)

    async def create_handoff_thread(self, parent: Place, name: str) -> Place:
        name = name.strip()[:_MOST_NAME] or "Sojourn"
        async with translated():
            line = await self._open()
            try:
                channel = line.get_channel(_number(parent.chat)) or await line.fetch_channel(_number(parent.chat))
                if isinstance(channel, discord.Thread):
                    channel = channel.parent or await line.fetch_channel(channel.parent_id)
                return place_of(await _thread_in(channel, name))
            except discord.HTTPException as error:
                if error.status >= 500 or error.status in (401, 429):
                    raise
                hint = "Let the bot see the channel, send messages and create public threads there."
                raise ThreadsUnsupported(f"Discord opens no thread there: {error.text}.", hint=hint) from error

    def home(self, chat: str) -> Place:
        return named(chat, self._line)

    async def close(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            await line.close()

    async def _open(self) -> GatewayClient:
        """The client, after Discord has said who it is: that shows whether the token is right."""
        async with self._opening:
            if self._line is None:
                line = GatewayClient(self._settings.base_url)
                try:
                    async with translated(), asyncio.timeout(self._settings.answer_seconds):
                        await line.login(self._settings.token.reveal())
                except BaseException:
                    await line.http.close()
                    raise
                self._line = line
        return self._line

    async def _room(self, place: Place) -> discord.PartialMessageable:
        return (await self._open()).get_partial_messageable(_number(place.chat))


def make(kit: PluginContext) -> Discord:
    return Discord(kit.configured(NAME), kit.store)


def _plus(heard: ReceivedCursor, written: Inbound) -> ReceivedCursor:
    """Discord tells a bot about every chat but the private ones: those are remembered."""
    heard = heard.plus(written.id, int(written.id))
    return heard.there(written.place.chat) if written.place.kind == "dm" else heard


def _view(buttons: Sequence[Button]) -> discord.ui.View:
    """Buttons that the library does not wait for: who presses is heard by `listen`, also after a restart."""
    view = discord.ui.View(timeout=None)
    for one in buttons:
        view.add_item(discord.ui.Button(label=one.label, custom_id=one.value))
    view.stop()
    return view


async def _thread_in(channel: object, name: str) -> discord.Thread:
    """A thread in a text channel; where none can stand alone, one that hangs on a first message."""
    if isinstance(channel, discord.ForumChannel):
        return (await channel.create_thread(name=name, content=name, auto_archive_duration=_A_DAY)).thread
    if not isinstance(channel, discord.TextChannel):
        kind = str(getattr(channel, "type", "such")).replace("_", " ")
        why, hint = f"A {kind} channel of Discord has no threads.", "Name a text channel."
        raise NoThreadHere(why, hint=hint, place=place_of(channel))
    kind_of_thread = discord.ChannelType.news_thread if channel.is_news() else discord.ChannelType.public_thread
    try:
        return await channel.create_thread(name=name, type=kind_of_thread, auto_archive_duration=_A_DAY)
    except discord.HTTPException as refused:
        if refused.status >= 500 or refused.status == 429:
            raise
    seed = await channel.send(name)
    try:
        return await seed.create_thread(name=name, auto_archive_duration=_A_DAY)
    except discord.HTTPException:
        with suppress(discord.HTTPException):
            await seed.delete()
        raise


def _written(text: str, plain: bool) -> str:
    """Plain words get a backslash before what would be a mark, as long as there is room for it."""
    escaped = discord.utils.escape_markdown(text) if plain else text
    return escaped if len(escaped) <= _MOST else text


def _number(id: str) -> int:
    if not id.isdecimal():
        raise SendRefused(f"{id!r} is not an id of Discord.", kind="not_found")
    return int(id)


def _reply(place: Place, to: str) -> discord.MessageReference | None:
    if not to:
        return None
    return discord.MessageReference(message_id=_number(to), channel_id=_number(place.chat), fail_if_not_exists=False)
