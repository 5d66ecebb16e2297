"""Tools for past sessions, the person's own ones only: `session_search` and `session_list`."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from sojourn.core.errors import BadInput, NotFound
from sojourn.core.messages import Message, text_of
from sojourn.core.sessions import Session, SessionId
from sojourn.ports.app import HasStore
from sojourn.ports.store import Listing, SearchHit, SearchQuery
from sojourn.ports.tool import Tool, ToolResult, Workspace
from sojourn.tool_schema import tool

MAX_RESULTS = 50  # hits or sessions
CONTEXT_MESSAGES = 6  # shown before and after the requested one
MAX_MESSAGE_CHARS = 1500  # of one message


def session_search_tool(app: HasStore) -> Tool:
    @tool(guests=True, origins=("foreign", "private"))
    async def session_search(
        at: Workspace, query: str = "", session: str = "", around: int = 0, limit: int = 10
    ) -> ToolResult:
        """Searches everything that was said in earlier sessions, or shows a part of one of them.

        query: words that must all be there; "two words" in a row; conf* for a beginning
        session: look only in this session (its id or title); without a query: show it
        around: with a session: show the messages around this number
        limit: how many results at most
        """
        found = await app.store.resolve(session, principal=at.principal) if session else None
        if found is not None and not query:
            return await _show_session(app, found.id, found.title or found.preview or found.id, around)
        if not query.strip():
            raise BadInput("There is nothing to look for.", hint="Give a query, or a session to show.")
        count = min(max(1, limit), MAX_RESULTS)
        hits = await app.store.search(
            SearchQuery(text=query, principal=at.principal, session=found.id if found else None, limit=count)
        )
        text = "\n".join(_format_hit(hit) for hit in hits) or f"Nothing was said about {query!r}."
        if hits:
            text += "\n\nTo read on: session_search with session=<id> and around=<number>."
        return ToolResult(text=text, facts={"found": len(hits), "sessions": len({hit.session for hit in hits})})

    return session_search


def _format_time(stamp: float) -> str:
    return datetime.fromtimestamp(stamp, UTC).strftime("%Y-%m-%d %H:%M") if stamp else "unknown day"


def _format_hit(hit: SearchHit) -> str:
    who = f"{hit.role} ({hit.tool_name})" if hit.tool_name else hit.role
    place = f"{hit.session} number {hit.seq}" if hit.seq else f"{hit.session} (its title)"
    return f'- "{hit.title or "untitled"}", {_format_time(hit.timestamp)}, {who}: {hit.snippet.text}\n  [{place}]'


async def _show_session(app: HasStore, session: SessionId, title: str, around: int) -> ToolResult:
    messages = [
        (one.seq, one.at, one.item)
        async for one in app.store.read(session, messages_only=True)
        if isinstance(one.item, Message) and (one.item.active or one.item.compacted)
    ]
    if not messages:
        raise NotFound(f'"{title}" has no messages.', hint="Search for another one.")
    middle = next((n for n, one in enumerate(messages) if one[0] >= around), len(messages)) if around else 0
    first = max(0, middle - CONTEXT_MESSAGES) if around else 0
    shown = messages[first : middle + CONTEXT_MESSAGES + 1] if around else messages[: 2 * CONTEXT_MESSAGES]
    lines = [
        f"[{seq}] {message.role}, {_format_time(message.timestamp or moment)}: {_format_message(message)}"
        for seq, moment, message in shown
    ]
    last = messages[-1][0]
    numbers = f"{shown[0][0]} to {shown[-1][0]} of {last}" if shown else f"none; the last is {last}"
    head = f'"{title}" ({session}), messages {numbers}'
    return ToolResult(text="\n".join([head, *lines]), facts={"session": session, "shown": len(shown)})


def _format_message(message: Message) -> str:
    text = text_of(message).strip() or (f"(calls tools) {message.tool_calls}" if message.tool_calls else "(nothing)")
    more = len(text) - MAX_MESSAGE_CHARS
    return f"{text[:MAX_MESSAGE_CHARS]}… ({more} more characters)" if more > 0 else text


def session_list_tool(app: HasStore) -> Tool:
    @tool(guests=True, origins=("foreign", "private"))
    async def session_list(at: Workspace, since: str = "", until: str = "", limit: int = 10) -> ToolResult:
        """Lists the person's sessions, newest first. To read one, use session_search with its id.

        since: only sessions active on or after this day, such as 2026-11-16
        until: only sessions active on or before this day
        limit: how many at most
        """
        count = min(max(1, limit), MAX_RESULTS)
        first, last = _parse_day(since), _parse_day(until)
        listing = Listing(
            principal=at.principal,
            since=first.timestamp() if first else None,
            until=(last + timedelta(days=1)).timestamp() if last else None,
            limit=count + 1,
        )
        sessions = await app.store.find(listing)
        others = [one for one in sessions if one.id != at.session][:count]
        text = "\n".join(map(_render_session, others)) or "There are no other sessions."
        return ToolResult(text=text, facts={"sessions": len(others)})

    return session_list


def _parse_day(text: str) -> datetime | None:
    if not text.strip():
        return None
    try:
        return datetime.fromisoformat(text.strip()).astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    except ValueError as error:
        raise BadInput(f"{text[:40]!r} is not a day.", hint="Write it like 2026-11-16.") from error


def _render_session(session: Session) -> str:
    when = datetime.fromtimestamp(session.last_active or session.started_at).astimezone().strftime("%Y-%m-%d %H:%M")
    name = session.title or session.preview or "untitled"
    about = session.preview if session.title else ""
    return f'- "{name}", {when}, {session.message_count} messages: {about}\n  [{session.id}]'
