"""The full-text index: each message has its terms in a tsvector column, written with the row."""

from __future__ import annotations

import re
from functools import partial

from sojourn.core.messages import Message
from sojourn.ports.store import SearchHit, SearchQuery
from sojourn.stores.sql.db import Db, fetch_number
from sojourn.stores.sql.rows import index_terms
from sojourn.stores.sql.search import Candidates, search_messages
from sojourn.text.escape import escape
from sojourn.text.query import FIRST_TITLE_RANK, Clause

_SAMPLE_ROWS = 1000  # newest rows that show whether a word is common
_MAX_TSVECTOR_BYTES = 1_000_000  # PostgreSQL takes 2^20
_SPECIAL = re.compile("['\\\\\x00\x1a\ud800-\udfff]")


def to_tsvector(message: Message) -> str:
    """Renders the terms of a message as a tsvector literal without positions: `'one' 'two'`."""
    terms = sorted(index_terms(message))
    if _SPECIAL.search("".join(terms)):
        terms = [_escape_term(term) for term in terms]
    while (
        terms and len(text := "' '".join(terms)) * 4 > _MAX_TSVECTOR_BYTES and len(text.encode()) > _MAX_TSVECTOR_BYTES
    ):
        terms = terms[: len(terms) * 9 // 10]
    return "'" + "' '".join(terms) + "'" if terms else ""


def search(db: Db, query: SearchQuery) -> list[SearchHit]:
    return search_messages(db, query, partial(lookup, db, query.before))


def lookup(db: Db, before: int | None, clauses: tuple[Clause, ...], tool: str) -> Candidates:
    """Selects candidates by the index if the words are rare, or by scanning from the newest row if they are common.

    The index returns all rows of a word unordered, which is slow for a common word; a scan is slow for a
    rare one. A sample of the newest rows decides, as the planner's estimate is far off for unknown words.
    """
    tsquery = to_tsquery(clauses, tool)
    top = min(before or FIRST_TITLE_RANK, fetch_number(db, "SELECT max(id) AS n FROM messages") + 1)
    sample = "SELECT count(*) AS n FROM messages WHERE id >= ? AND id < ? AND terms @@ ?::tsquery"
    is_common = fetch_number(db, sample, (top - _SAMPLE_ROWS, top, tsquery)) * 100 >= _SAMPLE_ROWS
    db.execute_many(f"SET LOCAL {'enable_bitmapscan' if is_common else 'enable_seqscan'} = off", [()])
    # `+ 0` keeps the planner from the primary key, so it uses the index on terms
    return Candidates("messages m", "m.terms @@ ?::tsquery", [tsquery], "m.id" if is_common else "(m.id + 0)")


def to_tsquery(clauses: tuple[Clause, ...], tool: str) -> str:
    """Renders the query as a tsquery literal: `('one' & 'two' | 'onetwo') & 'three':*`."""
    return " & ".join([*(_render_clause(clause) for clause in clauses), *([_quote(tool)] if tool else [])])


def _render_clause(clause: Clause) -> str:
    *whole, last = clause.phrase
    phrase = " & ".join([*map(_quote, whole), _quote(last) + (":*" if clause.prefix else "")])
    return f"({phrase} | {_quote(clause.joined)})" if clause.joined else f"({phrase})"


def _quote(term: str) -> str:
    return f"'{_escape_term(term)}'"


def _escape_term(term: str) -> str:
    """Escapes a term for a quoted literal."""
    return escape(term).replace("\\", "\\\\").replace("'", "''")
