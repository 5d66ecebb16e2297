"""The content of Matrix events: text, relations and replies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sojourn.core.places import Place
from sojourn.platforms.markdown import render_html

_MAX_TEXT_BYTES = 46_000  # the network accepts 65,536 for a whole event; encryption adds a third


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
    before = (event.get("unsigned") or {}).get("prev_content") or {}
    return is_ours and event["content"].get("membership") == "join" and before.get("membership") != "join"
