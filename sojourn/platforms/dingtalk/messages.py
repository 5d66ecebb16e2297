"""Maps DingTalk's frames and messages to places and inbound messages, and texts to its message bodies."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from sojourn.core.errors import BadInput
from sojourn.core.places import Place, Sender
from sojourn.platforms import card_buttons
from sojourn.platforms.dingtalk import NAME
from sojourn.platforms.json_values import parse_object, read_object, read_objects, read_text, read_time
from sojourn.ports.platform import Inbound

_GROUP = re.compile(r"cid[\w+/=-]{4,120}")
_PERSON = re.compile(r"[\w$:@+=.-]{1,128}")
_TITLE_CHARS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamFrame:
    """One frame of the stream."""

    type: str
    topic: str
    id: str  # the same when it is sent again
    data: dict[str, Any] = field(default_factory=dict)

    def to_reply(self, data: Mapping[str, Any], code: int = 200) -> dict[str, Any]:
        headers = {"messageId": self.id, "contentType": "application/json"}
        return {"code": code, "headers": headers, "message": "OK", "data": json.dumps(data)}


@dataclass(frozen=True, slots=True, kw_only=True)
class FileReference:
    """A file of a message, to be downloaded with its code."""

    code: str
    name: str = ""


def parse_frame(message: Mapping[str, Any]) -> StreamFrame:
    """Parses a frame; what is missing or of another type is empty."""
    headers = read_object(message, "headers")
    return StreamFrame(
        type=read_text(message, "type"),
        topic=read_text(headers, "topic"),
        id=read_text(headers, "messageId"),
        data=parse_object(message.get("data")),
    )


def place_from_chat(chat: str) -> Place:
    """Builds the place of a group (its conversation id, cid…) or of a person (their staff id). BadInput."""
    if _GROUP.fullmatch(chat):
        return Place(platform=NAME, chat=chat, kind="group")
    if not _PERSON.fullmatch(chat) or ".." in chat:
        hint = "Give a person's staff id, or a group's conversation id, which begins with cid."
        raise BadInput(f"{chat[:80]!r} is not a chat of DingTalk.", hint=hint)
    return Place(platform=NAME, chat=chat, kind="dm")


def to_inbound(data: Mapping[str, Any]) -> Inbound | None:
    """Maps a message, its files left out; None if it is not one of a person."""
    person, id = read_text(data, "senderStaffId") or read_text(data, "senderId"), read_text(data, "msgId")
    kind = read_text(data, "conversationType")
    chat = {"1": person, "2": read_text(data, "conversationId")}.get(kind, "")
    if not id or not person or not chat:
        return None
    try:
        place = place_from_chat(chat)
    except BadInput:
        return None
    if (place.kind == "group") != (kind == "2"):
        return None
    return Inbound(
        id=id,
        place=place,
        sender=Sender(id=person, name=read_text(data, "senderNick")),
        text=_read_text(data),
        at=read_time(data, "createAt", per_second=1000),
    )


def _read_text(data: Mapping[str, Any]) -> str:
    content = read_object(data, "content")
    match read_text(data, "msgtype"):
        case "text":
            return read_text(read_object(data, "text"), "content").strip()
        case "audio":
            return read_text(content, "recognition")
        case "richText":
            return "".join(read_text(one, "text") for one in read_objects(content, "richText")).strip()
        case _:
            return ""


def read_attachments(data: Mapping[str, Any]) -> list[FileReference]:
    """The files of a message. The words of a voice message are its text, so its sound is left out."""
    content = read_object(data, "content")
    match read_text(data, "msgtype"):
        case "picture" | "video" | "file":
            parts = [content]
        case "richText":
            parts = read_objects(content, "richText")
        case _:
            parts = []
    return [
        FileReference(code=code, name=read_text(one, "fileName"))
        for one in parts
        if (code := read_text(one, "downloadCode"))
    ]


def to_press(frame: StreamFrame, message_id: str) -> Inbound | None:
    """Maps a press of a button under one of our cards; its `value` is what `build_button_data` made."""
    private = read_object(parse_object(frame.data.get("content")), "cardPrivateData")
    button = parse_object(read_object(private, "params").get("value"))
    person = read_text(frame.data, "userId")
    return card_buttons.to_press(
        button, lambda chat, _: place_from_chat(chat), id=frame.id, person=person, question=message_id
    )


def build_message(text: str, *, plain: bool) -> tuple[str, dict[str, str]]:
    """The kind and the parameters of a message of the Open API."""
    if plain:
        return "sampleText", {"content": text}
    return "sampleMarkdown", {"title": build_title(text), "text": to_markdown(text)}


def build_session_message(text: str, *, plain: bool) -> dict[str, Any]:
    """The body of a message to a session webhook."""
    if plain:
        return {"msgtype": "text", "text": {"content": text}}
    return {"msgtype": "markdown", "markdown": {"title": build_title(text), "text": to_markdown(text)}}


def build_title(text: str) -> str:
    """The first words, as notifications show them."""
    words = " ".join(re.sub(r"[*_`#>\[\]]", "", text).split())
    return words[:_TITLE_CHARS].rstrip() or "Sojourn"


def to_markdown(text: str) -> str:
    """Marks line breaks as DingTalk needs them, with two spaces, except in code."""
    lines, is_code = list[str](), False
    for line in text.split("\n"):
        is_code = is_code != line.lstrip().startswith("```")
        lines.append(line if is_code or not line.strip() else f"{line}  ")
    return "\n".join(lines).removesuffix("  ")
