"""The content of Matrix events: text, relations and replies."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from nio import MatrixRoom

from sojourn.core.places import Place
from sojourn.platforms.json_values import read_object, read_text
from sojourn.platforms.markdown import render_html
from sojourn.ports.platform import File

_EVENT_ID = re.compile(r"\$(?!.*\.\.)[^\s\x00]{1,254}")
_MAX_TEXT_BYTES = 46_000  # the network accepts 65,536 for a whole event; encryption adds a third


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """What an event says about others; empty where it says nothing, or nothing that can be read."""

    replaces: bool
    thread: str  # its first message
    answers: str  # the message it is a reply to
    reply_to: str  # the same, unless only clients that know no threads shall take it for a reply


def read_relation(content: Mapping[str, Any]) -> Relation:
    """Reads a content with suspicion: its sender chooses all of it."""
    relation = read_object(content, "m.relates_to")
    kind, thread = relation.get("rel_type"), read_text(relation, "event_id")
    answers = read_text(read_object(relation, "m.in_reply_to"), "event_id")
    return Relation(
        replaces=kind == "m.replace",
        thread=thread if kind == "m.thread" and _EVENT_ID.fullmatch(thread) else "",
        answers=answers,
        reply_to="" if relation.get("is_falling_back") else answers,
    )


def is_mentioned(content: Mapping[str, Any], user: str) -> bool:
    """Whether a content names a user: in its list, or by the first part of the id in its text."""
    listed = read_object(content, "m.mentions").get("user_ids")
    name = user[1:].partition(":")[0].lower()
    return (isinstance(listed, list) and user in listed) or name in read_text(content, "body").lower()


def build_file(content: Mapping[str, Any], data: bytes, served_type: str) -> File:
    """The file of a message, as its sender and the server describe it."""
    media_type = read_text(read_object(content, "info"), "mimetype") or served_type or "application/octet-stream"
    name = read_text(content, "filename") or read_text(content, "body") or "file"
    return File(name=name, media_type=media_type, data=data)


def build_text_content(text: str, *, plain: bool) -> dict[str, Any]:
    content: dict[str, Any] = {"msgtype": "m.text", "body": text, "m.mentions": {}}  # nobody, not even with @room
    html = "" if plain else render_html(text)
    if html and len(json.dumps(html)) + len(json.dumps(text)) < _MAX_TEXT_BYTES:
        content |= {"format": "org.matrix.custom.html", "formatted_body": html}
    return content


def build_relation(place: Place, reply_to: str) -> dict[str, Any]:
    if place.thread:
        in_reply_to = {"event_id": reply_to or place.thread}
        relation = {"rel_type": "m.thread", "event_id": place.thread, "m.in_reply_to": in_reply_to}
        return {"m.relates_to": {**relation, "is_falling_back": not reply_to}}
    return {"m.relates_to": {"m.in_reply_to": {"event_id": reply_to}}} if reply_to else {}


def strip_reply_quote(body: str, in_reply_to: bool) -> str:
    """Removes the quoted message that clients put in front of a reply."""
    if not in_reply_to or not body.startswith("> "):
        return body
    lines = body.split("\n")
    while lines and lines[0].startswith(">"):
        del lines[0]
    return "\n".join(lines).strip()


def is_join(event: Mapping[str, Any], user: str) -> bool:
    is_ours = event.get("type") == "m.room.member" and event.get("state_key") == user
    now, before = read_object(event, "content"), read_object(read_object(event, "unsigned"), "prev_content")
    return is_ours and now.get("membership") == "join" and before.get("membership") != "join"


def is_private(room: MatrixRoom) -> bool:
    return bool(room.member_count <= 2)
