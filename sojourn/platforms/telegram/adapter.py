"""Telegram adapter: one bot, by long polling. Telegram repeats unacknowledged updates for a day."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, Message, ReplyParameters
from telegram.constants import ChatAction, ParseMode
from telegram.error import BadRequest, Forbidden, InvalidToken, TelegramError

from sojourn.core.errors import ThreadsUnsupported
from sojourn.core.places import Place
from sojourn.platforms.refusals import refusals_as_outage
from sojourn.platforms.telegram import NAME, TelegramSettings, messages
from sojourn.platforms.telegram.errors import TokenLogFilter, build_request, classify_refusal, translate_error
from sojourn.platforms.telegram.messages import build_message_id, parse_message_number, to_html
from sojourn.platforms.telegram.network import build_request_options
from sojourn.ports.app import PluginAccess
from sojourn.ports.platform import BotProfile, Button, File, Inbound, PlatformInfo, Sent

_MAX_NAME_CHARS = 128
_PHOTO_TYPES = ("image/jpeg", "image/png", "image/webp")


class Telegram:
    """The bot's account."""

    info = PlatformInfo(name=NAME, label="Telegram", max_chars=4096, counting="utf16")

    def __init__(self, app: PluginAccess) -> None:
        self._settings: TelegramSettings = app.configured(NAME)
        self._token: str = self._settings.token.reveal()
        self._open_lock = asyncio.Lock()
        self._log_filter = TokenLogFilter(self._token)
        self._bot: Bot | None = None

    @property
    def account(self) -> str:
        return self._token.partition(":")[0]  # the bot's number; the secret follows the colon

    async def identify(self) -> BotProfile:
        async with refusals_as_outage(), self._use_bot() as bot:
            address = f"https://t.me/{bot.username}"
            return BotProfile(name=bot.first_name, address=address, start_link=address + "?start={code}")

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        offset: int | None = None
        kinds, seconds = ["message", "callback_query"], self._settings.poll_seconds
        async with refusals_as_outage(), self._use_bot() as bot:
            await bot.delete_webhook()  # with a webhook, polling is refused
            while True:
                for one in await bot.get_updates(offset=offset, timeout=seconds, allowed_updates=kinds):
                    press = one.callback_query
                    inbound = (
                        await messages.to_inbound(one.message, bot) if one.message else messages.to_button_press(press)
                    )
                    if inbound is not None:
                        yield inbound
                    if press:
                        with suppress(BadRequest):  # its spinner ends; Telegram accepts this for some minutes
                            await press.answer()
                    offset = one.update_id + 1  # acknowledged with the next poll

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        return await self.ask(place, text, (), plain=plain, reply_to=reply_to)

    async def ask(
        self, place: Place, text: str, buttons: Sequence[Button], *, plain: bool = False, reply_to: str = ""
    ) -> Sent:
        rows = [[InlineKeyboardButton(one.label, callback_data=one.value)] for one in buttons]
        async with self._use_bot() as bot:
            message = await bot.send_message(
                chat_id=int(place.chat),
                text=text if plain else to_html(text),
                parse_mode=None if plain else ParseMode.HTML,
                message_thread_id=_topic_id(place),
                reply_parameters=_reply_parameters(reply_to),
                reply_markup=InlineKeyboardMarkup(rows) if rows else None,
            )
        return _to_sent(place, message)

    async def edit(self, sent: Sent, text: str, *, plain: bool = False) -> None:
        """Edits a message; this removes its buttons."""
        async with self._use_bot() as bot:
            try:
                await bot.edit_message_text(
                    text if plain else to_html(text),
                    chat_id=int(sent.place.chat),
                    message_id=parse_message_number(sent.id),
                    parse_mode=None if plain else ParseMode.HTML,
                )
            except BadRequest as error:
                if "not modified" not in error.message.lower():  # the text is already the same
                    raise

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        async with self._use_bot() as bot:
            send: Callable[..., Awaitable[Message]] = bot.send_document
            if file.media_type in _PHOTO_TYPES:
                send = bot.send_photo
            message = await send(
                int(place.chat), file.data, caption=caption, filename=file.name, message_thread_id=_topic_id(place)
            )
        return _to_sent(place, message)

    async def typing(self, place: Place) -> None:
        async with self._use_bot() as bot:
            await bot.send_chat_action(int(place.chat), ChatAction.TYPING, message_thread_id=_topic_id(place))

    async def react(self, sent: Sent, sign: str) -> None:
        async with self._use_bot() as bot:
            await bot.set_message_reaction(int(sent.place.chat), parse_message_number(sent.id), reaction=sign)

    async def create_handoff_thread(self, parent: Place, name: str) -> Place:
        """Creates a topic: in forums, and in private chats with topics."""
        async with self._use_bot() as bot:
            try:
                topic = await bot.create_forum_topic(int(parent.chat), name.strip()[:_MAX_NAME_CHARS] or "Sojourn")
            except (BadRequest, Forbidden) as error:
                hint = "Switch topics on in the group, and let the bot manage them."
                if classify_refusal(error) == "not_found":
                    hint = "Check whether the bot is still in that chat."
                why = f"Telegram does not open a topic there: {error.message}."
                raise ThreadsUnsupported(why, hint=hint) from error
        return messages.place_from_chat(int(parent.chat), topic.message_thread_id, topic.name)

    def home(self, chat: str) -> Place:
        return messages.place_from_name(chat)

    async def close(self) -> None:
        bot, self._bot = self._bot, None
        if bot is not None:
            await bot.shutdown()
            self._log_filter.uninstall()

    async def _open(self) -> Bot:
        """Returns the initialized bot; that validates the token."""
        async with self._open_lock:
            if self._bot is None:
                self._log_filter.install()
                base, timeout = self._settings.base_url.rstrip("/"), self._settings.answer_seconds
                timeouts: dict[str, Any] = {"read_timeout": timeout, "connect_timeout": timeout}
                request, poll = (build_request_options(self._settings) for _ in range(2))  # a pool for each
                bot = Bot(
                    self._token,
                    base_url=f"{base}/bot",
                    base_file_url=f"{base}/file/bot",
                    request=build_request(write_timeout=timeout, pool_timeout=timeout, **timeouts, **request),
                    get_updates_request=build_request(connection_pool_size=2, **timeouts, **poll),
                )
                try:
                    await bot.initialize()
                except BaseException:
                    await bot.shutdown()
                    self._log_filter.uninstall()
                    raise
                self._bot = bot
        return self._bot

    @asynccontextmanager
    async def _use_bot(self) -> AsyncGenerator[Bot, None]:
        """Yields the initialized bot, and translates the errors of its calls."""
        try:
            yield await self._open()
        except InvalidToken as error:
            raise translate_error(error) from None  # the library's message contains the token
        except TelegramError as error:
            raise translate_error(error) from error


def _topic_id(place: Place) -> int | None:
    return int(place.thread) if place.thread else None


def _reply_parameters(to: str) -> ReplyParameters | None:
    return ReplyParameters(parse_message_number(to), allow_sending_without_reply=True) if to else None


def _to_sent(place: Place, message: Message) -> Sent:
    return Sent(place=place, id=build_message_id(place.chat, message.message_id))
