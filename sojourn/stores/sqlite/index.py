"""The full-text index (FTS5). It is filled after the commit, so an append costs no more on a big store.

Rows up to `indexed_to` are in the index; a search reads the few rows after it one by one. One
process at a time fills the index, each step in a short transaction.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sojourn.stores.sql.db import Db, fetch_number
from sojourn.stores.sql.rows import MESSAGE_COLUMNS, index_terms, message_from_row
from sojourn.stores.sql.search import Candidates
from sojourn.text.query import Clause
from sojourn.text.tokenizer import TOKENIZER_VERSION

BATCH_ROWS = 256  # rows in one transaction of the indexer
_COLUMNS = ", ".join(MESSAGE_COLUMNS)


def indexed_to(db: Db) -> int:
    """Returns the last row in the index; 0 if another version of the tokenizer built it."""
    row = db.fetch_one("SELECT value FROM meta WHERE key = 'indexed_to'")
    version, _, upto = (row["value"] if row else "0:0").partition(":")
    return int(upto) if int(version) == TOKENIZER_VERSION else 0


def count_waiting(db: Db) -> int:
    return fetch_number(db, "SELECT count(*) AS n FROM messages WHERE id > ?", (indexed_to(db),))


def has_more_waiting(db: Db, limit: int) -> bool:
    """Whether more than `limit` rows are not indexed yet."""
    sql = "SELECT 1 AS found FROM messages WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?"
    return db.fetch_one(sql, (indexed_to(db), limit)) is not None


def read_waiting(db: Db, after: int, limit: int = BATCH_ROWS) -> list[tuple[int, str]]:
    """Returns the next rows with their terms. Reads only, so tokenizing blocks no writer."""
    rows = db.fetch_all(f"SELECT id, {_COLUMNS} FROM messages WHERE id > ? ORDER BY id LIMIT ?", (after, limit))
    return [(row["id"], join_terms(row)) for row in rows]


def join_terms(row: Any) -> str:
    return " ".join(sorted(index_terms(message_from_row(row))))


def insert_terms(db: Db, after: int, entries: Sequence[tuple[int, str]]) -> None:
    """Adds rows to the index, unless another process has added them since they were read."""
    if indexed_to(db) != after:
        return
    if after == 0:  # the index is empty, or outdated
        db.execute("INSERT INTO search_index(search_index) VALUES ('delete-all')")
    db.execute_many("INSERT INTO search_index(rowid, terms) VALUES (?, ?)", entries)
    _set_indexed_to(db, entries[-1][0])


def _set_indexed_to(db: Db, row_id: int) -> None:
    db.execute(
        "INSERT INTO meta(key, value) VALUES ('indexed_to', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (f"{TOKENIZER_VERSION}:{row_id}",),
    )


def reset_if_covers(db: Db, row_id: int) -> None:
    """Makes the indexer rebuild the index if imported rows have ids that it regards as indexed."""
    if row_id <= indexed_to(db):
        _set_indexed_to(db, 0)


def remove_sessions(db: Db, sessions: Sequence[str]) -> None:
    """Removes the rows of sessions from the index; must run before they are deleted."""
    upto = indexed_to(db)
    for session in sessions:
        rows = db.fetch_all(f"SELECT id, {_COLUMNS} FROM messages WHERE session_id = ? AND id <= ?", (session, upto))
        db.execute_many(
            "INSERT INTO search_index(search_index, rowid, terms) VALUES ('delete', ?, ?)",
            ((row["id"], join_terms(row)) for row in rows),
        )


def lookup(clauses: tuple[Clause, ...], tool: str) -> Candidates:
    """Selects candidates from the index, in the order of their ids."""
    match = " AND ".join([*(_match_clause(clause) for clause in clauses), *([f'"{tool}"'] if tool else [])])
    return Candidates(
        "search_index f CROSS JOIN messages m", "m.id = f.rowid AND search_index MATCH ?", [match], "f.rowid"
    )


def _match_clause(clause: Clause) -> str:
    *whole, last = clause.phrase
    terms = [f'"{term}"' for term in whole] + [f'"{last}"' + ("*" if clause.prefix else "")]
    phrase = f"({' AND '.join(terms)})"
    return f'({phrase} OR "{clause.joined}")' if clause.joined else phrase
