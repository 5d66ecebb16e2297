"""The inbox over SQL."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from sojourn.core.messages import Json
from sojourn.core.sessions import SessionId, TurnId
from sojourn.core.text import escape
from sojourn.ports.journal import Incoming, Line
from sojourn.ports.platform import File
from sojourn.stores.journal import INBOX, file_from, incoming_from
from sojourn.stores.records import json_text
from sojourn.stores.sql.claims import Box, Wanted, candidates, change, claim, listed
from sojourn.stores.sql.db import Db, insertion
from sojourn.stores.sql.log import exists
from sojourn.stores.sql.rows import to_stored_text
from sojourn.stores.sql.tables import TABLES_BY_NAME
from sojourn.stores.sql.transactions import Transactions

_BOX = Box("inbox", "waiting", "running", "Incoming message", INBOX)
_NO_CLAIM = {"owner": "", "lease_until": 0.0}


def keep(
    db: Db, platform: str, account: str, message_id: str, place: str, payload: Json, files: Sequence[File]
) -> Incoming | None:
    row = db.one(
        "INSERT INTO inbox(platform, account, message_id, place, payload, received_at) VALUES (?, ?, ?, ?, ?, ?) "
        f"ON CONFLICT (platform, account, message_id) DO NOTHING RETURNING {_BOX.columns}",
        (*map(escape, (platform, account, message_id, place)), json_text(payload, db.redact), db.now()),
    )
    if row is None:
        return None
    db.many(
        insertion("inbox_files", TABLES_BY_NAME["inbox_files"].columns),
        [
            (row["id"], position, escape(file.name), escape(file.media_type), file.data)
            for position, file in enumerate(files)
        ],
    )
    db.touched.add(INBOX)
    return incoming_from(row)


def files_of(db: Db, item: Incoming) -> tuple[File, ...]:
    rows = db.all("SELECT name, media_type, data FROM inbox_files WHERE inbox_id = ? ORDER BY position", (item.id,))
    return tuple(file_from(row) for row in rows)


def note(db: Db, item: Incoming, seconds: float, session: SessionId | None, turn: TurnId | None) -> Incoming:
    values: dict[str, Any] = {"lease_until": db.now() + seconds}
    if session is not None:
        exists(db, session)
        values["session_id"] = session
    if turn is not None:
        values["turn_id"] = escape(turn)
    return incoming_from(change(db, _BOX, item.id, item.fence, values))


def finish(db: Db, item: Incoming, state: str, error: str, turn: TurnId | None) -> Incoming:
    values: dict[str, Any] = {
        "state": state,
        "error": to_stored_text(error, db.redact),
        "finished_at": db.now(),
        **_NO_CLAIM,
        "ahead": 0,
    }
    if turn is not None:
        values["turn_id"] = escape(turn)
    done = incoming_from(change(db, _BOX, item.id, item.fence, values))
    if state == "done":
        db.run("DELETE FROM inbox_files WHERE inbox_id = ?", (item.id,))
    return done


def release(db: Db, item: Incoming, seconds: float, error: str) -> Incoming:
    values = {
        "state": "waiting",
        "error": to_stored_text(error, db.redact),
        "next_try_at": db.now() + seconds,
        **_NO_CLAIM,
        "ahead": 0,
    }
    return incoming_from(change(db, _BOX, item.id, item.fence, values))


class SqlInbox(Transactions):
    """ports.journal.Inbox over SQL."""

    async def keep_incoming(
        self, platform: str, account: str, message_id: str, *, place: str, payload: Json, files: Sequence[File] = ()
    ) -> Incoming | None:
        return await self._write(lambda db: keep(db, platform, account, message_id, place, payload, files))

    async def incoming_files(self, item: Incoming) -> tuple[File, ...]:
        return await self._read(lambda db: files_of(db, item))

    async def claim_incoming(
        self,
        owner: str,
        *,
        lines: Sequence[Line] | None = None,
        place: str | None = None,
        ahead: bool = False,
        limit: int = 1,
        seconds: float = 60.0,
    ) -> list[Incoming]:
        wanted = Wanted(lines, place, ahead, limit)
        if not await self._read(lambda db: candidates(db, _BOX, wanted, locked=False)):
            return []  # most who ask find nothing: they need not wait for the writer
        return [incoming_from(row) for row in await self._write(lambda db: claim(db, _BOX, owner, wanted, seconds))]

    async def note_incoming(
        self, item: Incoming, *, seconds: float = 60.0, session: SessionId | None = None, turn: TurnId | None = None
    ) -> Incoming:
        return await self._write(lambda db: note(db, item, seconds, session, turn))

    async def finish_incoming(
        self, item: Incoming, state: Literal["done", "failed"] = "done", *, error: str = "", turn: TurnId | None = None
    ) -> Incoming:
        return await self._write(lambda db: finish(db, item, state, error, turn))

    async def release_incoming(self, item: Incoming, *, seconds: float = 0.0, error: str = "") -> Incoming:
        return await self._write(lambda db: release(db, item, seconds, error))

    async def incoming(
        self,
        *,
        place: str | None = None,
        session: SessionId | None = None,
        states: Sequence[str] = (),
        limit: int = 100,
    ) -> list[Incoming]:
        rows = await self._read(lambda db: listed(db, _BOX, place, session, states, limit))
        return [incoming_from(row) for row in rows]
