"""Transcripts: the messages of a session, page by page and as a file."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple

from fastapi import APIRouter, Query
from fastapi.responses import StreamingResponse
from pydantic import Field
from starlette.concurrency import iterate_in_threadpool

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
from sojourn.text.export import ENDINGS
from sojourn.text.renderers import RENDERERS, Renderer

Rows = AsyncGenerator[Recorded, None]
router = APIRouter(prefix="/api/sessions/{id}", tags=["transcripts"], responses=problem_responses(404, 409))
_KINDS = r"^(undone|summarised)(,(undone|summarised))*$"
_PAGE_CHARACTERS = 4_000_000


def _is_included(message: Message, also: set[str]) -> bool:
    if message.active:
        return True
    return ("summarised" if message.compacted else "undone") in also


async def _read_rows(
    store: SessionStore, session: Session, include: str | None, *, after: int = 0, before: int = 0
) -> Rows:
    """The messages after a number in order, or those below `before`, newest first."""
    also = set(include.split(",")) if include else set()
    async with aclosing(store.read(session.id, after=after, before=before, messages_only=True)) as found:
        async for recorded in found:
            if isinstance(recorded.item, Message) and _is_included(recorded.item, also):
                yield recorded


class PagePosition(schemas.StrictSchema):
    """Which page of a transcript: forwards from the start, or from one of these places; of several, the first of
    `around`, `before`, `newest` and `after` counts. Pages are always in order."""

    include: str | None = Field(default=None, pattern=_KINDS, description="Also `undone`, `summarised` rows, or both.")
    after: int = Field(default=0, ge=0, le=MAX_INTEGER, description="The `next` of the page before: goes forwards.")
    before: int | None = Field(
        default=None, ge=1, le=MAX_INTEGER, description="The `previous` of a later page: goes backwards."
    )
    newest: bool = Field(default=False, description="The last page.")
    around: int | None = Field(
        default=None, ge=0, le=MAX_INTEGER, description="The page with this message (its `seq`) in the middle."
    )
    limit: int = Field(default=100, ge=1, le=1000)


@router.get("/messages", summary="Read the transcript")
async def messages(
    session: ResolvedSession, store: StoreDep, form: ExactForm, where: Annotated[PagePosition, Query()]
) -> schemas.MessagePage:
    """In order. A page of long messages ends early, so that nobody else has to wait for it."""
    page = await _read_window(store, session, where)
    if form:
        exact = [(recorded.seq, encode_recorded(recorded)[1]) for recorded in page.rows]
        return exact_response({"messages": exact, "next": page.next, "previous": page.previous}, schemas.MessagePage)
    shown = [schemas.MessageSchema.of(recorded) for recorded in page.rows]
    return schemas.MessagePage(messages=shown, next=page.next, previous=page.previous)


class _Window(NamedTuple):
    """Rows in order, and where the pages before and after them begin."""

    rows: list[Recorded]
    previous: int | None
    next: int | None


async def _read_window(store: SessionStore, session: Session, where: PagePosition) -> _Window:
    rows = partial(_read_rows, store, session, where.include)
    if where.around is not None:
        below, previous = await _page(rows(before=where.around), where.limit // 2) if where.around else ([], None)
        above, more = await _page(rows(after=where.around - 1), where.limit - where.limit // 2)
        return _Window([*reversed(below), *above], previous, more)
    if where.before or where.newest:
        found, previous = await _page(rows(before=where.before or MAX_INTEGER), where.limit)
        return _Window(found[::-1], previous, found[0].seq if found and where.before else None)
    found, more = await _page(rows(after=where.after), where.limit)
    return _Window(found, found[0].seq if found and where.after else None, more)


async def _page(rows: Rows, limit: int) -> tuple[list[Recorded], int | None]:
    """The rows of one page, and where the next one in this direction begins."""
    page: list[Recorded] = []
    size = 0
    async with aclosing(rows) as found:
        async for recorded in found:
            if len(page) >= limit or size > _PAGE_CHARACTERS:
                return page, page[-1].seq if page else recorded.seq + 1
            page.append(recorded)
            if isinstance(recorded.item, Message):
                size += len(recorded.item.content or "") + len(recorded.item.tool_calls or "")
    return page, None


_MEDIA = {"jsonl": "application/jsonl", "markdown": "text/markdown; charset=utf-8", "html": "text/html; charset=utf-8"}
_EXPORT_RESPONSES: dict[int | str, dict[str, Any]] = {
    200: {"content": {media.partition(";")[0]: {"schema": {"type": "string"}} for media in _MEDIA.values()}}
}


@router.get("/export", summary="Download", response_class=StreamingResponse, responses=_EXPORT_RESPONSES)
async def export(
    session: ResolvedSession, store: StoreDep, format: Literal["jsonl", "markdown", "html"] = "jsonl"
) -> StreamingResponse:
    """JSONL: one line, the session with all its messages. Markdown: to be read, without what was undone. HTML: one file
    to share, redacted, which loads nothing."""
    lines = (
        _jsonl(session, _read_rows(store, session, "undone,summarised"))
        if format == "jsonl"
        else _render(RENDERERS[format], session, _read_rows(store, session, "summarised"))
    )
    name = re.sub(r"[^\w.-]", "_", session.id, flags=re.ASCII) + ENDINGS[format]
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Content-Security-Policy": "sandbox"}
    return StreamingResponse(lines, media_type=_MEDIA[format], headers=headers)


async def _render(render: Renderer, session: Session, rows: Rows) -> AsyncIterator[str]:
    """In a thread: what is shared is redacted once more, and a message may be long."""
    async with aclosing(rows) as found:
        kept = [recorded async for recorded in found]
    async for line in iterate_in_threadpool(map(replace_surrogates, render(session, kept))):
        yield line


async def _jsonl(session: Session, rows: Rows) -> AsyncIterator[str]:
    """Piece by piece, so that a session of any length fits into memory."""
    yield schemas.SessionDetail.model_validate(session).model_dump_json().removesuffix("}") + ',"messages":['
    comma = ""
    async with aclosing(rows) as found:
        async for recorded in found:
            yield comma + schemas.MessageSchema.of(recorded).model_dump_json()
            comma = ","
    yield "]}\n"
