"""Maps activities of Teams to places and inbound messages, and texts and questions to activities."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.core.errors import BadInput
from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.platforms.json_values import parse_date, read_object, read_objects, read_text
from sojourn.platforms.teams import NAME
from sojourn.ports.platform import Button, Inbound

_CONVERSATION = re.compile(r"([\w:.@+=-]{1,200})(?:;messageid=(\d{1,30}))?", re.ASCII)
_CHANNEL = re.compile(r"19:[\w.-]+@thread\.(tacv2|skype)", re.ASCII)
_GROUP = re.compile(r"19:[\w.-]+@thread\.v2", re.ASCII)
_TYPES: Mapping[str, PlaceKind] = {"personal": "dm", "groupChat": "group", "channel": "channel"}
_BOT_PREFIX = "28:"  # of the ids of bots
_DOWNLOAD_TYPE = "application/vnd.microsoft.teams.file.download.info"
_CARD_TYPE = "application/vnd.microsoft.card.adaptive"
_SEPARATOR = "#"  # between conversation and message in an id: messages are numbered inside a conversation


@dataclass(frozen=True, slots=True, kw_only=True)
class AttachedFile:
    """A file of a message; `is_ours` if it takes the bot's token to fetch it."""

    url: str
    name: str
    is_ours: bool


def build_place(conversation: str, name: str = "") -> Place:
    """The place of a conversation; `;messageid=` and a number name a thread of a channel. BadInput."""
    found = _CONVERSATION.fullmatch(conversation)
    if found is None or ".." in conversation:
        hint = "Write the id of a conversation: /whoami in the chat shows it."
        raise BadInput(f"{conversation[:80]!r} is not a chat of Teams.", hint=hint)
    chat, thread = found[1], found[2]
    if _CHANNEL.fullmatch(chat):
        if thread:
            return Place(platform=NAME, chat=chat, kind="thread", thread=thread, parent=chat, name=name)
        return Place(platform=NAME, chat=chat, kind="channel", name=name)
    if thread:
        raise BadInput(f"{conversation[:80]!r} is not a chat of Teams.", hint="Only channels have threads.")
    return Place(platform=NAME, chat=chat, kind="group" if _GROUP.fullmatch(chat) else "dm", name=name)


def build_conversation(place: Place) -> str:
    """The id of a place's conversation."""
    return f"{place.chat};messageid={place.thread}" if place.thread else place.chat


def build_item_id(activity: Mapping[str, Any]) -> str:
    """The id of an activity, unique among all conversations; empty if it has none."""
    conversation, id = read_text(read_object(activity, "conversation"), "id"), read_text(activity, "id")
    return f"{conversation}{_SEPARATOR}{id}" if conversation and re.fullmatch(r"[\w:.|-]{1,200}", id, re.ASCII) else ""


def is_from_tenant(activity: Mapping[str, Any], tenant: str) -> bool:
    """Whether everything that names a tenant names this one, and something does."""
    data = read_object(read_object(activity, "channelData"), "tenant")
    named = [read_text(read_object(activity, "conversation"), "tenantId"), read_text(data, "id")]
    return {one for one in named if one} == {tenant}


def to_inbound(activity: Mapping[str, Any]) -> Inbound | None:
    """Maps a message, or the press of a button, its files left out; None for anything else, and for an empty one."""
    person, recipient = read_object(activity, "from"), read_text(read_object(activity, "recipient"), "id")
    conversation = read_object(activity, "conversation")
    sender = read_text(person, "aadObjectId") or read_text(person, "id")
    try:
        place = build_place(read_text(conversation, "id"), read_text(conversation, "name")[:100])
        build_place(sender)
        build_place(read_text(person, "id"))
    except BadInput:
        return None
    kind = "channel" if place.kind == "thread" else place.kind
    is_bot = read_text(person, "id").startswith(_BOT_PREFIX) or read_text(person, "role") == "bot"
    id = build_item_id(activity)
    if not id or is_bot or _TYPES.get(read_text(conversation, "conversationType")) != kind:
        return None
    mentions = [one for one in read_objects(activity, "entities") if one.get("type") == "mention"]
    ours = [read_text(one, "text") for one in mentions if read_text(read_object(one, "mentioned"), "id") == recipient]
    button = read_object(read_object(activity, "value"), "sojourn")
    text, pressed = _read_words(activity, ours), read_text(button, "value")
    if not text and not pressed and not read_files(activity):
        return None
    return Inbound(
        id=id,
        place=place,
        sender=Sender(id=sender, name=read_text(person, "name")[:100]),
        text=(read_text(button, "label") or pressed) if pressed else text,
        at=parse_date(read_text(activity, "timestamp")),
        reply_to=read_text(activity, "replyToId"),
        mentioned=place.kind == "dm" or bool(ours) or bool(pressed),
        named=None if place.kind == "dm" else bool(ours),
        pressed=pressed,
    )


def _read_words(activity: Mapping[str, Any], mentions: Sequence[str]) -> str:
    """The text without the mentions of us."""
    text = read_text(activity, "text").replace("&nbsp;", " ")
    for mention in filter(None, mentions):
        text = text.replace(mention, "")
    return text.strip()


def read_files(activity: Mapping[str, Any]) -> list[AttachedFile]:
    files = list[AttachedFile]()
    for one in read_objects(activity, "attachments"):
        kind, name = read_text(one, "contentType"), read_text(one, "name")[:200]
        if kind == _DOWNLOAD_TYPE and (url := read_text(read_object(one, "content"), "downloadUrl")):
            files.append(AttachedFile(url=url, name=name or "file", is_ours=False))
        elif kind.startswith("image/") and (url := read_text(one, "contentUrl")):
            files.append(AttachedFile(url=url, name=name or "image", is_ours=True))
    return files


def build_text(text: str, *, plain: bool) -> dict[str, Any]:
    return {"type": "message", "text": text, "textFormat": "plain" if plain else "markdown"}


def build_question(text: str, buttons: Sequence[Button], *, plain: bool) -> dict[str, Any]:
    """A card with a button for each answer. Plain text is in a block that knows no markup."""
    block: dict[str, Any] = {"type": "TextBlock", "text": text, "wrap": True}
    if plain:
        block = {"type": "RichTextBlock", "inlines": [{"type": "TextRun", "text": text}]}
    actions = [
        {"type": "Action.Submit", "title": one.label, "data": {"sojourn": {"value": one.value, "label": one.label}}}
        for one in buttons
    ]
    card = {
        "$schema": "http://adaptivecards.io/schemas/adaptive-card.json",
        "type": "AdaptiveCard",
        "version": "1.4",
        "body": [block],
        "actions": actions,
    }
    return {"type": "message", "attachments": [{"contentType": _CARD_TYPE, "content": card}]}


def read_message_number(id: str) -> str:
    """The number of a message, which our ids of inbound messages end in."""
    return id.rpartition(_SEPARATOR)[2]
