"""Outbox over SQL: messages to send, each stored before it is sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from sojourn.ports.gateway_store import Outgoing, OutgoingDraft
from sojourn.stores.sql.db import Db, insert_statement
from sojourn.stores.sql.row_claims import RELEASED, ClaimTable
from sojourn.stores.sql.rows import encode_value
from sojourn.stores.sql.sessions import check_session_exists
from sojourn.stores.sql.wakeups import OUTBOX
from sojourn.text.escape import escape

TABLE = ClaimTable(
    Outgoing, "outbox", "pending", "sending", "Outgoing message", OUTBOX, on_takeover=", possible_duplicate = 1"
)


def put_outgoing(db: Db, drafts: Sequence[OutgoingDraft]) -> list[Outgoing]:
    return [_put_draft(db, draft) for draft in drafts]


def _put_draft(db: Db, draft: OutgoingDraft) -> Outgoing:
    """Stores a message to send, or returns the one that has its key."""
    if draft.session is not None:
        check_session_exists(db, draft.session)
    columns = {**encode_value(draft, db.redact), "created_at": db.now()}
    row = db.fetch_one(
        f"{insert_statement('outbox', tuple(columns))} ON CONFLICT (key) DO NOTHING RETURNING {TABLE.columns}",
        list(columns.values()),
    )
    if row is not None:
        db.wake_names.add(OUTBOX)
    else:
        row = db.fetch_one(f"SELECT {TABLE.columns} FROM outbox WHERE key = ?", (escape(draft.key),))
        assert row is not None
    return TABLE.decode(row)


def renew_outgoing(db: Db, item: Outgoing, *, seconds: float = 60.0) -> Outgoing:
    return TABLE.update(db, item, {"until": db.now() + seconds})


def finish_outgoing(
    db: Db,
    item: Outgoing,
    state: Literal["sent", "delivered", "failed"] = "sent",
    *,
    message_id: str = "",
    error: str = "",
) -> Outgoing:
    now = db.now()
    fields: dict[str, Any] = {"state": state, "error": error, **RELEASED}
    if message_id:
        fields["message_id"] = message_id
    if state in ("delivered", "failed"):
        fields["finished_at"] = now
    if state in ("sent", "delivered") and item.sent_at is None:
        fields["sent_at"] = now
    is_receipt = state == "delivered" and item.state == "sent"
    return TABLE.update(db, item, fields, state="sent" if is_receipt else "")


def release_outgoing(db: Db, item: Outgoing, *, seconds: float, error: str = "", maybe_sent: bool = False) -> Outgoing:
    flags = {"possible_duplicate": 1} if maybe_sent else {}
    return TABLE.release(db, item, seconds, error, **flags)
