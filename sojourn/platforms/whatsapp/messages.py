"""Maps WhatsApp's messages to places and inbound messages, and texts, files and questions to its bodies."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sojourn.core.errors import BadInput, SendRefused
from sojourn.core.places import Place, Sender
from sojourn.platforms.json_values import read_object, read_objects, read_text
from sojourn.platforms.markdown import STAR_STYLE, render, split_fences
from sojourn.platforms.whatsapp import NAME
from sojourn.ports.platform import Button, File, Inbound

_NUMBER = re.compile(r"[1-9][0-9]{5,17}")
_PERSON = re.compile(r"[A-Z]{2}\.[A-Za-z0-9]{6,128}")  # of people who hide their number
_GROUP = re.compile(r"group:[A-Za-z0-9_.=-]{4,200}")
_MEDIA_KINDS = ("image", "video", "audio", "document", "sticker")
_MAX_BUTTONS, _MAX_BUTTON_CHARS = 3, 20  # choices, and the length of each
_MAX_ROWS, _MAX_ROW_CHARS = 10, 24  # of a list
MAX_CHARS, MAX_QUESTION_CHARS = 4096, 1024
_MAX_PARAMETER_CHARS = 1000  # of a template's variable
_MEBIBYTE = 1024 * 1024  # bytes
_MAX_DOCUMENT_BYTES = 100 * _MEBIBYTE
_FILE_KINDS = {  # what is shown as itself; everything else is a document
    **dict.fromkeys(("image/jpeg", "image/png"), ("image", 5 * _MEBIBYTE)),
    **dict.fromkeys(("video/mp4", "video/3gpp"), ("video", 16 * _MEBIBYTE)),
    **dict.fromkeys(("audio/aac", "audio/amr", "audio/mpeg", "audio/mp4", "audio/ogg"), ("audio", 16 * _MEBIBYTE)),
}
_MARKUP = replace(STAR_STYLE, fence=lambda text, _: f"```{split_fences(text)}```")


@dataclass(frozen=True, slots=True, kw_only=True)
class WhatsappMessage:
    """A message of a person, as it came. `number` is empty for who hides it; `person` was not always given."""

    id: str
    number: str
    person: str
    name: str
    group: str
    at: float
    content: Mapping[str, Any]


def build_place(chat: str, name: str = "") -> Place:
    """Builds the place of a number, of a person's id, or of `group:…`. BadInput."""
    if _GROUP.fullmatch(chat):
        return Place(platform=NAME, chat=chat, kind="group", name=name)
    digits = re.sub(r"[\s()/.+-]", "", chat)
    if _PERSON.fullmatch(chat) or _NUMBER.fullmatch(digits):
        return Place(platform=NAME, chat=chat if _PERSON.fullmatch(chat) else digits, name=name)
    hint = "Write the number with its country code, for example +491701234567, or group: and a group's id."
    raise BadInput(f"{chat[:80]!r} is not a chat of WhatsApp.", hint=hint)


def read_changes(document: object, phone_number_id: str) -> Iterator[Mapping[str, Any]]:
    """What happened on our number; changes of other numbers are left out."""
    for entry in read_objects(document, "entry"):
        for change in read_objects(entry, "changes"):
            value = read_object(change, "value")
            is_ours = read_text(read_object(value, "metadata"), "phone_number_id") == phone_number_id
            if read_text(change, "field") == "messages" and is_ours:
                yield value


def read_received(value: Mapping[str, Any]) -> Iterator[WhatsappMessage]:
    """The messages of a change; those without an id, a sender or a time are left out."""
    contacts = {read_text(one, "wa_id") or read_text(one, "user_id"): one for one in read_objects(value, "contacts")}
    for content in read_objects(value, "messages"):
        id, number, stamp = (read_text(content, one) for one in ("id", "from", "timestamp"))
        contact = contacts.get(number) or contacts.get(read_text(content, "from_user_id")) or {}
        person = read_text(content, "from_user_id") or read_text(contact, "user_id")
        group = f"group:{read_text(content, 'group_id')}" if "group_id" in content else ""
        is_known = _NUMBER.fullmatch(number) or (not number and _PERSON.fullmatch(person))
        is_timed = stamp.isdecimal() and stamp.isascii() and len(stamp) < 12
        is_placed = not group or _GROUP.fullmatch(group)
        if not id or len(id) > 300 or not (is_known and is_timed and is_placed and _has_content(content)):
            continue
        yield WhatsappMessage(
            id=id,
            number=number,
            person=person if _PERSON.fullmatch(person) else "",
            name=read_text(read_object(contact, "profile"), "name"),
            group=group,
            at=float(stamp),
            content=content,
        )


def _has_content(content: Mapping[str, Any]) -> bool:
    """Whether a message has what its type promises."""
    kind = read_text(content, "type")
    if kind == "text":
        return bool(read_text(read_object(content, kind), "body"))
    return kind == "unsupported" or bool(read_object(content, kind) or read_objects(content, kind))


