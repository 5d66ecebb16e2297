"""Free titles: a person's titles are unique, so a title that nobody typed may need a number."""

from __future__ import annotations

from itertools import count
from typing import Any

from sojourn.core.errors import BadTitle
from sojourn.core.sessions import Principal
from sojourn.stores.sql.db import Conditions, Db
from sojourn.stores.sql.rows import to_stored_text
from sojourn.text.escape import unescape
from sojourn.text.titles import MAX_TITLE_CHARS, clean_title

_MAX_NUMBER_CHARS = 8


def number_title(db: Db, principal: Principal, title: str, *, before: str = " (", behind: str = ")") -> str:
    """Returns a title, with the lowest free number if it is taken: `hi (2)`."""
    taken = (principal, to_stored_text(title, db.redact))
    if db.fetch_one("SELECT 1 AS found FROM sessions WHERE principal = ? AND title = ?", taken) is None:
        return title
    start, numbered = title[: MAX_TITLE_CHARS - _MAX_NUMBER_CHARS] + before, Conditions()
    numbered.add("principal = ?", principal)
    numbered.add_prefix(f"title{db.collate}", start)
    rows = db.fetch_all(f"SELECT title FROM sessions WHERE {numbered}", numbered.params)
    titles = {unescape(row["title"]) for row in rows}
    return next(one for one in (f"{start}{number}{behind}" for number in count(2)) if one not in titles)


def find_free_title(db: Db, principal: Principal, raw: Any) -> tuple[str | None, str]:
    """Returns a foreign title, shortened and numbered to be unique, and a note if it had to change."""
    if not isinstance(raw, str) or not raw.strip():
        return None, ""
    try:
        title = clean_title(raw)
    except BadTitle:
        title = clean_title(raw[:90])
    if title is None:
        return None, ""
    free = number_title(db, principal, title, before=" #", behind="")
    return free, f'title "{title}" was taken; stored as "{free}"' if free != title else ""
