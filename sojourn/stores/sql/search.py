"""Search: an index narrows down, `core.finding` decides. Most recently kept first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from sojourn.core.finding import Clause, answers, matches, parse, snippet
from sojourn.core.rows import MESSAGE_COLUMNS, is_hit, message_from, searchable
from sojourn.core.terms import tool_term
from sojourn.core.text import unescape
from sojourn.ports.store import Hit, Search
from sojourn.stores.sql.db import Db, Row, marks

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
    hits = _titles(db, asked, clauses) if asked.before is None else []
    if indexed_to is not None:
        _collect(db, asked, clauses, Candidates("messages m", "m.id > ?", [indexed_to], "m.id"), hits, certain=False)
    _collect(db, asked, clauses, lookup(clauses, tool_term(asked.tool) if asked.tool else ""), hits, certain=True)
    return hits[: asked.limit]


def _collect(
    db: Db, asked: Search, clauses: tuple[Clause, ...], among: Candidates, hits: list[Hit], *, certain: bool,
) -> None:  # fmt: skip
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
            if certain and check and not answers(clauses, searchable(message)):
                continue
            if not certain and not is_hit(message, clauses, asked.tool):
                continue
            hits.append(_hit(row, clauses))
            if len(hits) >= asked.limit:
                return
        if len(rows) < page:
            return
        below, page = rows[-1]["id"], min(2 * page, _PAGE)


def _filters(asked: Search) -> tuple[str, list[Any]]:
    where = " AND s.principal = ? AND (m.active = 1 OR m.compacted = 1)"
    values: list[Any] = [asked.principal]
    for column, wanted in (("m.role", asked.roles), ("s.source", asked.sources)):
        if wanted:
            where += f" AND {column} IN ({marks(wanted)})"
            values += wanted
    for condition, value in (
        ("m.session_id = ?", asked.session), ("m.timestamp >= ?", asked.since), ("m.timestamp < ?", asked.until)
    ):  # fmt: skip
        if value is not None:
            where += f" AND {condition}"
            values.append(value)
    return where, values


def _hit(row: Row, clauses: tuple[Clause, ...]) -> Hit:
    message = message_from(row)
    return Hit(
        session=row["session_id"], seq=row["seq"], role=message.role, timestamp=message.timestamp,
        snippet=snippet(clauses, searchable(message)), title=unescape(row["title"]) if row["title"] else None,
        source=row["source"], tool_name=message.tool_name, at=row["id"],
    )  # fmt: skip


def _titles(db: Db, asked: Search, clauses: tuple[Clause, ...]) -> list[Hit]:
    """Sessions whose title answers; filters that speak of messages leave no title over."""
    if asked.roles or asked.tool or asked.session or not clauses:
        return []
    where = "s.principal = ? AND s.title_terms IS NOT NULL"
    params: list[Any] = [asked.principal]
    if asked.sources:
        where += f" AND s.source IN ({marks(asked.sources)})"
        params += asked.sources
    for condition, value in (("s.started_at >= ?", asked.since), ("s.started_at < ?", asked.until)):
        if value is not None:
            where += f" AND {condition}"
            params.append(value)
    for clause in clauses:
        pattern = f"% {clause.phrase[0]}{'' if clause.prefix and len(clause.phrase) == 1 else ' '}%"
        where += " AND (s.title_terms LIKE ? OR s.title_terms LIKE ?)"
        params += [pattern, f"% {clause.joined or clause.phrase[0]} %"]
    rows = db.all(
        f"SELECT s.id, s.title, s.source, s.started_at FROM sessions s WHERE {where} "
        "ORDER BY s.last_active DESC, s.id DESC LIMIT 200",
        params,
    )
    titled = ((row, unescape(row["title"])) for row in rows)
    return [
        Hit(session=row["id"], seq=0, role="title", timestamp=row["started_at"], title=title, source=row["source"],
            snippet=snippet(clauses, title))
        for row, title in titled if matches(clauses, title)
    ][: asked.limit]  # fmt: skip
