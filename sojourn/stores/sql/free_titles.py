"""Free titles: a person's titles are unique, so a title from elsewhere may need a number."""

from __future__ import annotations

from typing import Any

from sojourn.core.errors import BadTitle
from sojourn.core.sessions import Principal, clean_title
from sojourn.stores.sql.db import Db
from sojourn.stores.sql.rows import to_stored_text


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
    wanted, number = title, 1
    while db.fetch_one(
        "SELECT 1 AS found FROM sessions WHERE principal = ? AND title = ?",
        (principal, to_stored_text(wanted, db.redact)),
    ):
        number += 1
        wanted = f"{title[:92]} #{number}"
    return wanted, f'title "{title}" was taken; stored as "{wanted}"' if wanted != title else ""
