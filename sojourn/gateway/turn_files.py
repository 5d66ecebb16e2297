"""Files a turn has made: they stand in a message of the agent or of a tool, or a tool names one among its facts as
`attachment` (what `service.attach` gave it)."""

from __future__ import annotations

import json
from dataclasses import replace

from sojourn.core.attachments import Attachment, attachments_of
from sojourn.core.codec import decode_value
from sojourn.core.events import Progress, Yielded
from sojourn.core.messages import Message, parts_of, text_of
from sojourn.core.sessions import Recorded
from sojourn.gateway.payloads import ReplyTarget
from sojourn.gateway.render import file_line
from sojourn.ports.gateway_store import OutgoingDraft


def files_of(item: Yielded) -> tuple[Attachment, ...]:
    if isinstance(item, Message):
        return attachments_of(item) if item.role in ("assistant", "tool") else ()
    if isinstance(item, Progress) and item.stage == "tool":
        facts = item.detail.get("facts")
        named = facts.get("attachment") if isinstance(facts, dict) else None
        if isinstance(named, dict) and {"hash", "media_type"} <= named.keys():
            return (decode_value(Attachment, named),)
    return ()


def words_of(message: Message) -> str:
    """What a message says, without what is attached to it."""
    if not attachments_of(message):
        return text_of(message)
    words = [part for part in parts_of(message) if not (isinstance(part, dict) and part.get("type") == "attachment")]
    return text_of(replace(message, content=json.dumps(words, ensure_ascii=False)))


def file_drafts(kept: Recorded, to: ReplyTarget, handoff: str) -> list[OutgoingDraft]:
    """Each file as a message of its own."""
    return [
        to.draft(f"{kept.public_id}/file/{n}", file_line(file), handoff=handoff, reply_to="", file=file)
        for n, file in enumerate(files_of(kept.item))
    ]
