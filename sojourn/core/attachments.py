"""Attachments: files and pictures of a message, stored once by the hash of their bytes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass

from sojourn.core.messages import Message, parts_of, user


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """Name, media type, size and content hash of an attached file."""

    hash: str
    media_type: str
    name: str = ""
    size: int = 0


def user_message(text: str, attachments: tuple[Attachment, ...] = (), *, by: str = "") -> Message:
    """Builds a user message with attachments."""
    if not attachments:
        return user(text, by=by)
    shown = [{"type": "text", "text": text}, *({"type": "attachment", **asdict(one)} for one in attachments)]
    return Message(
        role="user",
        content=json.dumps(shown, ensure_ascii=False),
        structured=True,
        extra=json.dumps({"by": by}) if by else None,
    )


def attachments_of(message: Message) -> tuple[Attachment, ...]:
    """Lists the attachments of a message."""
    found = [part for part in parts_of(message) if isinstance(part, dict) and part.get("type") == "attachment"]
    return tuple(
        Attachment(
            hash=str(part.get("hash", "")),
            media_type=str(part.get("media_type", "application/octet-stream")),
            name=str(part.get("name", "")),
            size=int(part.get("size") or 0),
        )
        for part in found
    )
