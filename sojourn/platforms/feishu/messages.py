"""Maps Feishu's events to places and inbound messages, and texts to its message bodies and cards."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.core.errors import BadInput
from sojourn.core.places import Place, Sender
from sojourn.platforms import card_buttons
from sojourn.platforms.feishu import NAME
from sojourn.platforms.json_values import parse_object, read_object, read_objects, read_text, read_time
from sojourn.ports.platform import Button, Inbound

CARD_PREFIX = "card/"  # of the ids of our cards, which are edited in another way
_ID = re.compile(r"[A-Za-z0-9_-]{1,120}")
_FENCE = re.compile(r"(^```.*?^```[^\n]*$)", re.DOTALL | re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """A file of a message."""

    key: str
    kind: str  # image or file
    name: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedMessage:
    """A message as it came in: without its files, but with what is needed to fetch them."""

    inbound: Inbound
    resources: tuple[Resource, ...] = ()
    root: str = ""  # the first message of its thread


def build_place(chat: str, thread: str = "") -> Place:
    """Builds the place of a person (ou_…) or a group (oc_…), or of a thread there. BadInput."""
    if not _ID.fullmatch(chat) or not chat.startswith(("ou_", "oc_")) or (thread and not _ID.fullmatch(thread)):
        hint = "Give a person's open id, which begins with ou_, or a group's chat id, which begins with oc_."
        raise BadInput(f"{chat[:80]!r} is not a chat of Feishu.", hint=hint)
    if chat.startswith("ou_"):
        return Place(platform=NAME, chat=chat, kind="dm", thread=thread or None)
    if thread:
        return Place(platform=NAME, chat=chat, kind="thread", thread=thread, parent=chat)
    return Place(platform=NAME, chat=chat, kind="group")


def to_received(event: Mapping[str, Any], bot: str) -> ReceivedMessage | None:
    """Maps a message of a person; None for anything else. `bot` is our open id."""
    sender, message = read_object(event, "sender"), read_object(event, "message")
    if sender.get("sender_type") != "user":
        return None
    person, id = read_text(sender.get("sender_id"), "open_id"), read_text(message, "message_id")
    kind, content = read_text(message, "chat_type"), parse_object(message.get("content"))
    chat = {"p2p": person, "group": read_text(message, "chat_id")}.get(kind, "")
    if not _ID.fullmatch(id) or not person.startswith("ou_") or person == bot:
        return None
    try:
        place = build_place(chat, read_text(message, "thread_id"))
        build_place(person)
    except BadInput:
        return None
    mentions = [one for one in read_objects(message, "mentions") if read_text(one, "key")]
    text, resources = _read_content(read_text(message, "message_type"), content)
    inbound = Inbound(
        id=id,
        place=place,
        sender=Sender(id=person),
        text=_replace_mentions(text, mentions, bot).strip(),
        at=read_time(message, "create_time", per_second=1000),
        reply_to=read_text(message, "parent_id"),
        mentioned=kind == "p2p" or any(read_text(one.get("id"), "open_id") == bot for one in mentions),
    )
    return ReceivedMessage(inbound=inbound, resources=tuple(resources), root=read_text(message, "root_id"))


def _replace_mentions(text: str, mentions: Sequence[Mapping[str, Any]], bot: str) -> str:
    """Writes names for the keys of mentions; our own is left out."""
    names = {
        read_text(one, "key"): "" if read_text(one.get("id"), "open_id") == bot else f"@{read_text(one, 'name')}"
        for one in mentions
    }
    return re.sub(r"@_user_\d+", lambda match: names.get(match[0], match[0]), text).replace("@_all", "@all")


def _read_content(kind: str, content: Mapping[str, Any]) -> tuple[str, list[Resource]]:
    match kind:
        case "text":
            return read_text(content, "text"), []
        case "post":
            return _read_post(content)
        case "image":
            return "", _build_resources("image", read_text(content, "image_key"))
        case "file" | "audio" | "media":
            return "", _build_resources("file", read_text(content, "file_key"), read_text(content, "file_name"))
        case _:
            return "", []


def _build_resources(kind: str, key: str, name: str = "") -> list[Resource]:
    return [Resource(kind=kind, key=key, name=name)] if _ID.fullmatch(key) else []


def _read_post(content: Mapping[str, Any]) -> tuple[str, list[Resource]]:
    """The text and the pictures of a rich text."""
    lines, resources = [read_text(content, "title")], list[Resource]()
    rows = content.get("content")
    for row in rows if isinstance(rows, list) else ():
        words = list[str]()
        for part in row if isinstance(row, list) else ():
            match read_text(part, "tag"):
                case "img":
                    resources += _build_resources("image", read_text(part, "image_key"))
                case "media":
                    resources += _build_resources("file", read_text(part, "file_key"))
                case "a":
                    words.append(f"[{read_text(part, 'text')}]({read_text(part, 'href')})")
                case "at":
                    words.append(read_text(part, "user_id"))
                case _:
                    words.append(read_text(part, "text"))
        lines.append("".join(words))
    return "\n".join(lines).strip(), resources


def to_press(event: Mapping[str, Any], id: str) -> Inbound | None:
    """Maps a press of a button under one of our cards; its value is what `build_card` made."""
    button = read_object(read_object(event, "action"), "value")
    person, card = read_text(event.get("operator"), "open_id"), read_text(event.get("context"), "open_message_id")
    if not card or not person.startswith("ou_") or not _ID.fullmatch(person):
        return None
    return card_buttons.to_press(button, build_place, id=id, person=person, question=f"{CARD_PREFIX}{card}")


def build_text(text: str, *, plain: bool) -> tuple[str, dict[str, Any]]:
    """The kind and the content of a message. Code has a row of its own."""
    text = hide_mentions(text)
    if plain:
        return "text", {"text": text}
    rows = [[{"tag": "md", "text": piece.strip("\n")}] for piece in _FENCE.split(text) if piece.strip()]
    return "post", {"zh_cn": {"title": "", "content": rows or [[{"tag": "md", "text": text}]]}}


def build_picture(key: str, caption: str) -> dict[str, Any]:
    """The content of a rich text with a picture."""
    rows: list[list[dict[str, Any]]] = [[{"tag": "img", "image_key": key}]]
    rows += [[{"tag": "md", "text": hide_mentions(caption)}]] if caption else []
    return {"zh_cn": {"title": "", "content": rows}}


def build_card(text: str, place: Place, buttons: Sequence[Button], *, plain: bool) -> dict[str, Any]:
    """A card with buttons. A button brings back its place: the event does not say whether it is a thread."""
    text = hide_mentions(text)
    shown = {"tag": "div", "text": {"tag": "plain_text", "content": text}}
    elements: list[dict[str, Any]] = [shown if plain else {"tag": "markdown", "content": text}]
    actions = [
        {
            "tag": "button",
            "text": {"tag": "plain_text", "content": one.label},
            "value": card_buttons.build_button_data(one, place),
        }
        for one in buttons
    ]
    elements += [{"tag": "action", "actions": actions}] if actions else []
    return {"config": {"wide_screen_mode": True, "update_multi": True}, "elements": elements}


def hide_mentions(text: str) -> str:
    """Keeps a text from calling people: Feishu reads <at …> even in plain text."""
    return re.sub(r"<(?=\s*at\b)", "<\u200b", text, flags=re.IGNORECASE)
