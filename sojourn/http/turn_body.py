"""The body of a request that starts a turn, and its conversion to a `TurnRequest`."""

from __future__ import annotations

import base64
import binascii
from typing import Annotated, Literal

from fastapi import Header
from pydantic import Field, StrictBool

from sojourn.core.attachments import Attachment
from sojourn.core.errors import BadInput
from sojourn.core.sessions import SessionId
from sojourn.http.schemas import StrictSchema
from sojourn.ports.service import Service, TurnRequest
from sojourn.ports.store import BlobStore

Word = Annotated[str, Field(max_length=200)]
Key = Annotated[
    str | None,
    Header(max_length=200, description="The same key in one session starts one turn, however often it is sent."),
]


class AttachmentBody(StrictSchema):
    """A file that goes with what is said: one that was uploaded to this session (`hash`), or its bytes (`data`)."""

    hash: str | None = Field(default=None, pattern="^[0-9a-f]{64}$", description="SHA-256 of its bytes.")
    data: str | None = Field(default=None, description="The bytes themselves, in base64.")
    media_type: str = Field(default="", max_length=201, description="For example image/png.")
    name: str = Field(default="", max_length=255)


class TurnBody(StrictSchema):
    """Something to say. What is left out is as the session has it, or the default."""

    message: str = Field(max_length=2_000_000)
    runtime: Word = ""
    model: Word = ""
    template: Word = Field(default="", description="A template's name; `none` for none.")
    attachments: list[AttachmentBody] = Field(default=[], max_length=50)
    drop: list[Word] = Field(default=[], max_length=50, description="Context sources or templates that are not wanted.")
    cwd: str = Field(default="", max_length=4096)
    when_busy: Literal["refuse", "wait"] = Field(default="refuse", description="`wait` queues behind a running turn.")
    internal: StrictBool = Field(default=False, description="An announcement, not a person's words.")

    def require_content(self) -> None:
        if not self.message.strip() and not self.attachments:
            raise BadInput("There is nothing to say.", hint="`message` needs at least one letter, or an attachment.")

    async def to_request(self, session: SessionId, key: str | None, service: Service, blobs: BlobStore) -> TurnRequest:
        attached = [await _to_attachment(one, session, service, blobs) for one in self.attachments]
        return TurnRequest(
            text=self.message,
            attachments=tuple(attached),
            runtime=self.runtime,
            model=self.model,
            template=self.template,
            drop=tuple(self.drop),
            key=key or "",
            internal=self.internal,
            cwd=self.cwd,
        )


async def _to_attachment(wanted: AttachmentBody, session: SessionId, service: Service, blobs: BlobStore) -> Attachment:
    if (wanted.hash is None) == (wanted.data is None):
        raise BadInput("An attachment has either `hash` or `data`.", hint="Upload it first, or send it as base64.")
    if wanted.hash is not None:
        data, kind = await blobs.get_blob(session, wanted.hash)
        return Attachment(hash=wanted.hash, media_type=kind, name=wanted.name, size=len(data))
    return await service.attach(
        session,
        decode_base64(wanted.data or ""),
        media_type=wanted.media_type or "application/octet-stream",
        name=wanted.name,
    )


def decode_base64(text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadInput(f"An attachment is not base64: {error}.", hint="Encode its bytes with base64.") from error
