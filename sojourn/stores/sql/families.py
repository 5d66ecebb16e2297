"""Families: a session with its sub-agents, and the branches that continue it."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.core.sessions import SessionId
from sojourn.stores.sql.db import Db, placeholders
from sojourn.text.escape import escape

_MAX_DEPTH = 32  # generations of sub-agents


def find_family(db: Db, session: SessionId) -> list[str]:
    """Returns the ids of a session and its sub-agents. Branches are not included: they are sessions of their own."""
    family = parents = [escape(session)]
    for _ in range(_MAX_DEPTH):
        rows = db.fetch_all(
            f"SELECT id FROM sessions WHERE parent_session_id IN ({placeholders(parents)}) "
            "AND (source = 'subagent' OR model_config LIKE ?)",
            [*parents, '%"_delegate_from"%'],
        )
        parents = [row["id"] for row in rows if row["id"] not in family]
        if not parents:
            break
        family = [*family, *parents]
    return family


def adopt_copies(db: Db, members: Sequence[str]) -> None:
    """Before sessions are deleted: their branches own the copied messages from now on, and name what is left."""
    for member in members:
        row = db.fetch_one("SELECT branched_from, copied FROM sessions WHERE id = ?", (member,))
        if row is not None:
            db.execute(
                "UPDATE sessions SET branched_from = ?, copied = CASE WHEN copied < ? THEN copied ELSE ? END "
                "WHERE branched_from >= ? AND branched_from < ?",
                (row["branched_from"], row["copied"], row["copied"], f"{member}:", f"{member};"),
            )
