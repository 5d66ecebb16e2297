"""Search: every message is read and judged; nothing is looked up."""

from __future__ import annotations

from collections.abc import Iterator

from sojourn.core.finding import FIRST_TITLE, Clause, matches, parse, snippet
from sojourn.core.rows import is_hit, message_from, searchable
from sojourn.core.text import unescape
from sojourn.ports.store import Hit, Search
from sojourn.stores.memory.data import Data, Row
from sojourn.stores.memory.sessions import is_wanted


def search(data: Data, asked: Search) -> list[Hit]:
    clauses = parse(asked.text) if asked.text.strip() or not asked.tool else ()
    found = [*_titles(data, asked, clauses), *_messages(data, asked, clauses)]
    return [hit for hit in found if asked.before is None or hit.at < asked.before][: max(0, asked.limit)]


def _titles(data: Data, asked: Search, clauses: tuple[Clause, ...]) -> Iterator[Hit]:
    """Sessions whose title answers; filters that speak of messages leave no title over."""
    if asked.roles or asked.tool or asked.session or not clauses:
        return
    titled = [row for row in data.sessions() if row["title"] and _is_wanted(row, row["started_at"], asked)]
    answering = [row for row in titled if matches(clauses, unescape(row["title"]))]
    answering.sort(key=lambda row: (row["last_active"], row["id"]), reverse=True)
    for number, row in enumerate(answering):
        title = unescape(row["title"])
        yield Hit(
            session=row["id"],
            seq=0,
            role="title",
            timestamp=row["started_at"],
            title=title,
            source=unescape(row["source"]),
            snippet=snippet(clauses, title),
            at=FIRST_TITLE - number,
        )


def _messages(data: Data, asked: Search, clauses: tuple[Clause, ...]) -> Iterator[Hit]:
    for row in sorted(data.tables["messages"].values(), key=lambda row: int(row["id"]), reverse=True):
        session = data.session(row["session_id"])
        if not _is_wanted(session, row["timestamp"], asked) or not (row["active"] or row["compacted"]):
            continue
        message = message_from(row)
        if (asked.roles and message.role not in asked.roles) or asked.session not in (None, row["session_id"]):
            continue
        if is_hit(message, clauses, asked.tool):
            yield Hit(
                session=row["session_id"],
                seq=row["seq"],
                role=message.role,
                timestamp=message.timestamp,
                snippet=snippet(clauses, searchable(message)),
                at=row["id"],
                tool_name=message.tool_name,
                title=unescape(session["title"]) if session["title"] else None,
                source=unescape(session["source"]),
            )


def _is_wanted(session: Row, at: float, asked: Search) -> bool:
    return (
        is_wanted(session, asked)
        and (asked.since is None or at >= asked.since)
        and (asked.until is None or at < asked.until)
    )
