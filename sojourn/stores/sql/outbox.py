"""The outbox over SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from sojourn.core.sessions import SessionId
from sojourn.core.text import escape
from sojourn.ports.journal import Draft, Line, Outgoing
from sojourn.stores.journal import OUTBOX, outgoing_from
from sojourn.stores.records import json_text
from sojourn.stores.sql.claims import Box, Wanted, candidates, change, claim, listed
from sojourn.stores.sql.db import Db
from sojourn.stores.sql.log import exists
from sojourn.stores.sql.rows import to_stored_text
from sojourn.stores.sql.transactions import Transactions

_BOX = Box("outbox", "pending", "sending", "Outgoing message", OUTBOX, on_inherit=", possible_duplicate = 1")
_NO_CLAIM = {"owner": "", "lease_until": 0.0}


def put(db: Db, drafts: Sequence[Draft]) -> list[Outgoing]:
    return [_put(db, draft) for draft in drafts]


def _put(db: Db, draft: Draft) -> Outgoing:
    if draft.session is not None:
        exists(db, draft.session)
    names = map(escape, (draft.key, draft.platform, draft.account, draft.place))
    row = db.one(
        "INSERT INTO outbox(key, platform, account, place, payload, session_id, created_at) "
        f"VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING RETURNING {_BOX.columns}",
        (*names, json_text(draft.payload, db.redact), draft.session, db.now()),
    )
    if row is not None:
        db.touched.add(OUTBOX)
    else:
        row = db.one(f"SELECT {_BOX.columns} FROM outbox WHERE key = ?", (escape(draft.key),))
        assert row is not None
    return outgoing_from(row)


def renew(db: Db, item: Outgoing, seconds: float) -> Outgoing:
    return outgoing_from(change(db, _BOX, item.id, item.fence, {"lease_until": db.now() + seconds}))


def finish(db: Db, item: Outgoing, state: str, message_id: str, error: str) -> Outgoing:
    now = db.now()
    values: dict[str, Any] = {"state": state, "error": to_stored_text(error, db.redact), **_NO_CLAIM}
    if message_id:
        values["message_id"] = escape(message_id)
    if state in ("delivered", "failed"):
        values["finished_at"] = now
    if state in ("sent", "delivered") and item.sent_at is None:
        values["sent_at"] = now
    confirms = state == "delivered" and item.state == "sent"
    return outgoing_from(change(db, _BOX, item.id, item.fence, values, state="sent" if confirms else ""))


def release(db: Db, item: Outgoing, seconds: float, error: str, maybe_sent: bool) -> Outgoing:
    values: dict[str, Any] = {
        "state": "pending",
        "error": to_stored_text(error, db.redact),
        "next_try_at": db.now() + seconds,
        **_NO_CLAIM,
    }
    if maybe_sent:
        values["possible_duplicate"] = 1
    return outgoing_from(change(db, _BOX, item.id, item.fence, values))


class SqlOutbox(Transactions):
    """ports.journal.Outbox over SQL."""

    async def put_outgoing(self, drafts: Sequence[Draft]) -> list[Outgoing]:
        return await self._write(lambda db: put(db, drafts)) if drafts else []

    async def claim_outgoing(
        self, owner: str, *, lines: Sequence[Line] | None = None, limit: int = 1, seconds: float = 60.0
    ) -> list[Outgoing]:
        wanted = Wanted(lines, limit=limit)
        if not await self._read(lambda db: candidates(db, _BOX, wanted, locked=False)):
            return []  # most who ask find nothing: they need not wait for the writer
        return [outgoing_from(row) for row in await self._write(lambda db: claim(db, _BOX, owner, wanted, seconds))]

    async def renew_outgoing(self, item: Outgoing, *, seconds: float = 60.0) -> Outgoing:
        return await self._write(lambda db: renew(db, item, seconds))

    async def finish_outgoing(
        self,
        item: Outgoing,
        state: Literal["sent", "delivered", "failed"] = "sent",
        *,
        message_id: str = "",
        error: str = "",
    ) -> Outgoing:
        return await self._write(lambda db: finish(db, item, state, message_id, error))

    async def release_outgoing(
        self, item: Outgoing, *, seconds: float, error: str = "", maybe_sent: bool = False
    ) -> Outgoing:
        return await self._write(lambda db: release(db, item, seconds, error, maybe_sent))

    async def outgoing(
        self,
        *,
        place: str | None = None,
        session: SessionId | None = None,
        states: Sequence[str] = (),
        limit: int = 100,
        newest: bool = False,
    ) -> list[Outgoing]:
        rows = await self._read(lambda db: listed(db, _BOX, place, session, states, limit, newest))
        return [outgoing_from(row) for row in rows]
