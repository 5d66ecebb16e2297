"""Files and pictures of a session, by the hash of their bytes."""

from __future__ import annotations

import re
import unicodedata
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Path, Query, Request, Response
from pydantic import BaseModel, Field
from starlette.datastructures import UploadFile

from sojourn.core.attachments import OBSERVATION
from sojourn.core.errors import BadInput
from sojourn.http.dependencies import ExactSession, ResolvedSession, ServiceDep, StoreDep, problem_responses
from sojourn.http.json_safe import JsonSafe, Text
from sojourn.http.schemas import AttributeSchema
from sojourn.text.export import list_attachments

router = APIRouter(prefix="/api/sessions/{id}/attachments", tags=["attachments"], responses=problem_responses(404, 409))
_MEDIA_TYPE = re.compile(r"[\w.+-]{1,100}/[\w.+-]{1,100}", re.ASCII)
_UNKNOWN = "application/octet-stream"
_INLINE_TYPES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})  # pictures that cannot run anything
_BINARY = {"type": "string", "format": "binary"}
_FORM = {"type": "object", "required": ["file"], "properties": {"file": _BINARY}}
_UPLOAD = {
    "requestBody": {
        "required": True,
        "content": {"multipart/form-data": {"schema": _FORM}, _UNKNOWN: {"schema": _BINARY}},
    }
}
_BYTES: dict[int | str, dict[str, Any]] = {200: {"content": {"*/*": {"schema": _BINARY}}}}
Name = Annotated[str, Query(max_length=255, description="What it is called, when the bytes are the whole body.")]
Hash = Annotated[str, Path(pattern="^[0-9a-f]{64}$", description="SHA-256 of its bytes.")]


class AttachmentSchema(AttributeSchema):
    """A file as it is kept."""

    hash: str = Field(description="SHA-256 of its bytes: give it to `attachments` of what you say.")
    media_type: Text
    name: Text
    size: int
    holds_secrets: bool = Field(default=False, description="It is text with secrets in it, and stored as it is.")


class FileEntry(AttachmentSchema):
    """A file of a message."""

    type: Literal["file"]
    message_id: str


class ObservationEntry(BaseModel):
    """What a runtime recorded about its work in a turn: tools, approvals, times."""

    type: Literal["observation"]
    runtime: Text
    turn: Text
    kind: Text
    data: dict[str, JsonSafe]


class AttachmentList(BaseModel):
    """The attachments of a session: files in the order of their messages, then observations by time."""

    attachments: list[FileEntry | ObservationEntry]


@router.get("", summary="List the attachments", response_model=AttachmentList)
async def list_all(session: ResolvedSession, store: StoreDep) -> dict[str, Any]:
    """Files that came with messages, and observations of runtimes, each tagged with its runtime."""
    rows = [row async for row in store.read(session.id, messages_only=True)]
    records = await store.list_records(OBSERVATION, session=session.id)
    return {"attachments": list_attachments(rows, [(one.created_at, one.value) for one in records])}


@router.post("", status_code=201, summary="Upload a file", responses=problem_responses(400), openapi_extra=_UPLOAD)
async def upload(
    session: ExactSession, request: Request, service: ServiceDep, response: Response, name: Name = ""
) -> AttachmentSchema:
    """The bytes as the body with their `Content-Type`, or a form with one `file`."""
    data, kind, called = await _read_upload(request, name)
    if not data:
        raise BadInput("The file is empty.", hint="Send its bytes as the body, or as `file` of a form.")
    stored = await service.attach(session.id, data, media_type=kind, name=_clean_name(called))
    response.headers["Location"] = f"/api/sessions/{session.id}/attachments/{stored.hash}"
    return AttachmentSchema.model_validate(stored)


async def _read_upload(request: Request, name: str) -> tuple[bytes, str, str]:
    """The bytes, their media type and their name."""
    kind = _media_type(request.headers.get("content-type", ""))
    if kind != "multipart/form-data":
        return await request.body(), kind, name
    async with request.form(max_files=1, max_fields=10) as form:
        found = next((one for one in form.values() if isinstance(one, UploadFile)), None)
        if found is None:
            raise BadInput("The form has no file.", hint="Name the part `file`, and give it a file name.")
        return await found.read(), _media_type(found.content_type or ""), found.filename or name


def _media_type(header: str) -> str:
    bare = header.partition(";")[0].strip().lower()
    return bare if _MEDIA_TYPE.fullmatch(bare) else _UNKNOWN


def _clean_name(name: str) -> str:
    """The last part of a path, without what cannot be seen."""
    seen = "".join(c for c in name if unicodedata.category(c)[0] != "C")
    return re.split(r"[/\\]", seen)[-1].strip()[:255]


@router.get("/{hash}", summary="An attachment", response_class=Response, responses=_BYTES)
async def attachment(session: ResolvedSession, store: StoreDep, hash: Hash) -> Response:
    """Only plain pictures are shown; everything else is a download, so that no file runs as a page of this server."""
    data, media_type = await store.get_blob(session.id, hash)
    kind = _media_type(media_type)
    guard = {
        "Content-Disposition": "inline" if kind in _INLINE_TYPES else f'attachment; filename="{hash[:12]}"',
        "Content-Security-Policy": "default-src 'none'; sandbox",
        "X-Content-Type-Options": "nosniff",
        "Content-Type": kind,
        "ETag": f'"{hash}"',
    }
    return Response(data, headers=guard)
