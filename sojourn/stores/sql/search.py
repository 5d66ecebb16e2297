"""Search: an index narrows down, `core.finding` decides. Most recently kept first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from sojourn.core.rows import MESSAGE_COLUMNS, is_hit, message_from, searchable
from sojourn.ports.store import SearchHit, SearchQuery
from sojourn.stores.sql.db import Db, Row, marks
from sojourn.stores.sql.sessions import titled, wanted
from sojourn.text.escape import escape, unescape
from sojourn.text.query import FIRST_TITLE_RANK, Clause, build_snippet, find_matches, matches_text, parse_query
from sojourn.text.tokenizer import tool_term

_PAGE = 500
_COLUMNS = ", ".join(f"m.{name}" for name in MESSAGE_COLUMNS)
_SELECT = f"SELECT m.id, m.session_id, m.seq, {_COLUMNS}, s.title, s.source FROM"


class Candidates(NamedTuple):
    """How an engine narrows down: FROM, WHERE with its parameters, and the column that orders."""

    origin: str
    where: str
    params: list[Any]
    order: str


Lookup = Callable[[tuple[Clause, ...], str], Candidates]


def search(db: Db, asked: SearchQuery, lookup: Lookup, *, indexed_to: int | None = None) -> list[SearchHit]:
    """Up to `limit` hits. With `indexed_to`, later rows are read one by one: they are few."""
    clauses = parse_query(asked.text) if asked.text.strip() or not asked.tool else ()
    hits = _titles(db, asked, clauses)
    if indexed_to is not None:
        _collect(db, asked, clauses, Candidates("messages m", "m.id > ?", [indexed_to], "m.id"), hits, certain=False)
        asked = replace(asked, before=min(indexed_to + 1, FIRST_TITLE_RANK if asked.before is None else asked.before))
    _collect(db, asked, clauses, lookup(clauses, tool_term(asked.tool) if asked.tool else ""), hits, certain=True)
    return hits[: asked.limit]


def _collect(
    db: Db, asked: SearchQuery, clauses: tuple[Clause, ...], among: Candidates, hits: list[SearchHit], *, certain: bool
) -> None:
    """Goes through candidates page by page until there are enough hits."""
    filters, values = _filters(asked)
    check = any(clause.needs_check for clause in clauses)
    below, page = asked.before, asked.limit
    while len(hits) < asked.limit:
        bound, at = (f" AND {among.order} < ?", [below]) if below is not None else ("", [])
        rows = db.all(
            # CROSS: SQLite keeps this order of tables, which is the one that can stop early.
            f"{_SELECT} {among.origin} CROSS JOIN sessions s "
            f"WHERE s.id = m.session_id AND {among.where}{filters}{bound} ORDER BY {among.order} DESC LIMIT ?",
            [*among.params, *values, *at, page],
        )
        for row in rows:
            message = message_from(row)
            if certain and check and not matches_text(clauses, searchable(message)):
                continue
            if not certain and not is_hit(message, clauses, asked.tool):
                continue
            hits.append(_hit(row, clauses))
            if len(hits) >= asked.limit:
                return
        if len(rows) < page:
            return
        below, page = rows[-1]["id"], min(2 * page, _PAGE)


def _filters(asked: SearchQuery) -> tuple[str, list[Any]]:
    conditions, values = wanted(asked)
    where = f" AND {' AND '.join(conditions)} AND (m.active = 1 OR m.compacted = 1)"
    if asked.roles:
        where += f" AND m.role IN ({marks(asked.roles)})"
        values += map(escape, asked.roles)
    for condition, value in (
        ("m.session_id = ?", asked.session and escape(asked.session)),
        ("m.timestamp >= ?", asked.since),
        ("m.timestamp < ?", asked.until),
    ):
        if value is not None:
            where += f" AND {condition}"
            values.append(value)
    return where, values


def _hit(row: Row, clauses: tuple[Clause, ...]) -> SearchHit:
    message = message_from(row)
    return SearchHit(
        session=row["session_id"],
        seq=row["seq"],
        role=message.role,
        timestamp=message.timestamp,
        snippet=build_snippet(clauses, searchable(message)),
        title=unescape(row["title"]) if row["title"] else None,
        source=unescape(row["source"]),
        tool_name=message.tool_name,
        at=row["id"],
    )


def _titles(db: Db, asked: SearchQuery, clauses: tuple[Clause, ...]) -> list[SearchHit]:
    """Sessions whose title answers; filters that speak of messages leave no title over."""
    if asked.roles or asked.tool or asked.session or not clauses:
        return []
    if asked.before is not None and asked.before < FIRST_TITLE_RANK // 2:
        return []  # a page among messages
    conditions, params = wanted(asked)
    where = f"{' AND '.join(conditions)} AND s.title_terms IS NOT NULL"
    for condition, value in (("s.started_at >= ?", asked.since), ("s.started_at < ?", asked.until)):
        if value is not None:
            where += f" AND {condition}"
            params.append(value)
    for clause in clauses:
        condition, patterns = titled(clause)
        where += f" AND {condition}"
        params += patterns
    below = asked.before or FIRST_TITLE_RANK + 1
    is_certain = not any(clause.needs_check for clause in clauses)
    most = FIRST_TITLE_RANK + 1 - below + max(0, asked.limit) if is_certain else FIRST_TITLE_RANK
    rows = db.all(
        f"SELECT s.id, s.title, s.source, s.started_at FROM sessions s WHERE {where} "
        "ORDER BY s.last_active DESC, s.id DESC LIMIT ?",
        [*params, most],
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
        for at, row, title in islice((one for one in numbered if one[0] < below), max(0, asked.limit))
    ]
