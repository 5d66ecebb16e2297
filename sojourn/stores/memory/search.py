"""Search: every message is read and judged; nothing is looked up."""

from __future__ import annotations

from collections.abc import Iterator

from sojourn.core.rows import is_hit, message_from, searchable
from sojourn.ports.store import SearchHit, SearchQuery
from sojourn.stores.memory.data import Data, Row
from sojourn.stores.memory.sessions import is_wanted
from sojourn.text.escape import unescape
from sojourn.text.query import FIRST_TITLE_RANK, Clause, build_snippet, find_matches, parse_query


def search(data: Data, asked: SearchQuery) -> list[SearchHit]:
    clauses = parse_query(asked.text) if asked.text.strip() or not asked.tool else ()
    found = [*_titles(data, asked, clauses), *_messages(data, asked, clauses)]
    return [hit for hit in found if asked.before is None or hit.at < asked.before][: max(0, asked.limit)]


def _titles(data: Data, asked: SearchQuery, clauses: tuple[Clause, ...]) -> Iterator[SearchHit]:
    """Sessions whose title answers; filters that speak of messages leave no title over."""
    if asked.roles or asked.tool or asked.session or not clauses:
        return
    titled = [row for row in data.sessions() if row["title"] and _is_wanted(row, row["started_at"], asked)]
    answering = [row for row in titled if find_matches(clauses, unescape(row["title"]))]
    answering.sort(key=lambda row: (row["last_active"], row["id"]), reverse=True)
    for number, row in enumerate(answering):
        title = unescape(row["title"])
        yield SearchHit(
            session=row["id"],
            seq=0,
            role="title",
            timestamp=row["started_at"],
            title=title,
            source=unescape(row["source"]),
            snippet=build_snippet(clauses, title),
            at=FIRST_TITLE_RANK - number,
        )


def _messages(data: Data, asked: SearchQuery, clauses: tuple[Clause, ...]) -> Iterator[SearchHit]:
    for row in sorted(data.tables["messages"].values(), key=lambda row: int(row["id"]), reverse=True):
        session = data.session(row["session_id"])
        if not _is_wanted(session, row["timestamp"], asked) or not (row["active"] or row["compacted"]):
            continue
        message = message_from(row)
        if (asked.roles and message.role not in asked.roles) or asked.session not in (None, row["session_id"]):
            continue
        if is_hit(message, clauses, asked.tool):
            yield SearchHit(
                session=row["session_id"],
                seq=row["seq"],
                role=message.role,
                timestamp=message.timestamp,
                snippet=build_snippet(clauses, searchable(message)),
                at=row["id"],
                tool_name=message.tool_name,
                title=unescape(session["title"]) if session["title"] else None,
                source=unescape(session["source"]),
            )


def _is_wanted(session: Row, at: float, asked: SearchQuery) -> bool:
    return (
        is_wanted(session, asked)
        and (asked.since is None or at >= asked.since)
        and (asked.until is None or at < asked.until)
    )
