"""Attachment files: stores a file with a session, within a size, its name redacted and its secrets marked."""

from __future__ import annotations

import asyncio

from sojourn.core.attachments import Attachment
from sojourn.core.errors import BadInput
from sojourn.core.sessions import SessionId
from sojourn.ports.app import HasStore
from sojourn.text.redaction import holds_secrets, redact

MAX_ATTACHMENT_BYTES = 50_000_000


async def save_attachment(
    app: HasStore, session: SessionId, data: bytes, *, media_type: str, name: str = ""
) -> Attachment:
    """Stores a file. BadInput if it is too large."""
    if len(data) > MAX_ATTACHMENT_BYTES:
        raise BadInput(
            f"{name or 'The attachment'} has {len(data):,} bytes.",
            hint=f"At most {MAX_ATTACHMENT_BYTES:,} can be attached.",
        )
    name = redact(name) if app.settings["redact"] else name
    hash = await app.store.put_blob(session, data, media_type=media_type, name=name)
    marked = await asyncio.to_thread(holds_secrets, data)
    return Attachment(hash=hash, media_type=media_type, name=name, size=len(data), holds_secrets=marked)
