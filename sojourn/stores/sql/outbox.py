"""ports.gateway_store.Outbox over SQL: messages to send, each stored before it is sent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from sojourn.core.sessions import SessionId
from sojourn.ports.gateway_store import AccountKey, Outgoing, OutgoingDraft
from sojourn.stores.sql.db import Db, Row, SqlPart, read_method, write_method
from sojourn.stores.sql.row_claims import (
    RELEASED,
    ClaimFilter,
    ClaimTable,
    claim_fields,
    claim_rows,
    find_claimable,
    list_rows,
    update_claimed,
)
from sojourn.stores.sql.rows import encode_json, to_stored_text
from sojourn.stores.sql.sessions import check_session_exists
from sojourn.stores.sql.wakeups import OUTBOX
from sojourn.text.escape import escape, unescape

_TABLE = ClaimTable("outbox", "pending", "sending", "Outgoing message", OUTBOX, on_takeover=", possible_duplicate = 1")


def outgoing_from(row: Row) -> Outgoing:
    """Decodes an `outbox` row."""
    return Outgoing(
        key=unescape(row["key"]),
        possible_duplicate=bool(row["possible_duplicate"]),
        created_at=row["created_at"],
        sent_at=row["sent_at"],
        **claim_fields(row),
    )


def put_outgoing(db: Db, drafts: Sequence[OutgoingDraft]) -> list[Outgoing]:
    return [_put_draft(db, draft) for draft in drafts]


def _put_draft(db: Db, draft: OutgoingDraft) -> Outgoing:
    """Stores a message to send, or returns the one that has its key."""
    if draft.session is not None:
        check_session_exists(db, draft.session)
    names = map(escape, (draft.key, draft.platform, draft.account, draft.place))
    row = db.fetch_one(
        "INSERT INTO outbox(key, platform, account, place, payload, session_id, created_at) "
        f"VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING RETURNING {_TABLE.columns}",
        (*names, encode_json(draft.payload, db.redact), draft.session, db.now()),
    )
    if row is not None:
        db.wake_names.add(OUTBOX)
    else:
        row = db.fetch_one(f"SELECT {_TABLE.columns} FROM outbox WHERE key = ?", (escape(draft.key),))
        assert row is not None
    return outgoing_from(row)


def renew_outgoing(db: Db, item: Outgoing, *, seconds: float = 60.0) -> Outgoing:
    return outgoing_from(update_claimed(db, _TABLE, item.id, item.fence, {"lease_until": db.now() + seconds}))


def finish_outgoing(
    db: Db,
    item: Outgoing,
    state: Literal["sent", "delivered", "failed"] = "sent",
    *,
    message_id: str = "",
    error: str = "",
) -> Outgoing:
    now = db.now()
    values: dict[str, Any] = {"state": state, "error": to_stored_text(error, db.redact), **RELEASED}
    if message_id:
        values["message_id"] = escape(message_id)
    if state in ("delivered", "failed"):
        values["finished_at"] = now
    if state in ("sent", "delivered") and item.sent_at is None:
        values["sent_at"] = now
    is_receipt = state == "delivered" and item.state == "sent"
    return outgoing_from(update_claimed(db, _TABLE, item.id, item.fence, values, state="sent" if is_receipt else ""))


def release_outgoing(db: Db, item: Outgoing, *, seconds: float, error: str = "", maybe_sent: bool = False) -> Outgoing:
    values: dict[str, Any] = {
        "state": "pending",
        "error": to_stored_text(error, db.redact),
        "next_try_at": db.now() + seconds,
        **RELEASED,
    }
    if maybe_sent:
        values["possible_duplicate"] = 1
    return outgoing_from(update_claimed(db, _TABLE, item.id, item.fence, values))


def list_outgoing(
    db: Db,
    *,
    place: str | None = None,
    session: SessionId | None = None,
    states: Sequence[str] = (),
    limit: int = 100,
    newest: bool = False,
) -> list[Outgoing]:
    rows = list_rows(db, _TABLE, place=place, session=session, states=states, limit=limit, newest=newest)
    return [outgoing_from(row) for row in rows]


class SqlOutbox(SqlPart):
    """ports.gateway_store.Outbox over SQL."""

    put_outgoing = write_method(put_outgoing)
    renew_outgoing = write_method(renew_outgoing)
    finish_outgoing = write_method(finish_outgoing)
    release_outgoing = write_method(release_outgoing)
    outgoing = read_method(list_outgoing)

    async def claim_outgoing(
        self, owner: str, *, lines: Sequence[AccountKey] | None = None, limit: int = 1, seconds: float = 60.0
    ) -> list[Outgoing]:
        wanted = ClaimFilter(lines, limit=limit)
        if not await self._read(lambda db: find_claimable(db, _TABLE, wanted, lock=False)):
            return []  # the usual case, which need not wait for the writer
        return [
            outgoing_from(row) for row in await self._write(lambda db: claim_rows(db, _TABLE, owner, wanted, seconds))
        ]
