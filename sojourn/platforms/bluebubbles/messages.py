"""Maps messages of BlueBubbles to places and inbound messages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.core.errors import BadInput
from sojourn.core.places import Place, Sender
from sojourn.platforms.bluebubbles import NAME
from sojourn.platforms.json_values import read_object, read_objects, read_text, read_time
from sojourn.ports.platform import Inbound

_GUID = re.compile(r"[A-Za-z]{1,20};([-+]);(\S{1,200})")  # iMessage;-;+4917… or any;+;chat12…
_NUMBER = re.compile(r"\+[1-9][0-9]{5,14}")
_SHORT_NUMBER = re.compile(r"[0-9]{3,15}")
_MAIL = re.compile(r"[^\s@;]{1,100}@[^\s@;]{1,150}")
_GROUP = re.compile(r"chat[0-9A-Za-z]{3,100}")
_FILE_MARK = "\ufffc"  # stands in a text for a file
_GROUP_STYLE = 43  # a number of Apple; 45 is a chat with one person


@dataclass(frozen=True, slots=True, kw_only=True)
class ImessageRow:
    """A row of the Mac's database. `inbound` is None for what no person has written to us."""

    number: int
    inbound: Inbound | None
    guid: str = ""  # of the chat, as the Mac calls it now
    attachments: tuple[Mapping[str, Any], ...] = ()


def build_place(chat: str, name: str = "") -> Place:
    """Builds the place of a number, a mail address or a group, also from a chat's GUID. BadInput.

    A person can come under several GUIDs (iMessage, SMS, any), so the service is not part of it.
    """
    found = _GUID.fullmatch(chat)
    id = found[2] if found else chat
    if _GROUP.fullmatch(id) and (found is None or found[1] == "+"):
        return Place(platform=NAME, chat=id, kind="group", name=name)
    number = re.sub(r"[\s()/.-]", "", id)
    if _MAIL.fullmatch(id):
        return Place(platform=NAME, chat=id.lower(), name=name)
    if _NUMBER.fullmatch(number) or _SHORT_NUMBER.fullmatch(number):
        return Place(platform=NAME, chat=number, name=name)
    hint = "Write a number like +491701234567, a mail address, or a group's id, which begins with chat."
    raise BadInput(f"{chat[:80]!r} is not a chat of iMessage.", hint=hint)


def parse_row(message: Mapping[str, Any], mention_name: str) -> ImessageRow | None:
    """None if it has no number, so that reading could not go on behind it."""
    number = message.get("originalROWID")
    if not isinstance(number, int) or isinstance(number, bool) or not 0 < number < 2**63:
        return None
    chat = next(iter(read_objects(message, "chats")), {})
    inbound = _to_inbound(message, chat, mention_name)
    if inbound is None:
        return ImessageRow(number=number, inbound=None)
    files = [one for one in read_objects(message, "attachments") if read_text(one, "guid")]
    return ImessageRow(number=number, inbound=inbound, guid=read_text(chat, "guid"), attachments=tuple(files))


def _to_inbound(message: Mapping[str, Any], chat: Mapping[str, Any], mention_name: str) -> Inbound | None:
    """Leaves out our own messages, reactions, and changes of groups."""
    is_other = any(message.get(one) for one in ("isFromMe", "associatedMessageType", "itemType", "groupActionType"))
    guid, chat_guid = read_text(message, "guid"), read_text(chat, "guid")
    text = read_text(message, "text").replace(_FILE_MARK, "").strip()
    if is_other or not guid or len(guid) > 200 or not (text or read_objects(message, "attachments")):
        return None
    try:
        person = build_place(read_text(read_object(message, "handle"), "address")).chat
        place = build_place(chat_guid, read_text(chat, "displayName"))
    except BadInput:
        return None
    is_group = place.kind == "group" or chat.get("style") == _GROUP_STYLE
    if is_group != (place.kind == "group"):
        return None
    is_named = re.search(rf"\b{re.escape(mention_name)}\b", text, re.IGNORECASE) is not None
    return Inbound(
        id=guid,
        place=place if is_group else build_place(person),
        sender=Sender(id=person),
        text=text,
        at=read_time(message, "dateCreated", per_second=1000),
        reply_to=read_text(message, "threadOriginatorGuid"),
        mentioned=not is_group or is_named,
    )
