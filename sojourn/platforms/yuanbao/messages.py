"""Maps what Yuanbao pushes to places and inbound messages, and texts and files to elements of its messages."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

from sojourn.core.errors import BadInput
from sojourn.core.places import Place, Sender
from sojourn.platforms.json_values import parse_object, read_object, read_objects, read_text, read_time
from sojourn.platforms.protobuf import MessageFields, encode_values
from sojourn.platforms.yuanbao import NAME
from sojourn.ports.platform import File, Inbound

_GROUP_PREFIX = "group:"
_ID = re.compile(r"[\w@.:+=-]{1,128}", re.ASCII)
_RECALLS = ("Group.CallbackAfterRecallMsg", "C2C.CallbackAfterMsgWithDraw")
_MENTION_TYPE = 1002  # of a custom element
_IMAGE_FORMATS = {"image/jpeg": 1, "image/gif": 2, "image/png": 3, "image/bmp": 4}
_OTHER_FORMAT = 255  # of images
_TEXT_FIELDS = {1: "callback_command", 2: "from_account", 4: "sender_nickname", 6: "group_code", 7: "group_name"}
_TEXT_FIELDS |= {11: "msg_key", 12: "msg_id", 14: "cloud_custom_data", 16: "bot_owner_id"}
_TEXT_FIELDS |= {19: "private_from_group_code"}
_CONTENT_FIELDS = {1: "text", 2: "uuid", 4: "data", 5: "desc", 10: "url", 12: "file_name"}


def decode_push(data: bytes) -> dict[str, Any]:
    """The message in a push: bare, in an envelope, or as JSON. Empty if there is none."""
    if data[:1] == b"{" and (document := parse_object(data.decode(errors="replace"))):
        return document
    try:
        message = MessageFields(data)
        if not message.list_bytes(13):
            message = MessageFields(message.get_bytes(4))
        return _to_document(message)
    except ValueError:
        return {}


def _to_document(message: MessageFields) -> dict[str, Any]:
    """The fields that we know, by the names they have in JSON."""
    document: dict[str, Any] = {name: message.get_text(number) for number, name in _TEXT_FIELDS.items()}
    document["msg_time"] = message.get_number(10)
    document["msg_body"] = [
        {"msg_type": one.get_text(1), "msg_content": _to_content(MessageFields(one.get_bytes(2)))}
        for one in message.list_messages(13)
    ]
    return document


def _to_content(content: MessageFields) -> dict[str, Any]:
    pictures = [{"type": one.get_number(1), "url": one.get_text(5)} for one in content.list_messages(8)]
    texts = {name: content.get_text(number) for number, name in _CONTENT_FIELDS.items()}
    return {**texts, "image_info_array": pictures}


def build_place(chat: str, *, is_group: bool, name: str = "") -> Place:
    """BadInput."""
    if not _ID.fullmatch(chat) or ".." in chat:
        hint = "Give a person's account, or group: and the code of a group; /whoami in the chat shows it."
        raise BadInput(f"{chat[:80]!r} is not a chat of Yuanbao.", hint=hint)
    return Place(platform=NAME, chat=chat, kind="group" if is_group else "dm", name=name)


def parse_chat(words: str) -> Place:
    """The place that `group:` and a code, or an account, name. BadInput."""
    return build_place(words.removeprefix(_GROUP_PREFIX), is_group=words.startswith(_GROUP_PREFIX))


def to_inbound(document: Mapping[str, Any], bot: str) -> Inbound | None:
    """Maps a message of a person, its files left out; None for anything else. Its text may be empty."""
    person, group = read_text(document, "from_account"), read_text(document, "group_code")
    id = read_text(document, "msg_id") or read_text(document, "msg_key")
    if document.get("callback_command") in _RECALLS or person == bot or not id or len(id) > 200:
        return None
    try:
        build_place(person, is_group=False)
        place = build_place(group or person, is_group=bool(group), name=read_text(document, "group_name")[:100])
    except BadInput:
        return None
    elements = read_objects(document, "msg_body")
    quote = read_object(parse_object(document.get("cloud_custom_data")), "quote")
    is_named = any(_read_mention(one) == bot for one in elements)
    return Inbound(
        id=id,
        place=place,
        sender=Sender(id=person, name=read_text(document, "sender_nickname")[:100]),
        text=" ".join(filter(None, (_read_words(one, bot).strip() for one in elements))),
        at=read_time(document, "msg_time"),
        reply_to=read_text(quote, "id"),
        mentioned=not group or is_named or read_text(quote, "sender_id") == bot,
        named=is_named if group else None,
    )


def _read_words(element: Mapping[str, Any], bot: str) -> str:
    """What an element says, or a word for what it is."""
    kind, content = read_text(element, "msg_type"), read_object(element, "msg_content")
    match kind:
        case "TIMTextElem":
            return read_text(content, "text")
        case "TIMFaceElem":
            return build_sticker_text(read_text(parse_object(content.get("data")), "name"))
        case "TIMCustomElem":
            return _read_custom_words(parse_object(content.get("data")), bot)
        case "TIMSoundElem" | "TIMVideoFileElem" | "TIMFileElem" | "TIMImageElem" if not read_file(element)[0]:
            word = {"TIMSoundElem": "voice message", "TIMVideoFileElem": "video", "TIMImageElem": "picture"}
            return f"[{word.get(kind, 'file')}]"
    return ""


def _read_custom_words(data: Mapping[str, Any], bot: str) -> str:
    match data.get("elem_type"):
        case 1002:  # a mention
            return "" if read_text(data, "user_id") == bot else read_text(data, "text")
        case 1010:  # a shared link
            names = ("title", "card_content", "wechat_des", "link")
            return "\n".join(filter(None, (read_text(data, name)[:1000] for name in names)))
        case 1007:  # a link inside
            return read_text(parse_object(data.get("content")), "link")
        case 1009:
            return "[forwarded messages, which cannot be read yet]"
    return ""


def _read_mention(element: Mapping[str, Any]) -> str:
    """Whom an element mentions; empty if nobody."""
    data = parse_object(read_object(element, "msg_content").get("data"))
    is_mention = element.get("msg_type") == "TIMCustomElem" and data.get("elem_type") == _MENTION_TYPE
    return read_text(data, "user_id") if is_mention else ""


def read_file(element: Mapping[str, Any]) -> tuple[str, str]:
    """The address and the name of an element's file, of a picture the original; empty if it has none."""
    kind, content = read_text(element, "msg_type"), read_object(element, "msg_content")
    if kind == "TIMImageElem":
        pictures = [one for one in read_objects(content, "image_info_array") if read_text(one, "url")]
        originals = [one for one in pictures if one.get("type") == 1] or pictures
        return (read_text(originals[0], "url"), "image.jpg") if originals else ("", "")
    names = {"TIMFileElem": "file", "TIMSoundElem": "voice", "TIMVideoFileElem": "video.mp4"}
    url = read_text(content, "url") if kind in names else ""
    return (url, (read_text(content, "file_name") or names[kind])[:200]) if url else ("", "")


