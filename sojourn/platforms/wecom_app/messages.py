"""Maps what members of a company write to an app, and questions to WeCom's cards."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sojourn.core.errors import BadInput, SendRefused
from sojourn.core.places import Place, Sender
from sojourn.platforms.json_values import parse_object, read_text, read_time, to_json
from sojourn.platforms.wecom.messages import hide_mentions
from sojourn.platforms.wecom_app import NAME
from sojourn.ports.platform import Button, Inbound

MEDIA_KINDS = ("image", "voice", "video", "file")
MAX_CARD_CHARS = 110  # of the text on a card
_PERSON = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_MAX_BUTTONS = 6  # on a card


def build_place(chat: str) -> Place:
    """Builds the place of a member's user id. BadInput."""
    if _PERSON.fullmatch(chat) is None or ".." in chat:
        hint = "Give a member's user id, as the WeCom console shows it under Contacts."
        raise BadInput(f"{chat[:80]!r} is not a member of the company.", hint=hint)
    return Place(platform=NAME, chat=chat)


def build_id(fields: Mapping[str, str]) -> str:
    """What makes a repeated callback the same."""
    if fields.get("MsgId"):
        return fields["MsgId"]
    return ":".join(fields.get(one, "") for one in ("FromUserName", "CreateTime", "Event", "TaskId", "ResponseCode"))


def to_inbound(fields: Mapping[str, str]) -> Inbound | None:
    """Maps a message without its file, or a press; None for anything else that happens."""
    try:
        place = build_place(fields.get("FromUserName", ""))
    except BadInput:
        return None
    id, sender, at = build_id(fields), Sender(id=place.chat), read_time(fields, "CreateTime")
    if fields.get("MsgType") == "event":
        button = parse_object(fields.get("EventKey", ""))
        value, question = read_text(button, "value"), fields.get("TaskId", "")
        if fields.get("Event") != "template_card_event" or not value or not question:
            return None
        text = read_text(button, "label") or value
        return Inbound(id=id, place=place, sender=sender, text=text, at=at, reply_to=question, pressed=value)
    text = _read_text(fields)
    if not fields.get("MsgId") or not (text or find_media(fields)):
        return None
    return Inbound(id=id, place=place, sender=sender, text=text, at=at)


def _read_text(fields: Mapping[str, str]) -> str:
    match fields.get("MsgType"):
        case "text":
            return fields.get("Content", "")
        case "location":
            words = (fields.get("Label", ""), fields.get("Location_X", ""), fields.get("Location_Y", ""))
            return "Location: " + ", ".join(filter(None, words))
        case "link":
            return "\n".join(filter(None, (fields.get(one, "") for one in ("Title", "Description", "Url"))))
        case _:
            return ""


def find_media(fields: Mapping[str, str]) -> str:
    """What names the file of a message."""
    return fields.get("MediaId", "") if fields.get("MsgType") in MEDIA_KINDS else ""


def build_text(text: str, *, plain: bool) -> dict[str, Any]:
    kind = "text" if plain else "markdown"
    return {"msgtype": kind, kind: {"content": text if plain else hide_mentions(text)}}


def build_card(question: str, text: str, buttons: Sequence[Button]) -> dict[str, Any]:
    """A card with buttons; each brings back its value and its label. SendRefused if there are too many."""
    if len(buttons) > _MAX_BUTTONS:
        raise SendRefused(f"WeCom shows at most {_MAX_BUTTONS} buttons.", kind="bad_format")
    shown = [{"text": one.label, "key": to_json({"value": one.value, "label": one.label})} for one in buttons]
    card = {
        "card_type": "button_interaction",
        "main_title": {"title": "Question"},
        "sub_title_text": text,
        "task_id": question,
        "button_list": shown,
    }
    return {"msgtype": "template_card", "template_card": card}
