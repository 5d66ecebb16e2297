"""Telegram adapter: one bot, by long polling. Telegram repeats unacknowledged updates for a day."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager, suppress

from telegram import Bot, CallbackQuery, InlineKeyboardButton, InlineKeyboardMarkup, Message, ReplyParameters
from telegram.constants import ChatAction, ParseMode
from telegram.error import BadRequest, Forbidden, InvalidToken, TelegramError

from sojourn.core.errors import PlatformDown, SendRefused, ThreadsUnsupported
from sojourn.core.places import Place
from sojourn.platforms.telegram import NAME, TelegramSettings
from sojourn.platforms.telegram.errors import (
    FloodWait,
    TelegramRequest,
    TokenLogFilter,
    classify_refusal,
    translate_error,
)
from sojourn.platforms.telegram.messages import (
    build_message_id,
    parse_message_number,
    place_from_chat,
    place_from_name,
    to_button_press,
    to_html,
    to_inbound,
)
from sojourn.ports.app import PluginContext
from sojourn.ports.platform import Button, File, Inbound, PlatformInfo, Sent

_MAX_NAME_CHARS = 128
_PHOTO_TYPES = ("image/jpeg", "image/png", "image/webp")


class Telegram:
    """The bot's account."""

    info = PlatformInfo(name=NAME, label="Telegram", max_chars=4096, counting="utf16")

    def __init__(self, settings: TelegramSettings) -> None:
        self._settings, self._open_lock = settings, asyncio.Lock()
        self._token, self._base = settings.token.reveal(), settings.base_url.rstrip("/")
        self._log_filter = TokenLogFilter(self._token)
        self._bot: Bot | None = None

    @property
    def account(self) -> str:
        return self._token.partition(":")[0]  # the bot's number; the secret follows the colon

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        offset: int | None = None
        async with _translate_listen_errors():
            bot = await self._open()
            await bot.delete_webhook()  # with a webhook, polling is refused
        while True:
            async with _translate_listen_errors():
                updates = await bot.get_updates(
                    offset=offset, timeout=self._settings.poll_seconds, allowed_updates=["message", "callback_query"]
                )
            for one in updates:
                async with _translate_listen_errors():
                    inbound = await to_inbound(one.message, bot) if one.message else to_button_press(one.callback_query)
                if inbound is not None:
                    yield inbound
                if one.callback_query:
                    async with _translate_listen_errors():
                        await _acknowledge_press(one.callback_query)
                offset = one.update_id + 1  # acknowledged with the next poll

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        return await self.ask(place, text, (), plain=plain, reply_to=reply_to)

    async def ask(
        self, place: Place, text: str, buttons: Sequence[Button], *, plain: bool = False, reply_to: str = ""
    ) -> Sent:
        bot = await self._open()
        rows = [[InlineKeyboardButton(one.label, callback_data=one.value)] for one in buttons]
        async with _translate_errors():
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
        bot = await self._open()
        async with _translate_errors():
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
        bot = await self._open()
        async with _translate_errors():
            if file.media_type in _PHOTO_TYPES:
                message = await bot.send_photo(
                    int(place.chat), file.data, caption=caption, filename=file.name, message_thread_id=_topic_id(place)
                )
            else:
                message = await bot.send_document(
                    int(place.chat), file.data, caption=caption, filename=file.name, message_thread_id=_topic_id(place)
                )
        return _to_sent(place, message)

    async def typing(self, place: Place) -> None:
        bot = await self._open()
        async with _translate_errors():
            await bot.send_chat_action(int(place.chat), ChatAction.TYPING, message_thread_id=_topic_id(place))

    async def react(self, sent: Sent, sign: str) -> None:
        bot = await self._open()
        async with _translate_errors():
            await bot.set_message_reaction(int(sent.place.chat), parse_message_number(sent.id), reaction=sign)

    async def create_handoff_thread(self, parent: Place, name: str) -> Place:
        """Creates a topic: in forums, and in private chats with topics."""
        bot = await self._open()
        async with _translate_errors():
            try:
                topic = await bot.create_forum_topic(int(parent.chat), name.strip()[:_MAX_NAME_CHARS] or "Sojourn")
            except (BadRequest, Forbidden) as error:
                hint = "Switch topics on in the group, and let the bot manage them."
                if classify_refusal(error) == "not_found":
                    hint = "Check whether the bot is still in that chat."
                raise ThreadsUnsupported(
                    f"Telegram does not open a topic there: {error.message}.", hint=hint
                ) from error
        return place_from_chat(int(parent.chat), topic.message_thread_id, topic.name)

    def home(self, chat: str) -> Place:
        return place_from_name(chat)

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
                timeout = self._settings.answer_seconds
                bot = Bot(
                    self._token,
                    base_url=f"{self._base}/bot",
                    base_file_url=f"{self._base}/file/bot",
                    request=TelegramRequest(
                        read_timeout=timeout, connect_timeout=timeout, write_timeout=timeout, pool_timeout=timeout
                    ),
                    get_updates_request=TelegramRequest(
                        connection_pool_size=2, read_timeout=timeout, connect_timeout=timeout
                    ),
                )
                async with _translate_errors():
                    try:
                        await bot.initialize()
                    except BaseException:
                        await bot.shutdown()
                        self._log_filter.uninstall()
                        raise
                self._bot = bot
        return self._bot


def build_adapter(app: PluginContext) -> Telegram:
    return Telegram(app.configured(NAME))


@asynccontextmanager
async def _translate_errors() -> AsyncIterator[None]:
    try:
        yield
    except InvalidToken as error:
        raise translate_error(error) from None  # the library's message contains the token
    except (FloodWait, TelegramError) as error:
        raise translate_error(error) from error


@asynccontextmanager
async def _translate_listen_errors() -> AsyncIterator[None]:
    """Translates errors while listening: a refusal there means the connection is down."""
    try:
        async with _translate_errors():
            yield
    except SendRefused as error:
        raise PlatformDown(str(error), hint=error.hint) from error


async def _acknowledge_press(query: CallbackQuery) -> None:
    """Acknowledges a button press, which ends its spinner; Telegram accepts this for some minutes."""
    with suppress(BadRequest):
        await query.answer()


def _topic_id(place: Place) -> int | None:
    return int(place.thread) if place.thread else None


def _reply_parameters(to: str) -> ReplyParameters | None:
    return ReplyParameters(parse_message_number(to), allow_sending_without_reply=True) if to else None


def _to_sent(place: Place, message: Message) -> Sent:
    return Sent(place=place, id=build_message_id(place.chat, message.message_id))
