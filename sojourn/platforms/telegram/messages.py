"""Maps Telegram chats and messages to places and inbound messages, and Markdown to Telegram's HTML."""

from __future__ import annotations

from html import escape
from mimetypes import guess_type

from telegram import Bot, CallbackQuery, Chat, MaybeInaccessibleMessage, Message, MessageEntity
from telegram.error import BadRequest, Forbidden, InvalidToken

from sojourn.core.errors import BadInput, SendRefused
from sojourn.core.places import Place, Sender
from sojourn.platforms.downloads import attach_files
from sojourn.platforms.markdown import MarkupStyle, escape_html, render
from sojourn.platforms.telegram import NAME
from sojourn.ports.platform import File, Inbound


def place_from_chat(chat: int, topic: int | None = None, name: str = "") -> Place:
    """Builds the place of a chat or a topic. People have positive numbers, groups negative ones; a topic of a
    private chat stays private."""
    if chat > 0:
        return Place(platform=NAME, chat=str(chat), kind="dm", thread=str(topic) if topic else None, name=name)
    if topic:
        return Place(platform=NAME, chat=str(chat), kind="thread", thread=str(topic), parent=str(chat), name=name)
    return Place(platform=NAME, chat=str(chat), kind="group", name=name)


def place_from_name(name: str) -> Place:
    """Parses `12345`, `-10012345` or `-10012345/17`. BadInput."""
    chat, _, topic = name.strip().partition("/")
    if not chat.removeprefix("-").isdecimal() or not int(chat) or (topic and not topic.isdecimal()):
        hint = "Give its number, like 12345, or -10012345/17 for a topic; or write /sethome in the chat."
        raise BadInput(f"{name!r} is not a Telegram chat.", hint=hint)
    return place_from_chat(int(chat), int(topic or 0) or None)


def build_message_id(chat: int | str, number: int) -> str:
    """Numbers are unique only within a chat."""
    return f"{chat}/{number}"


def parse_message_number(id: str) -> int:
    number = id.rpartition("/")[2]
    if not number.isdecimal():
        raise SendRefused(f"{id!r} is not a message of Telegram.", kind="not_found")
    return int(number)


async def to_inbound(message: Message, bot: Bot) -> Inbound | None:
    """Maps a message; None for bots, system messages, and messages without text and files."""
    author = message.from_user
    if author is None or author.is_bot or message.sender_chat is not None:  # a channel, or an admin who hides
        return None
    text, is_called = _extract_text(message, bot)
    replied_to = message.reply_to_message
    is_reply = replied_to is not None and replied_to.from_user is not None and replied_to.from_user.id == bot.id
    chat, reply_to = message.chat, ""
    if replied_to is not None and not replied_to.forum_topic_created:
        reply_to = build_message_id(chat.id, replied_to.message_id)
    inbound = Inbound(
        id=build_message_id(chat.id, message.message_id),
        place=_place_from_message(message),
        sender=Sender(id=str(author.id), name=author.full_name),
        text=text,
        at=message.date.timestamp(),
        reply_to=reply_to,
        mentioned=chat.type == Chat.PRIVATE or is_called or is_reply,
        named=is_called,
    )
    name = getattr(message.effective_attachment, "file_name", None)
    return await attach_files(inbound, (_fetch_file(one) for one in [message]), [name] if name else ())


def to_button_press(query: CallbackQuery | None) -> Inbound | None:
    """Maps a press of a button under one of our messages."""
    if query is None or query.message is None or not query.data or query.from_user.is_bot:
        return None
    message, label = query.message, query.data
    if isinstance(message, Message) and message.reply_markup is not None:
        labels = [one.text for row in message.reply_markup.inline_keyboard for one in row if one.callback_data == label]
        label = labels[0] if labels else label
    return Inbound(
        id=f"button/{query.id}",
        place=_place_from_message(message),
        sender=Sender(id=str(query.from_user.id), name=query.from_user.full_name),
        text=label,
        reply_to=build_message_id(message.chat.id, message.message_id),
        pressed=query.data,
    )


def _place_from_message(message: MaybeInaccessibleMessage) -> Place:
    """The place of a message; of a very old one Telegram sends only the chat."""
    chat = message.chat
    topic = message.message_thread_id if isinstance(message, Message) and message.is_topic_message else None
    return place_from_chat(chat.id, topic, chat.title or chat.full_name or "")


def _extract_text(message: Message, bot: Bot) -> tuple[str, bool]:
    """The text without the mention of the bot, and whether the bot was mentioned."""
    text, our_name, is_called = message.text or message.caption or "", f"@{bot.username}".lower(), False
    entities = message.parse_entities([MessageEntity.MENTION, MessageEntity.BOT_COMMAND])
    entities |= message.parse_caption_entities([MessageEntity.MENTION, MessageEntity.BOT_COMMAND])
    for entity, mention in entities.items():
        command, at, name = mention.partition("@")
        if entity.type == MessageEntity.BOT_COMMAND:
            is_called |= not at or f"@{name}".lower() == our_name
            text = text.replace(mention, command, 1) if f"@{name}".lower() == our_name else text
        elif mention.lower() == our_name:
            is_called, text = True, text.replace(mention, "", 1)
    return text.strip(), is_called


async def _fetch_file(message: Message) -> File | None:
    """The file of a message; None if it has none. SendRefused."""
    attachment = message.effective_attachment
    if isinstance(attachment, (tuple, list)):  # a picture in several sizes, the largest last
        attachment = attachment[-1]
    if attachment is None or not hasattr(attachment, "get_file"):
        return None
    try:
        file = await attachment.get_file()
        data = bytes(await file.download_as_bytearray())
    except (BadRequest, Forbidden, InvalidToken) as error:  # the library raises InvalidToken for any 404
        raise SendRefused(f"Telegram: {error.message}", kind="not_found") from None
    name = getattr(attachment, "file_name", None) or (file.file_path or "file").rpartition("/")[2]
    kind = getattr(attachment, "mime_type", None) or guess_type(name)[0] or "application/octet-stream"
    return File(name=name, media_type=kind, data=data)


def to_html(text: str) -> str:
    return render(text, _STYLE)


def _render_fence(text: str, language: str) -> str:
    if language:
        return f'<pre><code class="language-{escape(language)}">{escape_html(text)}</code></pre>'
    return f"<pre>{escape_html(text)}</pre>"


_STYLE = MarkupStyle(
    escape=escape_html,
    schemes=("http", "https", "tg", "mailto", "tel"),
    strong=("<b>", "</b>"),
    em=("<i>", "</i>"),
    strike=("<s>", "</s>"),
    code=lambda text: f"<code>{escape_html(text)}</code>",
    fence=_render_fence,
    link=lambda label, address: f'<a href="{escape(address)}">{label}</a>',
    quote=lambda text: f"<blockquote>{text}</blockquote>",
)
