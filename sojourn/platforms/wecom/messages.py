"""Maps WeCom's callbacks to places and inbound messages, and questions to its cards; decrypts its files."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sojourn.core.errors import BadInput, SendRefused
from sojourn.core.places import Place, Sender
from sojourn.platforms import card_buttons
from sojourn.platforms.json_values import parse_object, read_object, read_objects, read_text, read_time, to_json
from sojourn.platforms.wecom import NAME
from sojourn.ports.platform import Button, Inbound

CARD_PREFIX = "card/"
_GROUP_PREFIX = "group:"
_ID = re.compile(r"[\w@.-]{1,128}")
_MAX_BUTTONS = 6  # of a card


def build_place(chat: str, *, is_group: bool) -> Place:
    """BadInput."""
    if not _ID.fullmatch(chat) or ".." in chat:
        hint = "Give a person's user id, or group: and the chat id of a group."
        raise BadInput(f"{chat[:80]!r} is not a chat of WeCom.", hint=hint)
    return Place(platform=NAME, chat=chat, kind="group" if is_group else "dm")


def parse_chat(words: str) -> Place:
    """The place that `group:` and a chat id, or a user id, name. BadInput."""
    return build_place(words.removeprefix(_GROUP_PREFIX), is_group=words.startswith(_GROUP_PREFIX))


def read_place(body: Mapping[str, Any]) -> Place | None:
    """The place of a callback; None if it names none."""
    person, is_group = read_text(read_object(body, "from"), "userid"), body.get("chattype") == "group"
    try:
        build_place(person, is_group=False)
        return build_place(read_text(body, "chatid") if is_group else person, is_group=is_group)
    except BadInput:
        return None


def to_inbound(body: Mapping[str, Any], name: str) -> Inbound | None:
    """Maps a message, its files left out. `name` is the bot's, which is left out of the text."""
    place, id = read_place(body), read_text(body, "msgid")
    if place is None or not id or len(id) > 200:
        return None
    text = "\n".join(filter(None, (_read_words(one) for one in _list_parts(body)))).strip()
    if place.kind == "group" and name and re.match(rf"@{re.escape(name)}(\s|$)", text):
        text = text[len(name) + 1 :].strip()
    return Inbound(
        id=id,
        place=place,
        sender=Sender(id=read_text(read_object(body, "from"), "userid")),
        text=text,
        at=read_time(body, "create_time"),
    )


def _list_parts(body: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [*read_objects(read_object(body, "mixed"), "msg_item")] if body.get("msgtype") == "mixed" else [body]


def _read_words(part: Mapping[str, Any]) -> str:
    kind = read_text(part, "msgtype")
    return read_text(read_object(part, kind), "content") if kind in ("text", "voice") else ""


def read_media(body: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The files of a message: their addresses, and the keys that decrypt them."""
    pages = [read_object(part, read_text(part, "msgtype")) for part in _list_parts(body)]
    return [(url, read_text(one, "aeskey")) for one in pages if (url := read_text(one, "url"))]


def to_press(body: Mapping[str, Any]) -> tuple[Inbound, str] | None:
    """Maps a press of a button, and gives the id of its card's task; the key is what `build_card` made."""
    event = read_object(body, "event")
    card = read_object(event, "template_card_event")
    button, task = parse_object(card.get("event_key")), read_text(card, "task_id")
    if event.get("eventtype") != "template_card_event" or not task or read_place(body) is None:
        return None
    id, person = read_text(body, "msgid"), read_text(read_object(body, "from"), "userid")
    press = card_buttons.to_press(
        button, lambda chat, _: parse_chat(chat), id=id, person=person, question=f"{CARD_PREFIX}{task}"
    )
    return (press, task) if press is not None else None


def build_card(text: str, task: str, place: Place, buttons: Sequence[Button]) -> dict[str, Any]:
    """A card with buttons, which bring back their place. SendRefused."""
    if len(buttons) > _MAX_BUTTONS:
        raise SendRefused(f"WeCom shows at most {_MAX_BUTTONS} buttons.", kind="bad_format")
    chat = f"{_GROUP_PREFIX if place.kind == 'group' else ''}{place.chat}"
    keys = [to_json(card_buttons.build_button_data(one, place, chat=chat)) for one in buttons]
    return {
        "card_type": "button_interaction",
        "main_title": {"title": "Sojourn"},
        "sub_title_text": text,
        "button_list": [{"text": one.label, "style": 1, "key": key} for one, key in zip(buttons, keys, strict=True)],
        "task_id": task,
    }


def build_settled_card(text: str, task: str) -> dict[str, Any]:
    """The card that replaces one with buttons."""
    return {
        "card_type": "text_notice",
        "main_title": {"title": "Sojourn"},
        "sub_title_text": text,
        "card_action": {"type": 1, "url": "https://work.weixin.qq.com"},  # WeCom wants one
        "task_id": task,
    }


def hide_mentions(text: str) -> str:
    """Keeps a text from calling people: WeCom reads <@name> in Markdown."""
    return text.replace("<@", "<\u200b@")
