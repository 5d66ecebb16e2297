"""Transcripts: the messages of a session, page by page and as a file."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse

from sojourn.core.messages import Message
from sojourn.core.sessions import Recorded, Session
from sojourn.http import schemas
from sojourn.http.dependencies import (
    MAX_INTEGER,
    ExactForm,
    ResolvedSession,
    StoreDep,
    exact_response,
    problem_responses,
)
from sojourn.http.json_safe import replace_surrogates
from sojourn.ports.store import SessionStore
from sojourn.text.codec import encode_recorded
from sojourn.text.export import to_markdown

Rows = AsyncGenerator[Recorded, None]
router = APIRouter(prefix="/api/sessions/{id}", tags=["transcripts"], responses=problem_responses(404, 409))
_KINDS = r"^(undone|summarised)(,(undone|summarised))*$"
_PAGE_CHARACTERS = 4_000_000
Include = Annotated[str | None, Query(pattern=_KINDS, description="Also `undone`, `summarised` rows, or both.")]


def _is_included(message: Message, also: set[str]) -> bool:
    if message.active:
        return True
    return ("summarised" if message.compacted else "undone") in also


async def _read_rows(store: SessionStore, session: Session, after: int, include: str | None) -> Rows:
    also = set(include.split(",")) if include else set()
    async with aclosing(store.read(session.id, after=after, messages_only=True)) as found:
        async for recorded in found:
            if isinstance(recorded.item, Message) and _is_included(recorded.item, also):
                yield recorded


@router.get("/messages", summary="Read the transcript")
async def messages(
    session: ResolvedSession,
    store: StoreDep,
    form: ExactForm,
    include: Include = None,
    after: Annotated[int, Query(ge=0, le=MAX_INTEGER, description="The `next` of the page before.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> schemas.MessagePage:
    """In order. A page of long messages ends early, so that nobody else has to wait for it."""
    page, more = await _page(_read_rows(store, session, after, include), limit)
    if form:
        exact = [(recorded.seq, encode_recorded(recorded)[1]) for recorded in page]
        return exact_response({"messages": exact, "next": more}, schemas.MessagePage)
    return schemas.MessagePage(messages=[schemas.MessageSchema.of(recorded) for recorded in page], next=more)


async def _page(rows: Rows, limit: int) -> tuple[list[Recorded], int | None]:
    """The rows of one page, and where the next one begins."""
    page: list[Recorded] = []
    size = 0
    async with aclosing(rows) as found:
        async for recorded in found:
            if len(page) == limit or size > _PAGE_CHARACTERS:
                return page, page[-1].seq
            page.append(recorded)
            if isinstance(recorded.item, Message):
                size += len(recorded.item.content or "") + len(recorded.item.tool_calls or "")
    return page, None


_EXPORT_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {
        "content": {
            "application/jsonl": {"schema": {"type": "string"}},
            "text/markdown": {"schema": {"type": "string"}},
        }
    }
}


@router.get("/export", summary="Download", response_class=StreamingResponse, responses=_EXPORT_RESPONSES)
async def export(
    session: ResolvedSession, store: StoreDep, format: Literal["jsonl", "markdown"] = "jsonl"
) -> StreamingResponse:
    """JSONL: one line, the session with all its messages. Markdown: to be read, without what was undone."""
    lines, media, ending = (
        (_jsonl(session, _read_rows(store, session, 0, "undone,summarised")), "application/jsonl", "jsonl")
        if format == "jsonl"
        else (_markdown(session, _read_rows(store, session, 0, "summarised")), "text/markdown; charset=utf-8", "md")
    )
    name = re.sub(r"[^\w.-]", "_", session.id, flags=re.ASCII)
    return StreamingResponse(
        lines, media_type=media, headers={"Content-Disposition": f'attachment; filename="{name}.{ending}"'}
    )


async def _markdown(session: Session, rows: Rows) -> AsyncIterator[str]:
    async with aclosing(rows) as found:
        for line in to_markdown(session, [recorded async for recorded in found]):
            yield replace_surrogates(line)


async def _jsonl(session: Session, rows: Rows) -> AsyncIterator[str]:
    """Piece by piece, so that a session of any length fits into memory."""
    yield schemas.SessionDetail.model_validate(session).model_dump_json().removesuffix("}") + ',"messages":['
    comma = ""
    async with aclosing(rows) as found:
        async for recorded in found:
            yield comma + schemas.MessageSchema.of(recorded).model_dump_json()
            comma = ","
    yield "]}\n"
