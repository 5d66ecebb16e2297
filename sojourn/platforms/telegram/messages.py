"""Telegram's chats and messages as Places and Inbounds."""

from __future__ import annotations

from mimetypes import guess_type

from telegram import Bot, CallbackQuery, Chat, MaybeInaccessibleMessage, Message, MessageEntity
from telegram.error import BadRequest, Forbidden, InvalidToken

from sojourn.core.errors import BadInput, SendRefused
from sojourn.core.places import Place, Sender
from sojourn.platforms.telegram import NAME
from sojourn.ports.platform import File, Inbound


def place_from_chat(chat: int, topic: int | None = None, name: str = "") -> Place:
    """A chat or a topic in it. People have positive numbers, groups negative ones; a topic of a private chat stays
    private."""
    if chat > 0:
        return Place(platform=NAME, chat=str(chat), kind="dm", thread=str(topic) if topic else None, name=name)
    if topic:
        return Place(platform=NAME, chat=str(chat), kind="thread", thread=str(topic), parent=str(chat), name=name)
    return Place(platform=NAME, chat=str(chat), kind="group", name=name)


def place_from_name(words: str) -> Place:
    """The place of `12345`, `-10012345` or `-10012345/17`. BadInput."""
    chat, _, topic = words.strip().partition("/")
    if not chat.removeprefix("-").isdecimal() or not int(chat) or (topic and not topic.isdecimal()):
        hint = "Give its number, like 12345, or -10012345/17 for a topic; or write /sethome in the chat."
        raise BadInput(f"{words!r} is not a Telegram chat.", hint=hint)
    return place_from_chat(int(chat), int(topic or 0) or None)


def build_message_id(chat: int | str, number: int) -> str:
    """Numbers are unique only inside of a chat."""
    return f"{chat}/{number}"


def parse_message_number(id: str) -> int:
    number = id.rpartition("/")[2]
    if not number.isdecimal():
        raise SendRefused(f"{id!r} is not a message of Telegram.", kind="not_found")
    return int(number)


async def to_inbound(message: Message, bot: Bot) -> Inbound | None:
    """What a person wrote; None for bots, for news about the chat, and for what has neither words nor files."""
    writer = message.from_user
    if writer is None or writer.is_bot:
        return None
    text, calls_us = _extract_text(message, bot)
    files, lost = await _fetch_files(message)
    text = "\n".join(filter(None, (text, *lost)))
    if not text and not files:
        return None
    answered = message.reply_to_message
    is_answer = answered is not None and answered.from_user is not None and answered.from_user.id == bot.id
    chat = message.chat
    return Inbound(
        id=build_message_id(chat.id, message.message_id),
        place=_place_from_message(message),
        sender=Sender(id=str(writer.id), name=writer.full_name),
        text=text,
        files=files,
        at=message.date.timestamp(),
        reply_to=build_message_id(chat.id, answered.message_id)
        if answered and not answered.forum_topic_created
        else "",
        mentioned=chat.type == Chat.PRIVATE or calls_us or is_answer,
    )


def to_button_press(query: CallbackQuery | None) -> Inbound | None:
    """A button under a message of ours."""
    if query is None or query.message is None or not query.data or query.from_user.is_bot:
        return None
    under, label = query.message, query.data
    if isinstance(under, Message) and under.reply_markup is not None:
        labels = [one.text for row in under.reply_markup.inline_keyboard for one in row if one.callback_data == label]
        label = labels[0] if labels else label
    return Inbound(
        id=f"button/{query.id}",
        place=_place_from_message(under),
        sender=Sender(id=str(query.from_user.id), name=query.from_user.full_name),
        text=label,
        reply_to=build_message_id(under.chat.id, under.message_id),
        pressed=query.data,
    )


def _place_from_message(message: MaybeInaccessibleMessage) -> Place:
    """Where it stands. Of a message that is too old only the chat is told."""
    chat = message.chat
    topic = message.message_thread_id if isinstance(message, Message) and message.is_topic_message else None
    return place_from_chat(chat.id, topic, chat.title or chat.full_name or "")


def _extract_text(message: Message, bot: Bot) -> tuple[str, bool]:
    """The text without our own name in it, and whether it was there."""
    text, ours, called = message.text or message.caption or "", f"@{bot.username}".lower(), False
    entities = message.parse_entities([MessageEntity.MENTION, MessageEntity.BOT_COMMAND])
    entities |= message.parse_caption_entities([MessageEntity.MENTION, MessageEntity.BOT_COMMAND])
    for entity, said in entities.items():
        command, at, name = said.partition("@")
        if entity.type == MessageEntity.BOT_COMMAND:
            called |= not at or f"@{name}".lower() == ours
            text = text.replace(said, command, 1) if f"@{name}".lower() == ours else text
        elif said.lower() == ours:
            called, text = True, text.replace(said, "", 1)
    return text.strip(), called


async def _fetch_files(message: Message) -> tuple[tuple[File, ...], list[str]]:
    """The file of a message, or a line that says why it is not here."""
    found = message.effective_attachment
    if isinstance(found, (tuple, list)):  # a picture in several sizes, the largest last
        found = found[-1]
    if found is None or not hasattr(found, "get_file"):
        return (), []
    name = getattr(found, "file_name", None) or ""
    try:
        file = await found.get_file()
        data = bytes(await file.download_as_bytearray())
    except (BadRequest, Forbidden, InvalidToken) as error:  # the last one is the library's word for any 404
        return (), [f"[A file was sent, but could not be fetched: {name or 'no name'}. Telegram: {error.message}]"]
    name = name or (file.file_path or "file").rpartition("/")[2]
    kind = getattr(found, "mime_type", None) or guess_type(name)[0] or "application/octet-stream"
    return (File(name=name, media_type=kind, data=data),), []
