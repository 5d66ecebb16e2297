"""Attachments of a session: files of its messages, and observations that runtimes recorded about their work."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace

from sojourn.core.messages import Json, Message, parts_of, user

OBSERVATION = "observation"  # the kind of the records that hold observations, under `<session>/<turn>/<number>`


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """Name, media type, size and content hash of an attached file."""

    hash: str
    media_type: str
    name: str = ""
    size: int = 0
    holds_secrets: bool = False  # it is text with secrets, and stored as it is


def user_message(text: str, attachments: tuple[Attachment, ...] = (), *, by: str = "") -> Message:
    """Builds a user message with attachments."""
    if not attachments:
        return user(text, by=by)
    parts = [{"type": "text", "text": text}, *map(_to_part, attachments)]
    return replace(user(text, by=by), content=json.dumps(parts, ensure_ascii=False), structured=True)


def _to_part(one: Attachment) -> dict[str, Json]:
    part = {"type": "attachment", **asdict(one)}
    return part if one.holds_secrets else {name: value for name, value in part.items() if name != "holds_secrets"}


def attachments_of(message: Message) -> tuple[Attachment, ...]:
    """Lists the attachments of a message."""
    parts = [part for part in parts_of(message) if isinstance(part, dict) and part.get("type") == "attachment"]
    return tuple(
        Attachment(
            hash=str(part.get("hash", "")),
            media_type=str(part.get("media_type", "application/octet-stream")),
            name=str(part.get("name", "")),
            size=int(part.get("size") or 0),
            holds_secrets=part.get("holds_secrets") is True,
        )
        for part in parts
    )
