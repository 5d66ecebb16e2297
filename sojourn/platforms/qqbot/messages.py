"""Maps QQ's events to places and inbound messages, and texts to its message bodies."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.core.errors import BadInput
from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.platforms import card_buttons
from sojourn.platforms.json_values import parse_date, parse_object, read_object, read_objects, read_text, to_json
from sojourn.platforms.qqbot import NAME
from sojourn.ports.platform import Button, Inbound

_CHAT = re.compile(r"(c2c|group|channel|dms):([A-Za-z0-9_-]{1,120})")
_KINDS: Mapping[str, PlaceKind] = {"c2c": "dm", "dms": "dm", "group": "group", "channel": "channel"}
_PATHS = {"c2c": "/v2/users/{}", "group": "/v2/groups/{}", "channel": "/channels/{}", "dms": "/dms/{}"}
_SENDERS = {"c2c": "user_openid", "group": "member_openid", "channel": "id", "dms": "id"}  # field of the author
_EVENTS = {
    "C2C_MESSAGE_CREATE": ("c2c", ""),
    "GROUP_AT_MESSAGE_CREATE": ("group", "group_openid"),
    "AT_MESSAGE_CREATE": ("channel", "channel_id"),
    "DIRECT_MESSAGE_CREATE": ("dms", "guild_id"),
}
_BUTTONS_PER_ROW = 5  # at most


@dataclass(frozen=True, slots=True, kw_only=True)
class FileLink:
    """A file of a message."""

    url: str
    name: str
    media_type: str


def build_place(chat: str) -> Place:
    """Builds the place of `c2c:…`, `group:…`, `channel:…` or `dms:…`. BadInput."""
    found = _CHAT.fullmatch(chat)
    if found is None:
        hint = "Write c2c: and a person's open id, group: and a group's open id, or channel: and a channel's id."
        raise BadInput(f"{chat[:80]!r} is not a chat of QQ.", hint=hint)
    return Place(platform=NAME, chat=chat, kind=_KINDS[found[1]])


def build_path(place: Place) -> str:
    """The path of a chat in the API."""
    kind, _, id = place.chat.partition(":")
    return _PATHS[kind].format(id)


def is_guild(place: Place) -> bool:
    """Whether it is in a guild, where messages have another form."""
    return place.chat.startswith(("channel:", "dms:"))


def to_inbound(event: str, data: Mapping[str, Any]) -> Inbound | None:
    """Maps a message of a person, its files left out; None for anything else."""
    kind, field = _EVENTS.get(event, ("", ""))
    author, id = read_object(data, "author"), read_text(data, "id")
    if not kind or not id or len(id) > 300 or author.get("bot") is True:
        return None
    person = read_text(author, _SENDERS[kind])
    try:
        place = build_place(f"{kind}:{read_text(data, field) if field else person}")
        build_place(f"c2c:{person}")
    except BadInput:
        return None
    sender = Sender(id=person, name=read_text(author, "username"))
    text = re.sub(r"<@!?\d+>", "", read_text(data, "content")) if kind == "channel" else read_text(data, "content")
    return Inbound(id=id, place=place, sender=sender, text=text.strip(), at=parse_date(read_text(data, "timestamp")))


def is_message(event: str, data: Mapping[str, Any]) -> bool:
    """Whether a person has written, or pressed a button."""
    return (to_press(data) if event == "INTERACTION_CREATE" else to_inbound(event, data)) is not None


def read_files(data: Mapping[str, Any]) -> list[FileLink]:
    return [
        FileLink(
            url=url if "://" in url else f"https://{url.removeprefix('//')}",
            name=read_text(one, "filename"),
            media_type=kind if "/" in (kind := read_text(one, "content_type")) else "",
        )
        for one in read_objects(data, "attachments")
        if (url := read_text(one, "url"))
    ]


def to_press(data: Mapping[str, Any]) -> Inbound | None:
    """Maps a press of a button; its data is what `build_keyboard` made."""
    resolved = read_object(read_object(data, "data"), "resolved")
    button, id = parse_object(resolved.get("button_data")), read_text(data, "id")
    fields = ("user_openid", "group_member_openid")
    person = next(filter(None, (read_text(data, one) for one in fields)), "") or read_text(resolved, "user_id")
    if not _CHAT.fullmatch(f"c2c:{person}"):
        return None
    question = read_text(button, "id")
    return card_buttons.to_press(button, lambda chat, _: build_place(chat), id=id, person=person, question=question)


def build_keyboard(place: Place, question: str, buttons: Sequence[Button]) -> dict[str, Any]:
    """Buttons, five in a row. Each brings back its place and its question: not every event names them."""
    shown = [
        {
            "id": str(n),
            "render_data": {"label": one.label, "visited_label": one.label, "style": 1},
            "action": {
                "type": 1,
                "permission": {"type": 2},
                "data": to_json(card_buttons.build_button_data(one, place, id=question)),
                "unsupport_tips": "Answer with a word.",
            },
        }
        for n, one in enumerate(buttons)
    ]
    rows = [shown[at : at + _BUTTONS_PER_ROW] for at in range(0, len(shown), _BUTTONS_PER_ROW)]
    return {"content": {"rows": [{"buttons": row} for row in rows]}}


def hide_mentions(text: str) -> str:
    """Keeps a text from calling people."""
    return re.sub(r"<(?=@|qqbot-at)|@(?=everyone)", lambda match: f"{match[0]}\u200b", text, flags=re.IGNORECASE)
