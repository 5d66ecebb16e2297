"""Maps Weixin's messages to places and inbound messages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sojourn.core.errors import BadInput
from sojourn.core.places import Place, Sender
from sojourn.platforms.json_values import read_object, read_objects, read_text, read_time
from sojourn.platforms.weixin import NAME
from sojourn.ports.platform import Inbound

_BOT = 2  # type of messages
_TEXT, _VOICE = 1, 3  # types of items
_PERSON = re.compile(r"[A-Za-z0-9_.-]{1,128}@im\.wechat")
_MAX_QUOTE_CHARS = 500


def build_place(person: str) -> Place:
    """BadInput."""
    if not _PERSON.fullmatch(person):
        hint = "Write a person's id, which ends in @im.wechat; /whoami in the chat shows it."
        raise BadInput(f"{person[:80]!r} is not a chat of Weixin.", hint=hint)
    return Place(platform=NAME, chat=person, kind="dm")


def to_inbound(message: Mapping[str, Any]) -> Inbound | None:
    """Maps a message of a person, its files left out; None for anything else. Its text may be empty."""
    if message.get("message_type") == _BOT or read_text(message, "group_id"):
        return None
    number = message.get("message_id")
    id = str(number) if isinstance(number, int) and not isinstance(number, bool) and number else ""
    id = id or read_text(message, "client_id")
    try:
        place = build_place(read_text(message, "from_user_id"))
    except BadInput:
        return None
    if not id or len(id) > 200:
        return None
    return Inbound(
        id=id,
        place=place,
        sender=Sender(id=place.chat),
        text="\n".join(filter(None, (_read_words(one) for one in read_objects(message, "item_list")))).strip(),
        at=read_time(message, "create_time_ms", per_second=1000),
    )


def _read_words(item: Mapping[str, Any]) -> str:
    """The text of an item, behind what it quotes; of a voice message, what Weixin recognised."""
    kind = item.get("type")
    if kind == _VOICE:
        return read_text(read_object(item, "voice_item"), "text")
    if kind != _TEXT:
        return ""
    quoted = read_object(item, "ref_msg")
    quote = read_text(quoted, "title") or read_text(
        read_object(read_object(quoted, "message_item"), "text_item"), "text"
    )
    lines = [f"> {line}" for line in quote[:_MAX_QUOTE_CHARS].splitlines()]
    return "\n".join([*lines, read_text(read_object(item, "text_item"), "text")])
