"""Signal's envelopes as the daemon reports them, and texts with ranges of formatting."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sojourn.platforms.json_values import read_object, read_objects, read_text
from sojourn.platforms.markdown import STAR_STYLE, render

_MENTION = "\N{OBJECT REPLACEMENT CHARACTER}"
_ACI = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_NUMBER = re.compile(r"\+[1-9][0-9]{4,17}")
_GROUP = re.compile(r"[A-Za-z0-9+/_-]{43}=")
_STYLES = {"\ue000": "BOLD", "\ue002": "ITALIC", "\ue004": "STRIKETHROUGH", "\ue006": "MONOSPACE"}
_MARKS = re.compile("[\ue000-\ue007]")  # of private use: a text that has them loses them
_MARKUP = replace(
    STAR_STYLE,
    schemes=(),
    strong=("\ue000", "\ue001"),
    em=("\ue002", "\ue003"),
    strike=("\ue004", "\ue005"),
    code=lambda text: f"\ue006{text}\ue007",
    fence=lambda text, _: f"\ue006{text}\ue007",
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


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**63 else 0


def parse_envelope(document: Any, *, own: frozenset[str]) -> Envelope | None:
    """Reads what somebody wrote; None for receipts, reactions, edits, deletions and changes of groups."""
    envelope = read_object(document, "envelope")
    sent = read_object(read_object(envelope, "syncMessage"), "sentMessage")
    data = sent or read_object(envelope, "dataMessage")
    group = read_object(data, "groupInfo")
    aci, number = read_text(envelope, "sourceUuid").lower(), read_text(envelope, "sourceNumber")
    author, timestamp = aci if _ACI.fullmatch(aci) else number, _number(data.get("timestamp"))
    group_id = read_text(group, "groupId")
    attachments = tuple(one for one in read_objects(data, "attachments") if read_text(one, "id"))
    is_other = any(data.get(one) for one in ("reaction", "remoteDelete", "editMessage", "isExpirationUpdate"))
    if not is_person(author) or not timestamp or is_other or group.get("type") == "UPDATE":
        return None
    if group and not is_group(group_id):
        return None
    mentions = read_objects(data, "mentions")
    text = insert_mentions(read_text(data, "message"), mentions, own)
    if not text and not attachments:
        return None
    quote = read_object(data, "quote")
    quoted = (read_text(quote, "authorUuid") or read_text(quote, "authorNumber"), _number(quote.get("id")))
    addresses = (read_text(sent, one) for one in ("destinationUuid", "destinationNumber", "destination"))
    return Envelope(
        author=author,
        number=number,
        name=read_text(envelope, "sourceName"),
        timestamp=timestamp,
        group=to_chat(group_id),
        group_name=read_text(group, "groupName"),
        to=frozenset(one for one in addresses if one) if sent else frozenset(),
        text=text,
        mentions=frozenset(read_text(one, key) for one in mentions for key in ("uuid", "number")) - {""},
        quoted=quoted if is_person(quoted[0]) and quoted[1] else None,
        attachments=() if data.get("viewOnce") else attachments,
    )


def insert_mentions(text: str, mentions: Sequence[Mapping[str, Any]], own: frozenset[str]) -> str:
    """Puts names where the text has placeholders, which are counted in UTF-16 units; our own mention is left out."""
    units = text.encode("utf-16-le", "surrogatepass")
    for one in sorted(mentions, key=lambda one: -_number(one.get("start"))):
        start = 2 * _number(one.get("start"))
        if units[start : start + 2] == _MENTION.encode("utf-16-le"):
            is_ours = bool({read_text(one, "uuid"), read_text(one, "number")} & own)
            name = "" if is_ours else f"@{read_text(one, 'name') or read_text(one, 'number') or 'somebody'}"
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
