"""Search over SQL: an index selects candidates, `text.query` decides which of them match.

Newest first: every word must be there as it is written. By relevance: `ranked_search`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple, Protocol

from sojourn.core.messages import Message
from sojourn.ports.store import SearchHit, SearchQuery
from sojourn.stores.sql.db import Conditions, Db, Row
from sojourn.stores.sql.rows import MESSAGE_COLUMNS, matches_query, message_from_row, searchable_text
from sojourn.stores.sql.sessions import add_title_condition, filter_conditions
from sojourn.text.escape import unescape
from sojourn.text.query import FIRST_TITLE_RANK, Clause, Snippet, build_snippet, find_matches, matches_text, parse_query
from sojourn.text.tokenizer import tool_term

_MAX_PAGE_ROWS = 500
_COLUMNS = ", ".join(f"m.{name}" for name in MESSAGE_COLUMNS)
SELECT_HITS = f"SELECT m.id, m.session_id, m.seq, {_COLUMNS}, s.title, s.source FROM"
TermConditions = Sequence[tuple[str, ...]]  # a row has at least one term of each; `term*` is a beginning


class Candidates(NamedTuple):
    """How an index selects rows: FROM, WHERE with its parameters, and the column that orders them."""

    origin: str
    where: str
    params: list[Any]
    order: str


class MessageIndex(Protocol):
    """The index of a store."""

    indexed_to: int | None  # the last row in the index, if it is filled afterwards
    has_pairs: bool  # whether all rows have terms for pairs of words

    def select(self, conditions: TermConditions, before: int | None) -> Candidates: ...
    def find_ids(self, searches: Sequence[TermConditions], limit: int) -> list[list[int]]:
        """Returns the newest rows that meet the conditions of each search, newest first."""
        ...


def search_newest(db: Db, query: SearchQuery, index: MessageIndex) -> list[SearchHit]:
    """Returns up to `limit` hits among titles and messages. The few rows that are not indexed are all compared."""
    clauses = parse_query(query.text) if query.text.strip() or not query.tool else ()
    hits = search_titles(db, query, clauses)
    if index.indexed_to is not None:
        among = Candidates("messages m", "m.id > ?", [index.indexed_to], "m.id")
        _collect(db, query, clauses, among, hits, certain=False)
        last = FIRST_TITLE_RANK if query.before is None else query.before
        query = replace(query, before=min(index.indexed_to + 1, last))
    if len(hits) < query.limit:
        among = index.select(to_conditions(clauses, query.tool, index), query.before)
        _collect(db, query, clauses, among, hits, certain=True)
    return hits[: query.limit]


def to_conditions(clauses: Sequence[Clause], tool: str, index: MessageIndex) -> TermConditions:
    """Returns what the index must have for the clauses and the tool."""
    terms = [terms for clause in clauses for terms in clause.to_conditions(pairs=index.has_pairs)]
    return [*terms, (tool_term(tool),)] if tool else terms


def _collect(
    db: Db, query: SearchQuery, clauses: tuple[Clause, ...], among: Candidates, hits: list[SearchHit], *, certain: bool
) -> None:
    """Reads candidates page by page until there are enough hits. `certain`: the index has matched the terms already."""
    filters = message_conditions(query)
    check = any(clause.needs_check for clause in clauses)
    below, page = query.before, query.limit
    while len(hits) < query.limit:
        bound, at = (f" AND {among.order} < ?", [below]) if below is not None else ("", [])
        rows = db.fetch_all(
            # CROSS JOIN makes SQLite keep this order of tables, in which it can stop at the limit.
            f"{SELECT_HITS} {among.origin} CROSS JOIN sessions s "
            f"WHERE s.id = m.session_id AND {among.where} AND {filters}{bound} ORDER BY {among.order} DESC LIMIT ?",
            [*among.params, *filters.params, *at, page],
        )
        for row in rows:
            message = message_from_row(row)
            if certain and check and not matches_text(clauses, searchable_text(message)):
                continue
            if not certain and not matches_query(message, clauses, query.tool):
                continue
            hits.append(hit_from(row, message, build_snippet(clauses, searchable_text(message))))
            if len(hits) >= query.limit:
                return
        if len(rows) < page:
            return
        below, page = rows[-1]["id"], min(2 * page, _MAX_PAGE_ROWS)


def message_conditions(query: SearchQuery) -> Conditions:
    """Returns the conditions on a message `m` of a session `s`, besides the words."""
    where = filter_conditions(query)
    where.add("(m.active = 1 OR m.compacted = 1)")
    if query.session is None:
        where.add("m.seq > s.copied")  # found where they were said
    where.add_choice("m.role", query.roles)
    where.add_filters(
        ("m.session_id = ?", query.session), ("m.timestamp >= ?", query.since), ("m.timestamp < ?", query.until)
    )
    return where


def hit_from(row: Row, message: Message, snippet: Snippet, **more: Any) -> SearchHit:
    return SearchHit(
        session=row["session_id"],
        seq=row["seq"],
        role=message.role,
        timestamp=message.timestamp,
        snippet=snippet,
        title=unescape(row["title"]) if row["title"] else None,
        source=unescape(row["source"]),
        tool_name=message.tool_name,
        **{"at": row["id"], **more},
    )


def search_titles(db: Db, query: SearchQuery, clauses: tuple[Clause, ...]) -> list[SearchHit]:
    """Returns sessions whose title matches. Filters on messages exclude all titles."""
    if query.roles or query.tool or query.session or not clauses:
        return []
    if query.before is not None and query.before < FIRST_TITLE_RANK // 2:
        return []  # the cursor is among the messages already
    where = filter_conditions(query)
    where.add("s.title_terms IS NOT NULL")
    where.add_filters(("s.started_at >= ?", query.since), ("s.started_at < ?", query.until))
    for clause in clauses:
        add_title_condition(where, clause)
    below = query.before or FIRST_TITLE_RANK + 1
    is_certain = not any(clause.needs_check for clause in clauses)
    most = FIRST_TITLE_RANK + 1 - below + max(0, query.limit) if is_certain else FIRST_TITLE_RANK
    rows = db.fetch_all(
        f"SELECT s.id, s.title, s.source, s.started_at FROM sessions s WHERE {where} "
        "ORDER BY s.last_active DESC, s.id DESC LIMIT ?",
        [*where.params, most],
    )
    found = ((row, title) for row in rows if find_matches(clauses, title := unescape(row["title"])))
    numbered = ((FIRST_TITLE_RANK - rank, row, title) for rank, (row, title) in enumerate(found))
    return [
        SearchHit(
            session=row["id"],
            seq=0,
            role="title",
            timestamp=row["started_at"],
            title=title,
            at=at,
            source=unescape(row["source"]),
            snippet=build_snippet(clauses, title),
        )
        for at, row, title in islice((one for one in numbered if one[0] < below), max(0, query.limit))
    ]