def read_sticker(element: Mapping[str, Any]) -> tuple[str, str]:
    """The name and the data of a sticker; empty if it is none."""
    data = read_text(read_object(element, "msg_content"), "data") if element.get("msg_type") == "TIMFaceElem" else ""
    return read_text(parse_object(data), "name"), data


def build_sticker_text(name: str) -> str:
    return f"[sticker: {name}]" if name else "[sticker]"


def _build_element(kind: str, content: bytes) -> bytes:
    return encode_values({1: kind, 2: [content]})


def build_text(text: str) -> bytes:
    return _build_element("TIMTextElem", encode_values({1: text}))


def build_sticker(data: str) -> bytes:
    return _build_element("TIMFaceElem", encode_values({4: data}))


def build_file(file: File, url: str) -> bytes:
    """The element of a picture, or of any other file."""
    digest, size = hashlib.md5(file.data, usedforsecurity=False).hexdigest(), len(file.data)
    if file.media_type.startswith("image/"):
        form = _IMAGE_FORMATS.get(file.media_type, _OTHER_FORMAT)
        picture = encode_values({1: 1, 2: size, 5: url})
        return _build_element("TIMImageElem", encode_values({2: digest, 3: form, 8: [picture]}))
    return _build_element("TIMFileElem", encode_values({2: digest, 10: url, 11: size, 12: file.name or "file"}))
