"""Inbox over SQL: received messages, each worked on once and in order of its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from sojourn.core.messages import Json
from sojourn.core.sessions import SessionId, TurnId
from sojourn.ports.gateway_store import Incoming, OutgoingDraft
from sojourn.ports.platform import File
from sojourn.stores.sql.db import Db, insert_statement
from sojourn.stores.sql.outbox import put_outgoing
from sojourn.stores.sql.row_claims import RELEASED, ClaimTable
from sojourn.stores.sql.rows import encode_json
from sojourn.stores.sql.sessions import check_session_exists
from sojourn.stores.sql.tables import TABLES_BY_NAME
from sojourn.stores.sql.wakeups import INBOX
from sojourn.text.escape import escape, unescape

TABLE = ClaimTable(Incoming, "inbox", "waiting", "running", "Incoming message", INBOX)


def add_incoming(
    db: Db, platform: str, account: str, message_id: str, *, place: str, payload: Json, files: Sequence[File] = ()
) -> Incoming | None:
    """Stores a received message; returns None if it was stored before."""
    row = db.fetch_one(
        "INSERT INTO inbox(platform, account, message_id, place, payload, received_at) VALUES (?, ?, ?, ?, ?, ?) "
        f"ON CONFLICT (platform, account, message_id) DO NOTHING RETURNING {TABLE.columns}",
        (*map(escape, (platform, account, message_id, place)), encode_json(payload, db.redact), db.now()),
    )
    if row is None:
        return None
    db.execute_many(
        insert_statement("inbox_files", TABLES_BY_NAME["inbox_files"].columns),
        [
            (row["id"], position, escape(file.name), escape(file.media_type), file.data)
            for position, file in enumerate(files)
        ],
    )
    db.wake_names.add(INBOX)
    return TABLE.decode(row)


def read_files(db: Db, item: Incoming) -> tuple[File, ...]:
    rows = db.fetch_all(
        "SELECT name, media_type, data FROM inbox_files WHERE inbox_id = ? ORDER BY position", (item.id,)
    )
    return tuple(
        File(name=unescape(row["name"]), media_type=unescape(row["media_type"]), data=bytes(row["data"]))
        for row in rows
    )


def update_incoming(
    db: Db, item: Incoming, *, seconds: float = 60.0, session: SessionId | None = None, turn: TurnId | None = None
) -> Incoming:
    """Renews a claim, and stores the session and the turn once they are known."""
    fields: dict[str, Any] = {"until": db.now() + seconds}
    if session is not None:
        check_session_exists(db, session)
        fields["session"] = session
    if turn is not None:
        fields["turn"] = turn
    return TABLE.update(db, item, fields)


def finish_incoming(
    db: Db, item: Incoming, state: Literal["done", "failed"] = "done", *, error: str = "", turn: TurnId | None = None
) -> Incoming:
    fields: dict[str, Any] = {"state": state, "error": error, "finished_at": db.now(), **RELEASED, "ahead": 0}
    if turn is not None:
        fields["turn"] = turn
    finished = TABLE.update(db, item, fields)
    if state == "done":
        db.execute("DELETE FROM inbox_files WHERE inbox_id = ?", (item.id,))
    return finished


def answer_incoming(db: Db, item: Incoming, drafts: Sequence[OutgoingDraft], turn: TurnId | None) -> Incoming:
    put_outgoing(db, drafts)
    return finish_incoming(db, item, turn=turn)


def release_incoming(db: Db, item: Incoming, *, seconds: float = 0.0, error: str = "") -> Incoming:
    return TABLE.release(db, item, seconds, error, ahead=0)
