"""Finding messages: each row carries its terms as a tsvector, written with the row itself."""

from __future__ import annotations

import re
from functools import partial

from sojourn.core.finding import FIRST_TITLE, Clause
from sojourn.core.messages import Message
from sojourn.core.text import escape
from sojourn.ports.store import Hit, Search
from sojourn.stores.sql.db import Db
from sojourn.stores.sql.rows import index_terms
from sojourn.stores.sql.search import Candidates, search

_NEWEST = 1000  # rows that show whether a word is common
_MOST = 1_000_000  # bytes; PostgreSQL takes 2^20 in one tsvector
_SPECIAL = re.compile("['\\\\\x00\x1a\ud800-\udfff]")


def literal(message: Message) -> str:
    """Everything a message is found under, as PostgreSQL reads it: `'one' 'two'`, without places."""
    terms = sorted(index_terms(message))
    if _SPECIAL.search("".join(terms)):
        terms = [_bare(term) for term in terms]
    while terms and len(text := "' '".join(terms)) * 4 > _MOST and len(text.encode()) > _MOST:
        terms = terms[: len(terms) * 9 // 10]
    return "'" + "' '".join(terms) + "'" if terms else ""


def find(db: Db, asked: Search) -> list[Hit]:
    return search(db, asked, partial(lookup, db, asked.before))


def lookup(db: Db, before: int | None, clauses: tuple[Clause, ...], tool: str) -> Candidates:
    """The index gives all rows of a word at once and in no order, which is slow for a common word; going
    through the rows from the newest is slow for a rare one. The newest rows tell which it is: the server's
    own guess is far off for words it has no figures about."""
    asked = query(clauses, tool)
    row = db.one("SELECT max(id) AS newest FROM messages")
    top = min(before or FIRST_TITLE, (row["newest"] or 0 if row else 0) + 1)
    row = db.one(
        "SELECT count(*) AS n FROM messages WHERE id >= ? AND id < ? AND terms @@ ?::tsquery",
        (top - _NEWEST, top, asked),
    )
    is_common = row is not None and row["n"] * 100 >= _NEWEST
    db.many(f"SET LOCAL {'enable_bitmapscan' if is_common else 'enable_seqscan'} = off", [()])
    # `+ 0` is an order the primary key does not have, so that leaves the index
    return Candidates("messages m", "m.terms @@ ?::tsquery", [asked], "m.id" if is_common else "(m.id + 0)")


def query(clauses: tuple[Clause, ...], tool: str) -> str:
    """What is asked for, as PostgreSQL reads it: `('one' & 'two' | 'onetwo') & 'three':*`."""
    return " & ".join([*(_clause(clause) for clause in clauses), *([_quoted(tool)] if tool else [])])


def _clause(clause: Clause) -> str:
    *whole, last = clause.phrase
    phrase = " & ".join([*map(_quoted, whole), _quoted(last) + (":*" if clause.prefix else "")])
    return f"({phrase} | {_quoted(clause.joined)})" if clause.joined else f"({phrase})"


def _quoted(term: str) -> str:
    return f"'{_bare(term)}'"


def _bare(term: str) -> str:
    """A term as it stands between quotes, meaning only itself."""
    return escape(term).replace("\\", "\\\\").replace("'", "''")
