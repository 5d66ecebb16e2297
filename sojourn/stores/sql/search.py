"""Search: an index narrows down, `core.finding` decides. Most recently kept first."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Any, NamedTuple

from sojourn.core.finding import FIRST_TITLE, Clause, answers, matches, parse, snippet
from sojourn.core.terms import tool_term
from sojourn.core.text import escape, unescape
from sojourn.ports.store import Hit, Search
from sojourn.stores.sql.db import Db, Row, marks
from sojourn.stores.sql.rows import MESSAGE_COLUMNS, matches_query, message_from_row, searchable_text
from sojourn.stores.sql.sessions import titled, wanted

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


def search(db: Db, asked: Search, lookup: Lookup, *, indexed_to: int | None = None) -> list[Hit]:
    """Up to `limit` hits. With `indexed_to`, later rows are read one by one: they are few."""
    clauses = parse(asked.text) if asked.text.strip() or not asked.tool else ()
    hits = _titles(db, asked, clauses)
    if indexed_to is not None:
        _collect(db, asked, clauses, Candidates("messages m", "m.id > ?", [indexed_to], "m.id"), hits, certain=False)
        asked = replace(asked, before=min(indexed_to + 1, FIRST_TITLE if asked.before is None else asked.before))
    _collect(db, asked, clauses, lookup(clauses, tool_term(asked.tool) if asked.tool else ""), hits, certain=True)
    return hits[: asked.limit]


def _collect(
    db: Db, asked: Search, clauses: tuple[Clause, ...], among: Candidates, hits: list[Hit], *, certain: bool
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
            message = message_from_row(row)
            if certain and check and not answers(clauses, searchable_text(message)):
                continue
            if not certain and not matches_query(message, clauses, asked.tool):
                continue
            hits.append(_hit(row, clauses))
            if len(hits) >= asked.limit:
                return
        if len(rows) < page:
            return
        below, page = rows[-1]["id"], min(2 * page, _PAGE)


def _filters(asked: Search) -> tuple[str, list[Any]]:
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


def _hit(row: Row, clauses: tuple[Clause, ...]) -> Hit:
    message = message_from_row(row)
    return Hit(
        session=row["session_id"],
        seq=row["seq"],
        role=message.role,
        timestamp=message.timestamp,
        snippet=snippet(clauses, searchable_text(message)),
        title=unescape(row["title"]) if row["title"] else None,
        source=unescape(row["source"]),
        tool_name=message.tool_name,
        at=row["id"],
    )


def _titles(db: Db, asked: Search, clauses: tuple[Clause, ...]) -> list[Hit]:
    """Sessions whose title answers; filters that speak of messages leave no title over."""
    if asked.roles or asked.tool or asked.session or not clauses:
        return []
    if asked.before is not None and asked.before < FIRST_TITLE // 2:
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
    below = asked.before or FIRST_TITLE + 1
    is_certain = not any(clause.needs_check for clause in clauses)
    most = FIRST_TITLE + 1 - below + max(0, asked.limit) if is_certain else FIRST_TITLE
    rows = db.all(
        f"SELECT s.id, s.title, s.source, s.started_at FROM sessions s WHERE {where} "
        "ORDER BY s.last_active DESC, s.id DESC LIMIT ?",
        [*params, most],
    )
    found = ((row, title) for row in rows if matches(clauses, title := unescape(row["title"])))
    numbered = ((FIRST_TITLE - rank, row, title) for rank, (row, title) in enumerate(found))
    return [
        Hit(
            session=row["id"],
            seq=0,
            role="title",
            timestamp=row["started_at"],
            title=title,
            at=at,
            source=unescape(row["source"]),
            snippet=snippet(clauses, title),
        )
        for at, row, title in islice((one for one in numbered if one[0] < below), max(0, asked.limit))
    ]
