"""Inbox and outbox in dictionaries, by number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from sojourn.core.messages import Json
from sojourn.core.rows import safe
from sojourn.core.sessions import SessionId, TurnId
from sojourn.ports.gateway_store import AccountKey, Incoming, Outgoing, OutgoingDraft
from sojourn.ports.platform import File
from sojourn.stores.journal import INBOX, OUTBOX, file_from, incoming_from, outgoing_from, too_late
from sojourn.stores.memory.data import Data, Row
from sojourn.stores.memory.waking import Waking
from sojourn.stores.records import json_text
from sojourn.text.escape import escape

_UNCLAIMED = {
    "attempts": 0,
    "owner": "",
    "fence": 0,
    "lease_until": 0.0,
    "next_try_at": 0.0,
    "error": "",
    "session_id": None,
    "finished_at": None,
}
_NO_CLAIM = {"owner": "", "lease_until": 0.0}
_STATES = {"inbox": ("waiting", "running"), "outbox": ("pending", "sending")}
_RING = {"inbox": INBOX, "outbox": OUTBOX}
_WHAT = {"inbox": "Incoming message", "outbox": "Outgoing message"}


def add(data: Data, table: str, row: dict[str, Any]) -> Row:
    row = {**_UNCLAIMED, **row, "id": data.boxed[table] + 1, "state": _STATES[table][0]}
    data.add(table, (row["id"],), row)
    data.touched.add(_RING[table])
    return row


def change(data: Data, table: str, id: int, fence: int, values: dict[str, Any], state: str = "") -> Row:
    """Changes a row that is still in the hands of who claimed it under that number."""
    row = data.tables[table].get((id,))
    if row is None or row["fence"] != fence or row["state"] != (state or _STATES[table][1]):
        raise too_late(_WHAT[table], id, row)
    data.tables[table][(id,)] = row = {**row, **values}
    data.touched.add(_RING[table])
    return row


def may_claim(row: Row, rows: Iterable[Row], now: float, ahead: bool) -> bool:
    waiting, working = _STATES["inbox" if "received_at" in row else "outbox"]
    if row["state"] == working:
        return bool(row["lease_until"] < now)
    if row["state"] != waiting or row["next_try_at"] > now:
        return False
    others = [other for other in rows if other["place"] == row["place"] and other["id"] != row["id"]]
    return not any(
        (other["state"] == waiting and other["id"] < row["id"]) or (other["state"] == working and not ahead)
        for other in others
    )


def claim(
    data: Data,
    table: str,
    owner: str,
    lines: Sequence[AccountKey] | None,
    place: str | None,
    ahead: bool,
    limit: int,
    seconds: float,
) -> list[Row]:
    rows, now, working = data.tables[table], data.clock(), _STATES[table][1]
    known = None if lines is None else {(escape(platform), escape(account)) for platform, account in lines}
    found = [
        row
        for row in sorted(rows.values(), key=lambda row: int(row["id"]))
        if (known is None or (row["platform"], row["account"]) in known)
        and (place is None or row["place"] == escape(place))
        and may_claim(row, rows.values(), now, ahead)
    ]
    dead = sorted((row for row in found if row["state"] == working), key=lambda row: (row["lease_until"], row["id"]))
    found = [*dead, *(row for row in found if row["state"] != working)]
    taken: list[Row] = []
    for row in found[: max(0, limit)]:
        more: dict[str, Any] = {"possible_duplicate": 1} if table == "outbox" and row["state"] == working else {}
        if ahead and row["state"] != working:
            more["ahead"] = 1
        rows[(row["id"],)] = kept = {
            **row,
            **more,
            "state": working,
            "owner": escape(owner),
            "fence": row["fence"] + 1,
            "attempts": row["attempts"] + 1,
            "lease_until": now + seconds,
        }
        taken.append(kept)
    return sorted(taken, key=lambda row: int(row["id"]))


def listed(
    data: Data,
    table: str,
    place: str | None,
    session: str | None,
    states: Sequence[str],
    limit: int,
    newest: bool = False,
) -> list[Row]:
    return [
        row
        for row in sorted(data.tables[table].values(), key=lambda row: int(row["id"]), reverse=newest)
        if (place is None or row["place"] == escape(place))
        and (session is None or row["session_id"] == session)
        and (not states or row["state"] in states)
    ][: max(0, limit)]


def put(data: Data, draft: OutgoingDraft) -> Outgoing:
    if draft.session is not None:
        data.session(draft.session)
    text = json_text(draft.payload, data.redact)
    known = [row for row in data.tables["outbox"].values() if row["key"] == escape(draft.key)]
    row = (
        known[0]
        if known
        else add(
            data,
            "outbox",
            {
                "key": escape(draft.key),
                "platform": escape(draft.platform),
                "account": escape(draft.account),
                "place": escape(draft.place),
                "payload": text,
                "session_id": draft.session,
                "possible_duplicate": 0,
                "message_id": "",
                "created_at": data.clock(),
                "sent_at": None,
            },
        )
    )
    return outgoing_from(row)


class MemoryBoxes(Waking):
    """ports.journal.Inbox and Outbox over dictionaries."""

    async def add_incoming(
        self, platform: str, account: str, message_id: str, *, place: str, payload: Json, files: Sequence[File] = ()
    ) -> Incoming | None:
        names = {"platform": escape(platform), "account": escape(account), "message_id": escape(message_id)}
        with self._writing() as data:
            text = json_text(payload, data.redact)
            if any(names.items() <= row.items() for row in data.tables["inbox"].values()):
                return None
            row = add(
                data,
                "inbox",
                {
                    **names,
                    "place": escape(place),
                    "payload": text,
                    "ahead": 0,
                    "turn_id": None,
                    "received_at": data.clock(),
                },
            )
            for position, file in enumerate(files):
                data.tables["inbox_files"][row["id"], position] = {
                    "inbox_id": row["id"],
                    "position": position,
                    "name": escape(file.name),
                    "media_type": escape(file.media_type),
                    "data": bytes(file.data),
                }
            return incoming_from(row)

    async def incoming_files(self, item: Incoming) -> tuple[File, ...]:
        found = sorted(key for key in self._data.tables["inbox_files"] if key[0] == item.id)
        return tuple(file_from(self._data.tables["inbox_files"][key]) for key in found)

    async def claim_incoming(
        self,
        owner: str,
        *,
        lines: Sequence[AccountKey] | None = None,
        place: str | None = None,
        ahead: bool = False,
        limit: int = 1,
        seconds: float = 60.0,
    ) -> list[Incoming]:
        return [incoming_from(row) for row in claim(self._data, "inbox", owner, lines, place, ahead, limit, seconds)]

    async def update_incoming(
        self, item: Incoming, *, seconds: float = 60.0, session: SessionId | None = None, turn: TurnId | None = None
    ) -> Incoming:
        with self._writing() as data:
            values: dict[str, Any] = {"lease_until": data.clock() + seconds}
            if session is not None:
                data.session(session)
                values["session_id"] = session
            if turn is not None:
                values["turn_id"] = escape(turn)
            return incoming_from(change(data, "inbox", item.id, item.fence, values))

    async def finish_incoming(
        self, item: Incoming, state: Literal["done", "failed"] = "done", *, error: str = "", turn: TurnId | None = None
    ) -> Incoming:
        with self._writing() as data:
            values: dict[str, Any] = {
                "state": state,
                "error": safe(error, data.redact),
                "finished_at": data.clock(),
                **_NO_CLAIM,
                "ahead": 0,
            }
            if turn is not None:
                values["turn_id"] = escape(turn)
            done = incoming_from(change(data, "inbox", item.id, item.fence, values))
            if state == "done":
                data.drop_files({item.id})
            return done

    async def release_incoming(self, item: Incoming, *, seconds: float = 0.0, error: str = "") -> Incoming:
        with self._writing() as data:
            return incoming_from(
                change(
                    data,
                    "inbox",
                    item.id,
                    item.fence,
                    {
                        "state": "waiting",
                        "error": safe(error, data.redact),
                        "next_try_at": data.clock() + seconds,
                        **_NO_CLAIM,
                        "ahead": 0,
                    },
                )
            )

    async def incoming(
        self,
        *,
        place: str | None = None,
        session: SessionId | None = None,
        states: Sequence[str] = (),
        limit: int = 100,
    ) -> list[Incoming]:
        return [incoming_from(row) for row in listed(self._data, "inbox", place, session, states, limit)]

    # the outbox
    async def put_outgoing(self, drafts: Sequence[OutgoingDraft]) -> list[Outgoing]:
        with self._writing() as data, data.whole():
            return [put(data, draft) for draft in drafts]

    async def claim_outgoing(
        self, owner: str, *, lines: Sequence[AccountKey] | None = None, limit: int = 1, seconds: float = 60.0
    ) -> list[Outgoing]:
        return [outgoing_from(row) for row in claim(self._data, "outbox", owner, lines, None, False, limit, seconds)]

    async def renew_outgoing(self, item: Outgoing, *, seconds: float = 60.0) -> Outgoing:
        with self._writing() as data:
            values = {"lease_until": data.clock() + seconds}
            return outgoing_from(change(data, "outbox", item.id, item.fence, values))

    async def finish_outgoing(
        self,
        item: Outgoing,
        state: Literal["sent", "delivered", "failed"] = "sent",
        *,
        message_id: str = "",
        error: str = "",
    ) -> Outgoing:
        with self._writing() as data:
            now = data.clock()
            values: dict[str, Any] = {"state": state, "error": safe(error, data.redact), **_NO_CLAIM}
            if message_id:
                values["message_id"] = escape(message_id)
            if state in ("delivered", "failed"):
                values["finished_at"] = now
            if state in ("sent", "delivered") and item.sent_at is None:
                values["sent_at"] = now
            confirms = state == "delivered" and item.state == "sent"
            return outgoing_from(change(data, "outbox", item.id, item.fence, values, state="sent" if confirms else ""))

    async def release_outgoing(
        self, item: Outgoing, *, seconds: float, error: str = "", maybe_sent: bool = False
    ) -> Outgoing:
        with self._writing() as data:
            return outgoing_from(
                change(
                    data,
                    "outbox",
                    item.id,
                    item.fence,
                    {
                        "state": "pending",
                        "error": safe(error, data.redact),
                        "next_try_at": data.clock() + seconds,
                        **_NO_CLAIM,
                        **({"possible_duplicate": 1} if maybe_sent else {}),
                    },
                )
            )

    async def outgoing(
        self,
        *,
        place: str | None = None,
        session: SessionId | None = None,
        states: Sequence[str] = (),
        limit: int = 100,
        newest: bool = False,
    ) -> list[Outgoing]:
        return [outgoing_from(row) for row in listed(self._data, "outbox", place, session, states, limit, newest)]
