"""The full-text index (FTS5). It is filled after the commit, so an append costs no more on a big store.

Rows up to `indexed_to` are in the index; a search reads the few rows after it one by one. One
process at a time fills the index, each step in a short transaction. Rows up to `underived_to` were indexed by an
older version: they have their words, and get their stems and pairs of words behind the scenes.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from sojourn.core.messages import Message
from sojourn.ports.store import SearchHit, SearchQuery
from sojourn.stores.sql.db import Db, fetch_number, insert_rows
from sojourn.stores.sql.ranked_search import search_messages
from sojourn.stores.sql.rows import all_terms, derived_terms, index_terms
from sojourn.stores.sql.search import Candidates, TermConditions
from sojourn.text.escape import unescape
from sojourn.text.tokenizer import TOKENIZER_VERSION

BATCH_ROWS = 256  # rows in one transaction of the indexer
_OLDER_VERSIONS = (1, 2)  # of tokenizers that knew the same words, but no stems or not those of all languages
_INSERT = "INSERT INTO search_index(rowid, terms) VALUES (?, ?)"
_TEXT_COLUMNS = ("role", "content", "structured", "tool_calls", "tool_name")  # what is searched
_COLUMNS = ", ".join(_TEXT_COLUMNS)
_SEARCHES_AT_ONCE = 50  # SQLite takes 500 parts of a UNION
_FIND_IDS = (
    "SELECT {number} AS n, json_group_array(id) AS ids FROM (SELECT rowid AS id FROM search_index "
    "WHERE search_index MATCH ? ORDER BY rowid DESC LIMIT ?)"
)


Entries = list[tuple[int, str]]  # ids of rows with their terms


class IndexState(NamedTuple):
    """How far the index is filled."""

    indexed_to: int  # the last row with its words
    underived_to: int  # the last row without stems and pairs of words


_EMPTY = IndexState(0, 0)


def read_state(db: Db) -> IndexState:
    """Returns how far the index is filled; an index of an unknown version counts as empty."""
    rows = db.fetch_all("SELECT key, value FROM meta WHERE key IN ('indexed_to', 'underived_to')")
    values = {row["key"]: row["value"] for row in rows}
    version, _, upto = values.get("indexed_to", "0:0").partition(":")
    if int(version) in _OLDER_VERSIONS:
        return IndexState(int(upto), int(upto))
    return IndexState(int(upto), int(values.get("underived_to", 0))) if int(version) == TOKENIZER_VERSION else _EMPTY


def count_waiting(db: Db) -> int:
    """Counts the rows that are not, or not completely, in the index."""
    return fetch_number(db, "SELECT count(*) AS n FROM messages WHERE id > ? OR id <= ?", read_state(db))


def has_more_waiting(db: Db, state: IndexState, limit: int) -> bool:
    """Whether more than `limit` rows are not indexed yet."""
    sql = "SELECT 1 AS found FROM messages WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?"
    return db.fetch_one(sql, (state.indexed_to, limit)) is not None


def read_rows(db: Db, after: int, limit: int = BATCH_ROWS) -> Entries:
    """Returns the next rows with their terms. Reads only, so tokenizing blocks no writer."""
    sql = f"SELECT id, {_COLUMNS} FROM messages WHERE id > ? ORDER BY id LIMIT ?"
    return [(row["id"], join_terms(row)) for row in db.fetch_all(sql, (after, limit))]


def read_underived(db: Db, state: IndexState, limit: int = BATCH_ROWS) -> Entries:
    """Returns the newest rows without stems and pairs, with these terms."""
    sql = f"SELECT id, {_COLUMNS} FROM messages WHERE id <= ? ORDER BY id DESC LIMIT ?"
    rows = db.fetch_all(sql, (state.underived_to, limit)) if state.underived_to else []
    return [(row["id"], " ".join(derived_terms(_to_message(row)))) for row in rows]


def join_terms(row: Any, *, derived: bool = True) -> str:
    message = _to_message(row)
    return " ".join(all_terms(message) if derived else index_terms(message))


def _to_message(row: Any) -> Message:
    """What is searched of a message."""
    values: dict[str, Any] = {
        name: unescape(row[name]) if isinstance(row[name], str) else row[name] for name in _TEXT_COLUMNS
    }
    return Message(**values)


def insert_terms(db: Db, state: IndexState, entries: Entries) -> None:
    """Adds rows to the index, unless they were deleted or another process has added them since they were read."""
    if read_state(db) != state:
        return
    if state == _EMPTY:  # or outdated
        db.execute("INSERT INTO search_index(search_index) VALUES ('delete-all')")
    rows = db.fetch_all("SELECT id FROM messages WHERE id BETWEEN ? AND ?", (entries[0][0], entries[-1][0]))
    there = {row["id"] for row in rows}
    insert_rows(db, "search_index", ("rowid", "terms"), [entry for entry in entries if entry[0] in there])
    _save_state(db, IndexState(entries[-1][0], state.underived_to))


def insert_derived(db: Db, state: IndexState, entries: Entries) -> None:
    """Adds stems and pairs of rows that are in the index without them."""
    if read_state(db) == state:
        db.execute_many(_INSERT, ((id, terms) for id, terms in entries if terms))
        _save_state(db, IndexState(state.indexed_to, entries[-1][0] - 1))


def finish_derived(db: Db) -> None:
    """Notes that no row lacks stems and pairs."""
    _save_state(db, IndexState(read_state(db).indexed_to, 0))


def _save_state(db: Db, state: IndexState) -> None:
    entries = (("indexed_to", f"{TOKENIZER_VERSION}:{state.indexed_to}"), ("underived_to", str(state.underived_to)))
    db.execute_many(
        "INSERT INTO meta(key, value) VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value", entries
    )


def reset_if_covers(db: Db, row_id: int) -> None:
    """Makes the indexer rebuild the index if imported rows have ids that it regards as indexed."""
    if row_id <= read_state(db).indexed_to:
        _save_state(db, _EMPTY)


def remove_sessions(db: Db, sessions: Sequence[str]) -> None:
    """Removes the rows of sessions from the index; must run before they are deleted."""
    upto, underived_to = read_state(db)
    for session in sessions:
        rows = db.fetch_all(f"SELECT id, {_COLUMNS} FROM messages WHERE session_id = ? AND id <= ?", (session, upto))
        db.execute_many(
            "INSERT INTO search_index(search_index, rowid, terms) VALUES ('delete', ?, ?)",
            ((row["id"], join_terms(row, derived=row["id"] > underived_to)) for row in rows),
        )


class SqliteIndex:
    """The index as a search sees it."""

    def __init__(self, db: Db, state: IndexState) -> None:
        self._db = db
        self.indexed_to: int | None = state.indexed_to
        self.has_pairs = not state.underived_to

    def select(self, conditions: TermConditions, before: int | None) -> Candidates:
        match = [_match(conditions)]
        where = "m.id = f.rowid AND search_index MATCH ?"
        return Candidates("search_index f CROSS JOIN messages m", where, match, "f.rowid")

    def find_ids(self, searches: Sequence[TermConditions], limit: int) -> list[list[int]]:
        """One statement for many words, one row for each: a row costs more than the ids in it, and each statement hands
        the interpreter's lock to other threads and back."""
        found: list[list[int]] = [[] for _ in searches]
        for start in range(0, len(searches), _SEARCHES_AT_ONCE):
            some = searches[start : start + _SEARCHES_AT_ONCE]
            sql = " UNION ALL ".join(_FIND_IDS.format(number=start + at) for at in range(len(some)))
            params = [value for one in some for value in (_match(one), limit)]
            for row in self._db.fetch_all(sql, params):
                found[row["n"]] = json.loads(row["ids"])
        return found


def search(db: Db, query: SearchQuery, state: IndexState | None = None) -> list[SearchHit]:
    return search_messages(db, query, SqliteIndex(db, state or read_state(db)))


def _match(conditions: TermConditions) -> str:
    return " AND ".join(f"({' OR '.join(map(_quote, dict.fromkeys(terms)))})" for terms in conditions)


def _quote(term: str) -> str:
    return f'"{term[:-1]}"*' if term.endswith("*") else f'"{term}"'
