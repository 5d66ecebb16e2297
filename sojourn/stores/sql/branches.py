"""Branches: a new session begins with the messages of another one up to some message. No log is rewritten."""

from __future__ import annotations

from typing import Any

from sojourn.core.sessions import Session, SessionId, new_session_id
from sojourn.stores.sql.db import Db
from sojourn.stores.sql.free_titles import find_free_title
from sojourn.stores.sql.log import LOG_COLUMNS
from sojourn.stores.sql.sessions import get_session, insert_session
from sojourn.text.escape import escape, unescape

_CHOSEN_RUNTIME = "runtime"  # the kind of the record that names it
_COPY_FILES = """
INSERT INTO blob_uses(session_id, hash, name, media_type)
SELECT ?, hash, name, media_type FROM blob_uses WHERE session_id = ?
"""
_COPY_RECORD = """
INSERT INTO records(kind, key, value, principal, session_id, created_at, updated_at)
SELECT kind, ?, value, principal, ?, ?, ? FROM records WHERE kind = ? AND key = ?
"""


def branch_session(db: Db, session: SessionId, at: int, *, source: str) -> Session:
    """Copies the messages up to the number `at`, without undone ones; results of tools go with their call.

    The copies are numbered from 1 and stay those of the original: `Session.copied` says how many they are. What the
    original has used is not copied.
    """
    original = get_session(db, session)
    rows = _read_rows(db, session, at)
    now, made = db.now(), new_session_id(db.now())
    insert_session(
        db,
        {
            "id": made,
            "principal": original.principal,
            "source": source,
            "title": find_free_title(db, original.principal, original.title)[0],
            "model": original.model,
            "cwd": original.cwd,
            "started_at": now,
            "preview": original.preview,
            "message_count": len(rows),
            "last_seq": len(rows),
            "branched_from": f"{session}:{at}",
            "copied": len(rows),
            **{name: value for name, value in original.details.items() if name == "system_prompt"},
        },
    )
    db.insert_messages(LOG_COLUMNS, ((made, seq, *row) for seq, row in enumerate(rows, 1)))
    db.execute(_COPY_FILES, (made, escape(session)))
    db.execute(_COPY_RECORD, (made, made, now, now, _CHOSEN_RUNTIME, escape(session)))
    db.record_change(made, "created")
    return get_session(db, made)


def _read_rows(db: Db, session: SessionId, at: int) -> list[tuple[Any, ...]]:
    """The values of LOG_COLUMNS behind session and seq."""
    columns = LOG_COLUMNS[2:]
    rows = db.fetch_all(
        f"SELECT {', '.join(LOG_COLUMNS)} FROM messages WHERE session_id = ? AND (active = 1 OR compacted = 1) "
        "AND seq < COALESCE((SELECT min(n.seq) FROM messages n WHERE n.session_id = ? AND n.seq > ? "
        "AND n.role <> 'tool' AND n.active = 1), ?) ORDER BY seq",
        (escape(session), escape(session), at, 2**62),
    )
    kept = [row for row in rows if row["seq"] <= at or unescape(row["role"]) == "tool"] if at else []
    return [tuple(row[name] for name in columns) for row in kept]
