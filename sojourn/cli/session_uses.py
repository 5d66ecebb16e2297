"""Session uses: which sessions touched a file, used a tool, or met an error, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import aclosing
from dataclasses import asdict, dataclass, replace
from typing import Any

from sojourn.core.errors import NotFound
from sojourn.core.messages import Message, text_of, tool_calls_of
from sojourn.core.sessions import SessionId
from sojourn.ports.store import SearchHit, SearchQuery, Store
from sojourn.text.formatting import to_iso
from sojourn.text.transcript import is_undone

MAX_HITS = 1000  # messages that are looked at
_ANSWER_CHARS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionUse:
    """What one session had to do with a file, a tool or an error."""

    session: SessionId
    title: str | None
    source: str
    seq: int  # of the first message
    last_seq: int
    times: int
    tools: tuple[str, ...]
    last_at: float
    solved: bool | None = None  # of an error: whether it did not come back while tools went on
    answer: str = ""  # what was said after it came for the last time

    def to_json(self) -> dict[str, Any]:
        return {**asdict(self), "tools": list(self.tools), "last_at": to_iso(self.last_at)}


async def find_file_uses(store: Store, query: SearchQuery, path: str, limit: int) -> list[SessionUse]:
    """Returns the sessions whose tools were called with a path, or printed it; newest first."""
    return await _find_uses(store, replace(query, text=_to_phrase(path)), limit, path)


async def find_tool_uses(store: Store, query: SearchQuery, _: str, limit: int) -> list[SessionUse]:
    """Returns the sessions that used a tool; newest first."""
    return await _find_uses(store, replace(query, text=""), limit)


async def find_error_uses(store: Store, query: SearchQuery, error: str, limit: int) -> list[SessionUse]:
    """Returns the sessions whose tools printed an error, with what came of it; newest first."""
    roles = query.roles or ("tool",)
    found = await _find_uses(store, replace(query, text=_to_phrase(error), roles=roles), limit)
    return [await _tell_end(store, one, error) for one in found]


def _to_phrase(text: str) -> str:
    return '"' + text.replace('"', " ") + '"'


async def _find_uses(store: Store, query: SearchQuery, limit: int, path: str = "") -> list[SessionUse]:
    asked = replace(query, order="newest", limit=MAX_HITS, roles=query.roles or ("assistant", "tool"))
    by_session: dict[SessionId, list[SearchHit]] = {}
    for hit in await store.search(asked):
        by_session.setdefault(hit.session, []).append(hit)
    uses: list[SessionUse] = []
    for session, hits in by_session.items():
        if len(uses) == limit:
            break
        tools = dict.fromkeys(hit.tool_name for hit in hits if hit.tool_name)
        calls = [hit for hit in hits if hit.role == "assistant"]
        if calls:
            called = await _list_calls(store, calls, path or query.tool)
            tools |= dict.fromkeys(called)
            if not called and len(calls) == len(hits):
                continue  # only spoken of
        first, last = min(hits, key=lambda hit: hit.seq), max(hits, key=lambda hit: hit.seq)
        uses.append(
            SessionUse(
                session=session,
                title=last.title,
                source=last.source,
                seq=first.seq,
                last_seq=last.seq,
                times=len(hits),
                tools=tuple(tools),
                last_at=last.timestamp,
            )
        )
    return uses


async def _list_calls(store: Store, hits: Sequence[SearchHit], wanted: str) -> list[str]:
    """Returns the tools that these messages call with something in their arguments, or that have this name."""
    found: list[str] = []
    for hit in hits:
        message = await _read_message(store, hit)
        calls = tool_calls_of(message) if message else ()
        found += [call.name for call in calls if wanted in (call.name, "") or wanted in call.arguments]
    return found


async def _read_message(store: Store, hit: SearchHit) -> Message | None:
    try:
        async with aclosing(store.read(hit.session, after=hit.seq - 1, messages_only=True)) as log:
            async for kept in log:
                return kept.item if kept.seq == hit.seq and isinstance(kept.item, Message) else None
    except NotFound:  # deleted meanwhile
        pass
    return None


async def _tell_end(store: Store, use: SessionUse, error: str) -> SessionUse:
    """Reads on after the error came for the last time: did tools go on without it, and what was said?"""
    folded, solved, answer = error.casefold(), False, ""
    async with aclosing(store.read(use.session, after=use.last_seq, messages_only=True)) as log:
        async for kept in log:
            if not isinstance(kept.item, Message) or is_undone(kept.item):
                continue
            text = text_of(kept.item)
            if kept.item.role == "tool":
                solved = folded not in text.casefold()
            elif kept.item.role == "assistant" and text.strip():
                answer = text.strip()
    return replace(use, solved=solved, answer=answer[:_ANSWER_CHARS])
