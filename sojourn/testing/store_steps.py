"""Steps of the store contract: sessions, leases and messages that its tests begin with."""

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
from sojourn.ports.store import SearchHit, SearchQuery, SessionStore, Store
from sojourn.ports.store_admin import Ingested

T = TypeVar("T")
Fresh = Callable[..., Store]  # fresh() and fresh(redactor=keep): another empty store of the same kind
GUEST = Principal("guest")
NOBODY = SessionId("20200101_000000_deadbeef")
ODD = "nul \x00, substitute \x1a, the escape itself \x1a0000, lone \ud800 and \udcff, private \ue000, 日本 👋"


@asynccontextmanager
async def hold_lease(store: SessionStore, session: SessionId, surface: str = "cli") -> AsyncIterator[Lease]:
    """Holds the turn lease of a session."""
    lease = await store.lease(session, holder="a test", surface=surface)
    try:
        yield lease
    finally:
        await store.renew(lease, 0)


async def say(store: SessionStore, session: SessionId, *items: str | Yielded) -> list[Recorded]:
    """Appends items in a turn of their own; a text is a user message."""
    async with hold_lease(store, session) as lease:
        return await store.append(lease, [user(item) if isinstance(item, str) else item for item in items])


async def begin(store: SessionStore, *items: str | Yielded, **fields: Any) -> SessionId:
    """Creates a session with these items."""
    session = (await store.create(**fields)).id
    if items:
        await say(store, session, *items)
    return session


async def collect(items: AsyncIterator[T]) -> list[T]:
    return [item async for item in items]


async def take_first(count: int, stream: AsyncIterator[T], seconds: float = 10.0) -> list[T]:
    """Returns the first items of an endless stream and closes it."""
    found: list[T] = []
    try:
        async with asyncio.timeout(seconds):
            while len(found) < count:
                found.append(await anext(stream))
    finally:
        if aclose := getattr(stream, "aclose", None):
            await aclose()
    return found


async def find_hits(store: SessionStore, text: str, **fields: Any) -> list[tuple[str, int]]:
    """Searches and returns the session and seq of each hit."""
    return [(hit.session, hit.seq) for hit in await store.search(SearchQuery(text=text, **fields))]


def highlighted_words(hit: SearchHit) -> list[str]:
    """Returns the highlighted parts of a snippet."""
    return [hit.snippet.text[start:end] for start, end in hit.snippet.marks]


def call_message(name: str, arguments: str = "{}", text: str | None = None, id: str = "call_1") -> Message:
    """Returns an assistant message that calls a tool."""
    return assistant(text, [ToolCall(id=id, name=name, arguments=arguments)])


def tool_message(name: str, text: str, id: str = "call_1") -> Message:
    """Returns the result message of a tool."""
    return tool_result(ToolCall(id=id, name=name), text)


def make_transcript(
    native: str, *texts: str | Message, records: Sequence[tuple[str, str]] = (), **fields: Any
) -> Transcript:
    """Returns a session of another program with the native message ids m1, m2 …"""
    said = [user(text) if isinstance(text, str) else text for text in texts]
    messages = [
        replace(message, native_id=message.native_id or f"m{number}", timestamp=message.timestamp or 1000.0 + number)
        for number, message in enumerate(said, 1)
    ]
    fields = {"started_at": 1000.0, **fields}
    return Transcript(native_id=native, fields=fields, messages=messages, records=tuple(records))


async def ingest(
    store: Store,
    *transcripts: Transcript,
    mark: str = "1",
    source: str = "hermes",
    home: str = "/home/me/.hermes",
    principal: Principal = OWNER,
) -> list[Ingested]:
    """Imports transcripts with one fingerprint."""
    return await store.ingest(source, home, [(mark, one) for one in transcripts], principal=principal)


async def read_table(store: Store, table: str) -> list[dict[str, Any]]:
    """Returns all rows of a table by column name."""
    columns = {name: columns for name, columns, _ in store.tables()}[table]
    return [dict(zip(columns, row, strict=True)) for row in await store.export_rows(table, after=None, limit=10_000)]


async def read_contents(store: SessionStore, session: SessionId) -> list[str | None]:
    """Returns the contents of the messages of a session."""
    items = [kept.item async for kept in store.read(session, messages_only=True)]
    return [item.content for item in items if isinstance(item, Message)]


async def change_title(store: SessionStore, session: Session, title: str | None) -> Session:
    return await store.change(session, replace(session, title=title))


async def dump(store: Store) -> dict[str, list[tuple[Any, ...]]]:
    """Returns every row of every table."""
    return {name: await store.export_rows(name, after=None, limit=10_000) for name, _, _ in store.tables()}
