"""Signal's envelopes as the daemon reports them, and texts with ranges of formatting."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sojourn.platforms.markdown import MarkupStyle, render

_MENTION = "\N{OBJECT REPLACEMENT CHARACTER}"
_ACI = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NUMBER = re.compile(r"\+[1-9][0-9]{4,17}")
_GROUP = re.compile(r"[A-Za-z0-9+/_-]{43}=")
_STYLES = {"\ue000": "BOLD", "\ue002": "ITALIC", "\ue004": "STRIKETHROUGH", "\ue006": "MONOSPACE"}
_MARKS = re.compile("[\ue000-\ue007]")  # of private use: a text that has them loses them
_MARKUP = MarkupStyle(
    escape=lambda text: text,
    schemes=(),
    strong=("\ue000", "\ue001"),
    em=("\ue002", "\ue003"),
    strike=("\ue004", "\ue005"),
    code=lambda text: f"\ue006{text}\ue007",
    fence=lambda text, language: f"\ue006{text}\ue007",
    link=lambda label, address: address,
    quote=lambda text: "\n".join(f"> {line}" for line in text.splitlines()),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Envelope:
    """A message that somebody wrote."""

    author: str  # ACI, else number
    number: str
    name: str
    timestamp: int
    group: str  # as a place's chat; empty in a private chat
    group_name: str
    to: frozenset[str]  # whom a person's own message, written on another device, went to
    text: str
    mentions: frozenset[str]  # who is mentioned, by ACI and number
    quoted: tuple[str, int] | None  # author and timestamp
    attachments: tuple[Mapping[str, Any], ...]


def is_person(text: str) -> bool:
    return bool(_ACI.fullmatch(text) or _NUMBER.fullmatch(text))


def is_group(text: str) -> bool:
    return bool(_GROUP.fullmatch(text))


def to_chat(group: str) -> str:
    """The id of a group in an alphabet that a place's key can have."""
    return group.replace("+", "-").replace("/", "_")


def to_group_id(chat: str) -> str:
    return chat.replace("-", "+").replace("_", "/")


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**63 else 0


def parse_envelope(document: Any, *, own: frozenset[str]) -> Envelope | None:
    """Reads what somebody wrote; None for receipts, reactions, edits, deletions and changes of groups."""
    envelope = _mapping(_mapping(document).get("envelope"))
    sent = _mapping(_mapping(envelope.get("syncMessage")).get("sentMessage"))
    data = sent or _mapping(envelope.get("dataMessage"))
    group = _mapping(data.get("groupInfo"))
    aci, number = _text(envelope.get("sourceUuid")).lower(), _text(envelope.get("sourceNumber"))
    author, timestamp = aci if _ACI.fullmatch(aci) else number, _number(data.get("timestamp"))
    group_id = _text(group.get("groupId"))
    attachments = tuple(one for one in _list(data.get("attachments")) if _text(_mapping(one).get("id")))
    is_other = any(data.get(one) for one in ("reaction", "remoteDelete", "editMessage", "isExpirationUpdate"))
    if not is_person(author) or not timestamp or is_other or group.get("type") == "UPDATE":
        return None
    if group and not is_group(group_id):
        return None
    mentions = [_mapping(one) for one in _list(data.get("mentions"))]
    text = insert_mentions(_text(data.get("message")), mentions, own)
    if not text and not attachments:
        return None
    quote = _mapping(data.get("quote"))
    quoted = (_text(quote.get("authorUuid")) or _text(quote.get("authorNumber")), _number(quote.get("id")))
    addresses = (_text(sent.get(one)) for one in ("destinationUuid", "destinationNumber", "destination"))
    return Envelope(
        author=author,
        number=number,
        name=_text(envelope.get("sourceName")),
        timestamp=timestamp,
        group=to_chat(group_id),
        group_name=_text(group.get("groupName")),
        to=frozenset(one for one in addresses if one) if sent else frozenset(),
        text=text,
        mentions=frozenset(_text(one.get(key)) for one in mentions for key in ("uuid", "number")) - {""},
        quoted=quoted if is_person(quoted[0]) and quoted[1] else None,
        attachments=() if data.get("viewOnce") else attachments,
    )


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def insert_mentions(text: str, mentions: list[Mapping[str, Any]], own: frozenset[str]) -> str:
    """Puts names where the text has placeholders, which are counted in UTF-16 units; our own mention is left out."""
    units = text.encode("utf-16-le", "surrogatepass")
    for one in sorted(mentions, key=lambda one: -_number(one.get("start"))):
        start = 2 * _number(one.get("start"))
        if units[start : start + 2] == _MENTION.encode("utf-16-le"):
            is_ours = bool({_text(one.get("uuid")), _text(one.get("number"))} & own)
            name = "" if is_ours else f"@{_text(one.get('name')) or _text(one.get('number')) or 'somebody'}"
            units = units[:start] + name.encode("utf-16-le", "replace") + units[start + 2 :]
    return units.decode("utf-16-le", "replace").replace(_MENTION, "").strip()


def render_ranges(text: str) -> tuple[str, list[str]]:
    """Renders Markdown as plain text and ranges like `0:4:BOLD`, counted in UTF-16 units."""
    marked = render(_MARKS.sub("", text), _MARKUP)
    output, length, opened, ranges = list[str](), 0, dict[str, int](), list[str]()
    for char in marked:
        if char in _STYLES:
            opened[char] = length
        elif (start := chr(ord(char) - 1)) in _STYLES and _MARKS.fullmatch(char):
            if length > opened.get(start, length):
                ranges.append(f"{opened[start]}:{length - opened[start]}:{_STYLES[start]}")
        else:
            output.append(char)
            length += 2 if ord(char) > 0xFFFF else 1
    return "".join(output), ranges
