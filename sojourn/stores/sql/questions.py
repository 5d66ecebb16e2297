"""Pending questions: the exact text of each, from the transaction that asks to the one that settles it."""

from __future__ import annotations

from collections.abc import Sequence

from sojourn.core.events import Done, Progress, Yielded
from sojourn.core.sessions import SessionId
from sojourn.ports.store import PendingQuestion
from sojourn.stores.sql.db import Db, insert_statement
from sojourn.text.escape import escape, unescape

_COLUMNS = ("session_id", "id", "turn_id", "exact", "sha256", "asked_at")
_PUT = insert_statement("questions", _COLUMNS) + (
    " ON CONFLICT (session_id, id) DO UPDATE SET turn_id = excluded.turn_id, exact = excluded.exact, "
    "sha256 = excluded.sha256, asked_at = excluded.asked_at"
)


def put_question(db: Db, session: SessionId, asked: PendingQuestion) -> None:
    """Stores the exact text of a question. It is not redacted: the person has to see what will run."""
    db.execute(_PUT, (session, escape(asked.id), asked.turn, escape(asked.exact), asked.sha256, db.now()))


def settle_questions(db: Db, session: SessionId, items: Sequence[Yielded]) -> None:
    """Deletes the questions that items of the log settle: an answered one, or all when the turn is done."""
    for item in items:
        if isinstance(item, Done):
            db.execute_many("DELETE FROM questions WHERE session_id = ?", [(session,)])
        elif isinstance(item, Progress) and item.stage == "approval" and item.detail.get("status") != "asked":
            answered = escape(str(item.detail.get("question", "")))
            db.execute("DELETE FROM questions WHERE session_id = ? AND id = ?", (session, answered))


def get_question(db: Db, session: SessionId, id: str) -> PendingQuestion | None:
    row = db.fetch_one(
        f"SELECT {', '.join(_COLUMNS)} FROM questions WHERE session_id = ? AND id = ?", (escape(session), escape(id))
    )
    if row is None:
        return None
    return PendingQuestion(
        id=unescape(row["id"]),
        turn=row["turn_id"],
        exact=unescape(row["exact"]),
        sha256=row["sha256"],
        asked_at=row["asked_at"],
    )


def list_waiting(db: Db) -> list[SessionId]:
    """Returns the sessions in which a question waits."""
    return [
        SessionId(unescape(row["session_id"])) for row in db.fetch_all("SELECT DISTINCT session_id FROM questions", ())
    ]
