"""The search index is filled behind the writers, so that an append costs no more on a big store.

Rows up to `indexed_to` are in the index; the few after it are read one by one when somebody
searches. One process at a time fills; each step is a short transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sojourn.core.finding import Clause
from sojourn.core.terms import VERSION
from sojourn.stores.sql.db import Db
from sojourn.stores.sql.rows import MESSAGE_COLUMNS, index_terms, message_from_row
from sojourn.stores.sql.search import Candidates

STEP = 256
_COLUMNS = ", ".join(MESSAGE_COLUMNS)


def indexed_to(db: Db) -> int:
    """The last row the index covers; 0 when it was built by another tokenizer."""
    row = db.one("SELECT value FROM meta WHERE key = 'indexed_to'")
    version, _, upto = (row["value"] if row else "0:0").partition(":")
    return int(upto) if int(version) == VERSION else 0


def waiting(db: Db) -> int:
    row = db.one("SELECT count(*) AS n FROM messages WHERE id > ?", (indexed_to(db),))
    return int(row["n"]) if row else 0


def waiting_more_than(most: int) -> Callable[[Db], bool]:
    """Whether more rows wait than a search should read one by one."""

    def ask(db: Db) -> bool:
        sql = "SELECT 1 AS found FROM messages WHERE id > ? ORDER BY id LIMIT 1 OFFSET ?"
        return db.one(sql, (indexed_to(db), most)) is not None

    return ask


def prepare(db: Db, after: int, limit: int = STEP) -> list[tuple[int, str]]:
    """The next rows with their terms. Reads only: tokenizing holds nobody up."""
    rows = db.all(f"SELECT id, {_COLUMNS} FROM messages WHERE id > ? ORDER BY id LIMIT ?", (after, limit))
    return [(row["id"], words(row)) for row in rows]


def words(row: Any) -> str:
    return " ".join(sorted(index_terms(message_from_row(row))))


def fill(db: Db, after: int, entries: Sequence[tuple[int, str]]) -> bool:
    """Adds prepared rows if nobody else did in the meantime."""
    if indexed_to(db) != after:
        return False
    if after == 0:  # from the beginning: nothing, or built by another tokenizer, or of rows that are gone
        db.run("INSERT INTO search_index(search_index) VALUES ('delete-all')")
    db.many("INSERT INTO search_index(rowid, terms) VALUES (?, ?)", entries)
    _set(db, entries[-1][0])
    return True


def _set(db: Db, upto: int) -> None:
    db.run(
        "INSERT INTO meta(key, value) VALUES ('indexed_to', ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
        (f"{VERSION}:{upto}",),
    )


def forget_rows_before(db: Db, row: int) -> None:
    """Rows came with numbers of their own: if the index counts them as done already, it is built anew."""
    if row <= indexed_to(db):
        _set(db, 0)


def drop(db: Db, sessions: Sequence[str]) -> None:
    """Takes the rows of sessions out of the index, before they are deleted."""
    upto = indexed_to(db)
    for session in sessions:
        rows = db.all(f"SELECT id, {_COLUMNS} FROM messages WHERE session_id = ? AND id <= ?", (session, upto))
        db.many(
            "INSERT INTO search_index(search_index, rowid, terms) VALUES ('delete', ?, ?)",
            ((row["id"], words(row)) for row in rows),
        )


def lookup(clauses: tuple[Clause, ...], tool: str) -> Candidates:
    """Narrows down by the index, in its own order."""
    asked = " AND ".join([*(_clause(clause) for clause in clauses), *([f'"{tool}"'] if tool else [])])
    return Candidates(
        "search_index f CROSS JOIN messages m", "m.id = f.rowid AND search_index MATCH ?", [asked], "f.rowid"
    )


def _clause(clause: Clause) -> str:
    *whole, last = clause.phrase
    terms = [f'"{term}"' for term in whole] + [f'"{last}"' + ("*" if clause.prefix else "")]
    phrase = f"({' AND '.join(terms)})"
    return f'({phrase} OR "{clause.joined}")' if clause.joined else phrase
