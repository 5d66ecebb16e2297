"""XMPP stanzas: reads messages, and builds those we send."""

from __future__ import annotations

import hashlib
import logging
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import quote, unquote
from xml.etree import ElementTree

from slixmpp.jid import JID, InvalidJID
from slixmpp.xmlstream import StanzaBase

from sojourn.core.errors import Refusal, SendRefused
from sojourn.platforms.json_values import parse_date

Element: TypeAlias = "ElementTree.Element[str]"

CLIENT = "{jabber:client}"
CORRECTION = "{urn:xmpp:message-correct:0}replace"
DELAY = "{urn:xmpp:delay}delay"
ENCRYPTED = "{eu.siacs.conversations.axolotl}encrypted"
FALLBACK = "{urn:xmpp:fallback:0}fallback"
LINK = "{jabber:x:oob}x"
MAM = "urn:xmpp:mam:2"
ORIGIN_ID = "{urn:xmpp:sid:0}origin-id"
PAGES = "{http://jabber.org/protocol/rsm}set"
REACTIONS = "{urn:xmpp:reactions:0}reactions"
REPLY = "{urn:xmpp:reply:0}reply"
ROOM_USER = "{http://jabber.org/protocol/muc#user}"
STANZA_ID = "{urn:xmpp:sid:0}stanza-id"

_MAX_ID_CHARS = 200
_INVALID_CHARS = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # XML cannot carry them
_CONDITIONS: Mapping[Refusal, str] = {
    "not_found": "service-unavailable item-not-found recipient-unavailable gone jid-malformed",
    "forbidden": "not-allowed not-acceptable forbidden not-authorized registration-required subscription-required",
    "transient": "remote-server-not-found remote-server-timeout internal-server-error",
    "rate_limited": "resource-constraint policy-violation",
    "bad_format": "bad-request",
}
_KINDS = {condition: kind for kind, conditions in _CONDITIONS.items() for condition in conditions.split()}

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatMessage:
    """A message that somebody wrote. `archive_id` is empty if the server does not archive it."""

    sender: JID
    is_group: bool
    text: str
    archive_id: str
    origin_id: str  # the sender's
    at: float
    reply_to: str  # the id of another message, and whose it is
    reply_author: str
    link: str  # of a file
    author: str  # the bare address that the archive of a room names as the author

    @property
    def chat(self) -> str:
        return str(self.sender.bare)

    @property
    def id(self) -> str:
        archive_id = self.archive_id
        if not archive_id:
            whole = "\0".join((str(self.sender), self.origin_id, self.text, str(self.at)))
            archive_id = f"heard-{hashlib.sha256(whole.encode()).hexdigest()[:24]}"
        return build_message_id(archive_id, self.origin_id)


def build_message_id(archive_id: str, origin_id: str) -> str:
    """Rooms refer to a message by its archive id, people by the sender's."""
    return f"{quote(archive_id, safe='')}/{origin_id}"


def parse_message_id(id: str) -> tuple[str, str]:
    archive_id, _, origin_id = id.partition("/")
    return unquote(archive_id), origin_id


def parse_jid(text: str) -> JID | None:
    """None for what is not the address of an account or a room, or cannot be part of a place's key."""
    try:
        jid = JID(text)
    except (InvalidJID, ValueError):
        return None
    return jid if jid.user and jid.domain and ".." not in jid.bare and "/" not in jid.bare else None


def find_text(xml: Element, path: str) -> str:
    found = xml.find(path)
    return (found.text or "") if found is not None else ""


def parse_message(xml: Element, *, archive_id: str = "", archive: str = "", at: float = 0.0) -> ChatMessage | None:
    """Reads a message with a text; None for corrections, encrypted ones, receipts and errors. `archive` is the
    bare address of our account: only it and a room itself may name an archive id."""
    sender, kind, body = parse_jid(xml.get("from", "")), xml.get("type", "normal"), find_text(xml, f"{CLIENT}body")
    if sender is None or kind not in ("chat", "groupchat", "normal") or not body or xml.find(CORRECTION) is not None:
        return None
    if xml.find(ENCRYPTED) is not None:
        logger.warning("an encrypted message from %s was not read; encryption (OMEMO) is not supported", sender.bare)
        return None
    is_group = kind == "groupchat"
    keeper = str(sender.bare) if is_group else archive
    for one in xml.findall(STANZA_ID):
        if not archive_id and one.get("by") == keeper:
            archive_id = one.get("id", "")[:_MAX_ID_CHARS]
    stamp, reply, origin = xml.find(DELAY), xml.find(REPLY), xml.find(ORIGIN_ID)
    authors = [one.get("jid", "") for one in xml.findall(f"{ROOM_USER}x/{ROOM_USER}item")]
    author = parse_jid(authors[0]) if len(authors) == 1 else None
    return ChatMessage(
        sender=sender,
        is_group=is_group,
        text=_strip_quote(xml, body) if reply is not None else body,
        archive_id=archive_id,
        origin_id=_short((origin.get("id") if origin is not None and not is_group else "") or xml.get("id")),
        at=at or parse_date(stamp.get("stamp", "") if stamp is not None else ""),
        reply_to=_short(reply.get("id")) if reply is not None else "",
        reply_author=_short(reply.get("to")) if reply is not None else "",
        link=find_text(xml, f"{LINK}/{{jabber:x:oob}}url").strip(),
        author=str(author.bare) if author is not None else "",
    )


def _short(id: str | None) -> str:
    return id if id and len(id) <= _MAX_ID_CHARS else ""


def _strip_quote(xml: Element, body: str) -> str:
    """The text of a reply without the quote for clients that do not show replies."""
    for one in xml.findall(FALLBACK):
        part = one.find("{urn:xmpp:fallback:0}body")
        if one.get("for") != "urn:xmpp:reply:0" or part is None:
            continue
        start, end = part.get("start", ""), part.get("end", "")
        if start.isdecimal() and end.isdecimal() and len(start + end) < 12 and int(start) <= int(end) <= len(body):
            return (body[: int(start)] + body[int(end) :]) or body
    return body


def to_send_refused(stanza: StanzaBase) -> SendRefused:
    """What a server says of something that it does not take."""
    condition = str(stanza["error"]["condition"] or "undefined-condition")
    text = " ".join(stanza["error"]["text"].split())[:200].rstrip(".")
    why = f"{condition} ({text})" if text else condition
    return SendRefused(f"The server says: {why}.", kind=_KINDS.get(condition, "unknown"))


def build(tag: str, text: str = "", /, *children: Element, **attributes: str) -> Element:
    """An element; `tag` is in the form {namespace}name."""
    made = ElementTree.Element(tag, attributes)
    made.text = _INVALID_CHARS.sub("\N{REPLACEMENT CHARACTER}", text) or None
    made.extend(children)
    return made