def to_inbound(message: WhatsappMessage, sender: str) -> Inbound | None:
    """Maps a message, without its file; None for reactions and what people do not write."""
    content, kind = message.content, read_text(message.content, "type")
    part, pressed = read_object(content, kind), ""
    match kind:
        case "text":
            text = read_text(part, "body")
        case "button":  # the quick reply of a template
            text = read_text(part, "text")
        case "interactive":
            answer = read_object(part, read_text(part, "type"))
            pressed, text = read_text(answer, "id"), read_text(answer, "title")
            if not pressed:
                return None
        case "location":
            text = _describe_location(part)
        case "contacts":
            text = "\n".join(filter(None, map(_describe_contact, read_objects(content, "contacts"))))
        case "unsupported":
            text = "[WhatsApp does not hand this kind of message on]"
        case _:
            text = read_text(part, "caption") if kind in _MEDIA_KINDS else ""
    if not text and not find_media(content):
        return None
    return Inbound(
        id=message.id,
        place=build_place(message.group or sender, message.name if not message.group else ""),
        sender=Sender(id=sender, name=message.name),
        text=text or pressed,
        at=message.at,
        reply_to=read_text(read_object(content, "context"), "id"),
        pressed=pressed,
    )


def _describe_location(part: Mapping[str, Any]) -> str:
    where = f"{part.get('latitude')}, {part.get('longitude')}"
    words = (read_text(part, "name"), read_text(part, "address"))
    is_known = all(isinstance(part.get(one), int | float) for one in ("latitude", "longitude"))
    return "Location: " + ", ".join(filter(None, (*words, where))) if is_known else ""


def _describe_contact(part: Mapping[str, Any]) -> str:
    numbers = [read_text(one, "phone") for one in read_objects(part, "phones")]
    words = ", ".join(filter(None, (read_text(read_object(part, "name"), "formatted_name"), *numbers)))
    return f"Contact: {words}" if words else ""


def find_media(content: Mapping[str, Any]) -> tuple[str, str] | None:
    """The id and the name of a message's file."""
    kind = read_text(content, "type")
    part = read_object(content, kind) if kind in _MEDIA_KINDS else {}
    media = read_text(part, "id")
    return (media, read_text(part, "filename") or kind) if media else None


def build_recipient(place: Place) -> dict[str, str]:
    if place.kind == "group":
        return {"recipient_type": "group", "to": place.chat.removeprefix("group:")}
    field = "recipient" if _PERSON.fullmatch(place.chat) else "to"
    return {"recipient_type": "individual", field: place.chat}


def build_text(text: str, *, plain: bool) -> dict[str, Any]:
    shown = text if plain else render(text, _MARKUP)
    shown = shown if len(shown) <= MAX_CHARS else text
    return {"type": "text", "text": {"body": shown, "preview_url": False}}


def choose_file_kind(file: File) -> str:
    """How WhatsApp shows a file. SendRefused if it takes none of this size."""
    kind, max_bytes = _FILE_KINDS.get(file.media_type, ("document", 0))
    if len(file.data) <= max_bytes:
        return kind
    if len(file.data) > _MAX_DOCUMENT_BYTES:
        raise SendRefused(f"WhatsApp takes files of at most {_MAX_DOCUMENT_BYTES // _MEBIBYTE} MB.", kind="too_long")
    return "document"


def build_file(kind: str, id: str, *, name: str, caption: str) -> dict[str, Any]:
    """The body of an uploaded file. Audio has no caption."""
    part = {"id": id} | ({"caption": caption} if caption and kind != "audio" else {})
    return {"type": kind, kind: part | ({"filename": name} if kind == "document" and name else {})}


def build_question(text: str, buttons: Sequence[Button]) -> dict[str, Any]:
    """A question with buttons; with a list where there are too many, or too long ones. SendRefused."""
    if len(buttons) > _MAX_ROWS:
        raise SendRefused(f"WhatsApp shows at most {_MAX_ROWS} choices.", kind="bad_format")
    body = {"text": text}
    if len(buttons) <= _MAX_BUTTONS and all(len(one.label) <= _MAX_BUTTON_CHARS for one in buttons):
        replies = [{"type": "reply", "reply": {"id": one.value, "title": one.label}} for one in buttons]
        return _wrap({"type": "button", "body": body, "action": {"buttons": replies}})
    rows = [
        {"id": one.value, "title": one.label[:_MAX_ROW_CHARS]}
        | ({"description": one.label[:72]} if len(one.label) > _MAX_ROW_CHARS else {})
        for one in buttons
    ]
    return _wrap({"type": "list", "body": body, "action": {"button": "Choose", "sections": [{"rows": rows}]}})


def _wrap(interactive: Mapping[str, Any]) -> dict[str, Any]:
    return {"type": "interactive", "interactive": interactive}


def build_templates(name: str, language: str, text: str) -> list[dict[str, Any]]:
    """A text as variables of a template, which take neither line breaks nor long ones."""
    line = re.sub(r" {4,}", "   ", re.sub(r"\s*[\r\n]+\s*", " · ", text.replace("\t", " ")).strip()) or "…"
    parts = [line[at : at + _MAX_PARAMETER_CHARS] for at in range(0, len(line), _MAX_PARAMETER_CHARS)]
    return [
        {
            "type": "template",
            "template": {
                "name": name,
                "language": {"code": language},
                "components": [{"type": "body", "parameters": [{"type": "text", "text": part}]}],
            },
        }
        for part in parts
    ]
