"""The full-text index: each message has its terms in a tsvector column, written with the row."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sojourn.core.messages import Message
from sojourn.ports.store import SearchHit, SearchQuery
from sojourn.stores.sql.db import Db, Row, fetch_number
from sojourn.stores.sql.ranked_search import search_messages
from sojourn.stores.sql.rows import MESSAGE_COLUMNS, all_terms, message_from_row
from sojourn.stores.sql.search import Candidates, TermConditions
from sojourn.text.escape import escape
from sojourn.text.query import FIRST_TITLE_RANK

BATCH_ROWS = 256
_SAMPLE_ROWS = 1000  # newest rows that show whether a word is common
_MAX_TSVECTOR_BYTES = 1_000_000  # PostgreSQL takes 2^20
_SPECIAL = re.compile("['\\\\\x00\x1a\ud800-\udfff]")


def to_tsvector(message: Message) -> str:
    """Renders the terms of a message as a tsvector literal without positions: `'one' 'two'`."""
    terms = list(all_terms(message))
    if _SPECIAL.search("".join(terms)):
        terms = [_escape_term(term) for term in terms]
    if _is_too_long(terms):
        terms.sort()  # words come before stems and pairs of words, of which the text then lacks some
    while _is_too_long(terms):
        terms = terms[: len(terms) * 9 // 10]
    return "'" + "' '".join(terms) + "'" if terms else ""


def _is_too_long(terms: Sequence[str]) -> bool:
    text = "' '".join(terms)
    return len(text) * 4 > _MAX_TSVECTOR_BYTES and len(text.encode()) > _MAX_TSVECTOR_BYTES


class PostgresIndex:
    """The index as a search sees it."""

    indexed_to: int | None = None  # terms are written with their row

    def __init__(self, db: Db) -> None:
        self._db = db
        self.has_pairs = not read_underived_to(db)

    def select(self, conditions: TermConditions, before: int | None) -> Candidates:
        """Selects candidates by the index if the words are rare, or by scanning from the newest row if they are common.

        The index returns all rows of a word unordered, which is slow for a common word; a scan is slow for a
        rare one. A sample of the newest rows decides, as the planner's estimate is far off for unknown words.
        """
        tsquery = to_tsquery(conditions)
        order = self._set_plan(is_common=self._are_common([tsquery], before)[0])
        return Candidates("messages m", "m.terms @@ ?::tsquery", [tsquery], order)

    def _are_common(self, tsqueries: Sequence[str], before: int | None) -> list[bool]:
        """Decides for each query whether many of the newest rows match it."""
        top = min(before or FIRST_TITLE_RANK, fetch_number(self._db, "SELECT max(id) AS n FROM messages") + 1)
        counts = ", ".join(
            f"count(*) FILTER (WHERE terms @@ ?::tsquery) AS n{number}" for number in range(len(tsqueries))
        )
        sql = f"SELECT {counts} FROM messages WHERE id >= ? AND id < ?"
        row = self._db.fetch_one(sql, [*tsqueries, top - _SAMPLE_ROWS, top])
        assert row is not None
        return [row[f"n{number}"] * 100 >= _SAMPLE_ROWS for number in range(len(tsqueries))]

    def _set_plan(self, *, is_common: bool) -> str:
        """Chooses the plan of the next statements; returns the column that orders their rows."""
        by_index, by_scan = ("off", "on") if is_common else ("on", "off")
        self._db.execute_many(f"SET LOCAL enable_bitmapscan = {by_index}", [()])
        self._db.execute_many(f"SET LOCAL enable_seqscan = {by_scan}", [()])
        # `+ 0` keeps the planner from the primary key, so it uses the index on terms
        return "m.id" if is_common else "(m.id + 0)"

    def find_ids(self, searches: Sequence[TermConditions], limit: int) -> list[list[int]]:
        """Takes a few round trips for any number of searches."""
        found, tsqueries = [list[int]() for _ in searches], list(map(to_tsquery, searches))
        are_common = self._are_common(tsqueries, None) if tsqueries else []
        for is_common in set(are_common):
            numbers, order = (
                [n for n, one in enumerate(are_common) if one is is_common],
                self._set_plan(is_common=is_common),
            )
            each = f"(SELECT {{}} AS n, m.id FROM messages m WHERE m.terms @@ ?::tsquery ORDER BY {order} DESC LIMIT ?)"
            sql = " UNION ALL ".join(each.format(number) for number in numbers)
            params = [value for number in numbers for value in (tsqueries[number], limit)]
            for row in self._db.fetch_all(sql, params):
                found[row["n"]].append(row["id"])
        return found


def search(db: Db, query: SearchQuery) -> list[SearchHit]:
    return search_messages(db, query, PostgresIndex(db))


def read_underived_to(db: Db) -> int:
    """Returns the last row whose terms lack stems and pairs of words."""
    return fetch_number(db, "SELECT value::bigint AS n FROM meta WHERE key = 'underived_to'")


def derive_batch(db: Db) -> int:
    """Completes the terms of some rows that an older version has written, newest first; returns their number."""
    row = db.fetch_one("SELECT value::bigint AS n FROM meta WHERE key = 'underived_to' FOR UPDATE")
    if row is None:
        return 0
    sql = f"SELECT id, {', '.join(MESSAGE_COLUMNS)} FROM messages WHERE id <= ? ORDER BY id DESC LIMIT ?"
    rows = db.fetch_all(sql, (row["n"], BATCH_ROWS))
    save_terms(db, rows)
    if rows:
        db.execute("UPDATE meta SET value = ? WHERE key = 'underived_to'", (str(rows[-1]["id"] - 1),))
    else:
        db.execute("DELETE FROM meta WHERE key = 'underived_to'")
    return len(rows)


def save_terms(db: Db, rows: Sequence[Row]) -> None:
    """Writes the terms of messages anew."""
    values = [(to_tsvector(message_from_row(row)), row["id"]) for row in rows]
    db.execute_many("UPDATE messages SET terms = ?::tsvector WHERE id = ?", values)


def to_tsquery(conditions: TermConditions) -> str:
    """Renders conditions as a tsquery literal: `('one' | 'two') & ('three':*)`."""
    return " & ".join(f"({' | '.join(map(_render_term, terms))})" for terms in conditions)


def _render_term(term: str) -> str:
    return f"{_quote(term[:-1])}:*" if term.endswith("*") else _quote(term)


def _quote(term: str) -> str:
    return f"'{_escape_term(term)}'"


def _escape_term(term: str) -> str:
    """Escapes a term for a quoted literal."""
    return escape(term).replace("\\", "\\\\").replace("'", "''")
