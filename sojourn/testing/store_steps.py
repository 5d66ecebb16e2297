"""Small steps the tests of the store contract are made of."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, TypeVar

from sojourn.core.events import Yielded
from sojourn.core.messages import Message, ToolCall, assistant, tool_result, user
from sojourn.core.sessions import OWNER, Lease, Principal, Recorded, Session, SessionId
from sojourn.ports.importer import Transcript
from sojourn.ports.ingest import Ingested
from sojourn.ports.store import SearchHit, SearchQuery, SessionStore, Store

T = TypeVar("T")
Fresh = Callable[..., Store]  # fresh() and fresh(redactor=keep): another empty store of the same kind
GUEST = Principal("guest")
NOBODY = SessionId("20200101_000000_deadbeef")
ODD = "nul \x00, substitute \x1a, the escape itself \x1a0000, lone \ud800 and \udcff, private \ue000, 日本 👋"


@asynccontextmanager
async def turn(store: SessionStore, session: SessionId, surface: str = "cli") -> AsyncIterator[Lease]:
    """A lease for a while."""
    lease = await store.lease(session, holder="a test", surface=surface)
    try:
        yield lease
    finally:
        await store.renew(lease, 0)


async def say(store: SessionStore, session: SessionId, *items: str | Yielded) -> list[Recorded]:
    """Adds items to a log in a turn of their own; a text is something a person says."""
    async with turn(store, session) as lease:
        return await store.append(lease, [user(item) if isinstance(item, str) else item for item in items])


async def begin(store: SessionStore, *items: str | Yielded, **fields: Any) -> SessionId:
    """A new session in which something was said."""
    session = (await store.create(**fields)).id
    if items:
        await say(store, session, *items)
    return session


async def everything(items: AsyncIterator[T]) -> list[T]:
    return [item async for item in items]


async def first(count: int, stream: AsyncIterator[T], seconds: float = 10.0) -> list[T]:
    """The first items of an endless stream, which is closed then."""
    found: list[T] = []
    try:
        async with asyncio.timeout(seconds):
            while len(found) < count:
                found.append(await anext(stream))
    finally:
        if aclose := getattr(stream, "aclose", None):
            await aclose()
    return found


async def found(store: SessionStore, text: str, **fields: Any) -> list[tuple[str, int]]:
    """Where a search hits: session and number."""
    return [(hit.session, hit.seq) for hit in await store.search(SearchQuery(text=text, **fields))]


def marked(hit: SearchHit) -> list[str]:
    """The highlighted parts of a hit."""
    return [hit.snippet.text[start:end] for start, end in hit.snippet.marks]


def asks(name: str, arguments: str = "{}", text: str | None = None, id: str = "call_1") -> Message:
    """An assistant's message that calls a tool."""
    return assistant(text, [ToolCall(id=id, name=name, arguments=arguments)])


def answers(name: str, text: str, id: str = "call_1") -> Message:
    """A tool's output."""
    return tool_result(ToolCall(id=id, name=name), text)


def foreign(native: str, *texts: str | Message, records: Sequence[tuple[str, str]] = (), **fields: Any) -> Transcript:
    """A session of another program; messages are numbered m1, m2 … there."""
    said = [user(text) if isinstance(text, str) else text for text in texts]
    messages = [
        replace(message, native_id=message.native_id or f"m{number}", timestamp=message.timestamp or 1000.0 + number)
        for number, message in enumerate(said, 1)
    ]
    fields = {"started_at": 1000.0, **fields}
    return Transcript(native_id=native, fields=fields, messages=messages, records=tuple(records))


async def bring(
    store: Store,
    *transcripts: Transcript,
    mark: str = "1",
    source: str = "hermes",
    home: str = "/home/me/.hermes",
    principal: Principal = OWNER,
) -> list[Ingested]:
    """An import of whole sessions, all under one fingerprint."""
    return await store.ingest(source, home, [(mark, one) for one in transcripts], principal=principal)


async def rows(store: Store, table: str) -> list[dict[str, Any]]:
    """A whole table, column by name."""
    columns = {name: columns for name, columns, _ in store.tables()}[table]
    return [dict(zip(columns, row, strict=True)) for row in await store.export_rows(table, after=None, limit=10_000)]


async def contents(store: SessionStore, session: SessionId) -> list[str | None]:
    """What was said in a session, in order."""
    items = [kept.item async for kept in store.read(session, messages_only=True)]
    return [item.content for item in items if isinstance(item, Message)]


async def retitled(store: SessionStore, session: Session, title: str | None) -> Session:
    return await store.change(session, replace(session, title=title))


async def dump(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table."""
    return {name: await store.export_rows(name, after=None, limit=10_000) for name, _, _ in store.tables()}
