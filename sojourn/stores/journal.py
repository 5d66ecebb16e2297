"""Between the journal and its rows, and what every store says to who comes too late."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sojourn.core.errors import Conflict, LeaseLost, NotFound
from sojourn.core.sessions import Principal, SessionId, TurnId
from sojourn.ports.gateway_store import Binding, CredentialLease, Heartbeat, Incoming, Outgoing
from sojourn.ports.platform import File
from sojourn.stores.records import json_value
from sojourn.text.escape import unescape

INBOX, OUTBOX, BINDINGS, GATEWAYS = "@inbox", "@outbox", "@bindings", "@gateways"  # what is rung for each
HANDOFFS, RECORDS = "@handoffs", "@records"  # records of a session ring for their session


def session_of(row: Mapping[str, Any], column: str = "session_id") -> SessionId | None:
    return None if row[column] is None else SessionId(row[column])


def _claim(row: Mapping[str, Any]) -> dict[str, Any]:
    """What both boxes say about a row and who works on it."""
    texts = {name: unescape(row[name]) for name in ("platform", "account", "place", "message_id", "owner", "error")}
    plain = {name: row[name] for name in ("id", "state", "attempts", "fence", "next_try_at", "finished_at")}
    return {
        **texts,
        **plain,
        "until": row["lease_until"],
        "payload": json_value(row["payload"]),
        "session": session_of(row),
    }


def incoming_from(row: Mapping[str, Any]) -> Incoming:
    turn = None if row["turn_id"] is None else TurnId(unescape(row["turn_id"]))
    return Incoming(turn=turn, received_at=row["received_at"], **_claim(row))


def file_from(row: Mapping[str, Any]) -> File:
    return File(name=unescape(row["name"]), media_type=unescape(row["media_type"]), data=bytes(row["data"]))


def outgoing_from(row: Mapping[str, Any]) -> Outgoing:
    return Outgoing(
        key=unescape(row["key"]),
        possible_duplicate=bool(row["possible_duplicate"]),
        created_at=row["created_at"],
        sent_at=row["sent_at"],
        **_claim(row),
    )


def binding_from(row: Mapping[str, Any]) -> Binding:
    return Binding(
        place=unescape(row["place"]),
        session=session_of(row),
        previous=session_of(row, "previous_session_id"),
        principal=Principal(unescape(row["principal"])),
        details=json_value(row["details"]),
        revision=row["revision"],
        updated_at=row["updated_at"],
    )


def heartbeat_from(row: Mapping[str, Any]) -> Heartbeat:
    return Heartbeat(
        id=unescape(row["id"]),
        host=unescape(row["host"]),
        pid=row["pid"],
        health=json_value(row["health"]),
        started_at=row["started_at"],
        beat_at=row["beat_at"],
        until=row["lease_until"],
    )


def hold_from(row: Mapping[str, Any]) -> CredentialLease:
    return CredentialLease(
        credential=unescape(row["credential"]),
        owner=unescape(row["owner"]),
        fence=row["fence"],
        until=row["lease_until"],
    )


def too_late(what: str, id: int, row: Mapping[str, Any] | None) -> LeaseLost | NotFound:
    """Why whoever had claimed a row could not go on with it."""
    if row is None:
        return NotFound(f"{what} {id} is gone.", hint="It went with its session; there is nothing left to do.")
    owner = unescape(row["owner"]) or "nobody"
    return LeaseLost(
        f'{what} {id} is "{row["state"]}" by now, in the hands of {owner}.', hint="Leave it; nothing is lost."
    )


def bound_meanwhile(place: str, *, expect: int, found: int) -> Conflict:
    return Conflict(
        f'The place "{place}" was bound by somebody else (revision {found}, not {expect}).',
        hint="Look again to which session it talks now.",
    )
