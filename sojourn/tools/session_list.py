"""session_list: the person's sessions, newest first."""

from __future__ import annotations

from datetime import datetime, timedelta

from sojourn.core.errors import BadInput
from sojourn.core.sessions import Session
from sojourn.ports.app import HasStore
from sojourn.ports.store import Listing
from sojourn.ports.tool import Tool, ToolResult, Workspace
from sojourn.tool_schema import tool

MAX_SESSIONS = 50


def session_list_tool(app: HasStore) -> Tool:
    @tool(guests=True)
    async def session_list(at: Workspace, since: str = "", until: str = "", limit: int = 10) -> ToolResult:
        """Lists the person's sessions, newest first. To read one, use session_search with its id.

        since: only sessions active on or after this day, such as 2026-11-16
        until: only sessions active on or before this day
        limit: how many at most
        """
        count = min(max(1, limit), MAX_SESSIONS)
        first, last = _parse_day(since), _parse_day(until)
        sessions = await app.store.find(
            Listing(
                principal=at.principal,
                since=first.timestamp() if first else None,
                until=(last + timedelta(days=1)).timestamp() if last else None,
                limit=count + 1,
            )
        )
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
