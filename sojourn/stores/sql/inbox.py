"""ports.gateway_store.Inbox over SQL: received messages, each worked on once and in order of its place."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from sojourn.core.messages import Json
from sojourn.core.sessions import SessionId, TurnId
from sojourn.ports.gateway_store import AccountKey, Incoming
from sojourn.ports.platform import File
from sojourn.stores.sql.db import Db, Row, SqlPart, insert_statement, read_method, write_method
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
from sojourn.stores.sql.tables import TABLES_BY_NAME
from sojourn.stores.sql.wakeups import INBOX
from sojourn.text.escape import escape, unescape

_TABLE = ClaimTable("inbox", "waiting", "running", "Incoming message", INBOX)


def incoming_from(row: Row) -> Incoming:
    """Decodes an `inbox` row."""
    turn = None if row["turn_id"] is None else TurnId(unescape(row["turn_id"]))
    return Incoming(turn=turn, received_at=row["received_at"], **claim_fields(row))


def add_incoming(
    db: Db, platform: str, account: str, message_id: str, *, place: str, payload: Json, files: Sequence[File] = ()
) -> Incoming | None:
    """Stores a received message; returns None if it was stored before."""
    row = db.fetch_one(
        "INSERT INTO inbox(platform, account, message_id, place, payload, received_at) VALUES (?, ?, ?, ?, ?, ?) "
        f"ON CONFLICT (platform, account, message_id) DO NOTHING RETURNING {_TABLE.columns}",
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
    return incoming_from(row)


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
    values: dict[str, Any] = {"lease_until": db.now() + seconds}
    if session is not None:
        check_session_exists(db, session)
        values["session_id"] = session
    if turn is not None:
        values["turn_id"] = escape(turn)
    return incoming_from(update_claimed(db, _TABLE, item.id, item.fence, values))


def finish_incoming(
    db: Db, item: Incoming, state: Literal["done", "failed"] = "done", *, error: str = "", turn: TurnId | None = None
) -> Incoming:
    values: dict[str, Any] = {
        "state": state,
        "error": to_stored_text(error, db.redact),
        "finished_at": db.now(),
        **RELEASED,
        "ahead": 0,
    }
    if turn is not None:
        values["turn_id"] = escape(turn)
    finished = incoming_from(update_claimed(db, _TABLE, item.id, item.fence, values))
    if state == "done":
        db.execute("DELETE FROM inbox_files WHERE inbox_id = ?", (item.id,))
    return finished


def release_incoming(db: Db, item: Incoming, *, seconds: float = 0.0, error: str = "") -> Incoming:
    values = {
        "state": "waiting",
        "error": to_stored_text(error, db.redact),
        "next_try_at": db.now() + seconds,
        **RELEASED,
        "ahead": 0,
    }
    return incoming_from(update_claimed(db, _TABLE, item.id, item.fence, values))


def list_incoming(
    db: Db, *, place: str | None = None, session: SessionId | None = None, states: Sequence[str] = (), limit: int = 100
) -> list[Incoming]:
    rows = list_rows(db, _TABLE, place=place, session=session, states=states, limit=limit)
    return [incoming_from(row) for row in rows]


class SqlInbox(SqlPart):
    """ports.gateway_store.Inbox over SQL."""

    add_incoming = write_method(add_incoming)
    incoming_files = read_method(read_files)
    update_incoming = write_method(update_incoming)
    finish_incoming = write_method(finish_incoming)
    release_incoming = write_method(release_incoming)
    incoming = read_method(list_incoming)

    async def claim_incoming(
        self,
        owner: str,
        *,
        lines: Sequence[AccountKey] | None = None,
        place: str | None = None,
        out_of_turn: bool = False,
        limit: int = 1,
        seconds: float = 60.0,
    ) -> list[Incoming]:
        wanted = ClaimFilter(lines, place, out_of_turn, limit)
        if not await self._read(lambda db: find_claimable(db, _TABLE, wanted, lock=False)):
            return []  # the usual case, which need not wait for the writer
        return [
            incoming_from(row) for row in await self._write(lambda db: claim_rows(db, _TABLE, owner, wanted, seconds))
        ]
