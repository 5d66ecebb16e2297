"""HandoffStore over SQL: request, claim, the steps of a hand-off, and its end."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from sojourn.core.errors import BadInput, Conflict, NotDriving
from sojourn.core.handoff import LIVE, Handoff, HandoffId, Step, step
from sojourn.core.sessions import SessionId
from sojourn.stores.sql.db import Conditions, Db, insert_statement, placeholders
from sojourn.stores.sql.handoff_guard import (
    COLUMNS,
    copy_to_session,
    find_live_handoff,
    finish_handoff,
    get_handoff,
    lock_session_row,
    swap_handoff,
)
from sojourn.stores.sql.handoff_rules import in_progress, is_waiting, new_handoff_id
from sojourn.stores.sql.lease_guard import CLEAR_LEASE
from sojourn.stores.sql.leases import is_leased, lock_session, session_busy
from sojourn.stores.sql.rows import decode_row, encode_value
from sojourn.stores.sql.sessions import check_session_exists
from sojourn.stores.sql.tables import TABLES_BY_NAME
from sojourn.stores.sql.wakeups import HANDOFFS
from sojourn.text.escape import escape, unescape

_TABLE_COLUMNS = TABLES_BY_NAME["handoffs"].columns
_INSERT = insert_statement("handoffs", _TABLE_COLUMNS)


def request_handoff(
    db: Db, session: SessionId, platform: str, *, surface: str, target: str = "", by: str = "", seconds: float = 3600.0
) -> Handoff:
    row, now = lock_session(db, session), db.now()
    if current := find_live_handoff(db, session):
        raise in_progress(current)
    if is_leased(row, now):
        raise session_busy(session, row)
    if row["driver"] not in (None, escape(surface)):
        raise NotDriving(session, driver=unescape(row["driver"]), asked=surface)
    handoff = Handoff(
        id=new_handoff_id(),
        session=session,
        from_surface=surface,
        platform=platform,
        target=target,
        by=by,
        deadline=now + seconds,
        driver_fence=row["driver_fence"],
        created_at=now,
    )
    columns = encode_value(handoff, db.redact)
    db.execute(_INSERT, [columns[name] for name in _TABLE_COLUMNS])
    db.execute(f"UPDATE sessions SET {CLEAR_LEASE} WHERE id = ?", (session,))  # an expired lease cannot be renewed now
    copy_to_session(db, handoff)
    db.record_change(session, "handoff")
    db.wake_names.add(HANDOFFS)
    return get_handoff(db, handoff.id)


def list_handoffs(db: Db, session: SessionId | None, *, limit: int = 100) -> list[Handoff]:
    """Returns the newest hand-offs first."""
    if session is not None:
        check_session_exists(db, session)
    where = Conditions()
    where.add_filters(("session_id = ?", session))
    sql = f"SELECT {COLUMNS} FROM handoffs WHERE {where} ORDER BY created_at DESC, id DESC LIMIT ?"
    return [decode_row(Handoff, row) for row in db.fetch_all(sql, [*where.params, max(0, limit)])]


def find_newest_handoff(db: Db, session: SessionId) -> Handoff | None:
    newest = list_handoffs(db, session, limit=1)
    return newest[0] if newest else None


def list_pending(db: Db, platforms: Sequence[str] | None = None) -> list[Handoff]:
    """Returns the hand-offs that a gateway may claim now."""
    now = db.now()
    handoffs = (one for one in _list_live(db) if platforms is None or one.platform in platforms)
    return [one for one in handoffs if is_waiting(one, now)]


def _list_live(db: Db) -> list[Handoff]:
    """Returns all hand-offs in progress, oldest first. They are few."""
    rows = db.fetch_all(
        f"SELECT {COLUMNS} FROM handoffs WHERE state IN ({placeholders(LIVE)}) ORDER BY created_at, id", LIVE
    )
    return [decode_row(Handoff, row) for row in rows]


def claim_handoff(
    db: Db, owner: str, platforms: Sequence[str] | None, id: HandoffId | None, seconds: float
) -> Handoff | None:
    for handoff in list_pending(db, platforms):
        if id not in (None, handoff.id):
            continue
        now = db.now()
        fields = {
            "state": step(handoff.state, "claim"),
            "owner": owner,
            "fence": handoff.fence + 1,
            "until": now + seconds,
            "claimed_at": handoff.claimed_at or now,
        }
        try:
            claimed = swap_handoff(db, handoff, fields, until=handoff.until)
        except Conflict:
            continue  # another gateway claimed it first
        if handoff.state == "requested":
            copy_to_session(db, claimed)
        return claimed
    return None


def advance_handoff(
    db: Db,
    handoff: Handoff,
    step: Step,
    *,
    surface: str = "",
    place: str = "",
    thread_id: str = "",
    message_id: str = "",
    note: str = "",
) -> Handoff:
    fields = {"surface": surface, "place": place, "thread_id": thread_id, "message_id": message_id, "note": note}
    changes = _fields_of_step(handoff, step, db.now(), fields)
    if step != "bound":
        return swap_handoff(db, handoff, changes)
    bound = swap_handoff(db, handoff, {**changes, "driver_fence": handoff.driver_fence + 1})
    is_updated = db.execute(  # ends the lease of the old driver too
        f"UPDATE sessions SET driver = ?, driver_fence = driver_fence + 1, revision = revision + 1, {CLEAR_LEASE}, "
        "ended_at = NULL, end_reason = NULL WHERE id = ? AND driver_fence = ?",
        (escape(bound.surface), handoff.session, handoff.driver_fence),
    )
    if not is_updated:
        raise Conflict(
            f'Another surface took over session "{handoff.session}" before it could be handed over.',
            hint="Request a new hand-off there.",
        )
    return bound


def _fields_of_step(handoff: Handoff, to: Step, now: float, fields: Mapping[str, str]) -> dict[str, Any]:
    """Returns the fields that a step changes; empty ones stay as they are."""
    changes: dict[str, Any] = {"state": step(handoff.state, to)}
    changes |= {name: value for name, value in fields.items() if value}
    if to == "bound":
        changes |= {"surface": fields.get("surface") or handoff.platform, "bound_at": now}
    elif fields.get("surface"):
        raise BadInput("Only the step `bound` sets the driving surface.", hint="Omit the surface in the other steps.")
    return changes


def renew_handoff(db: Db, handoff: Handoff, seconds: float = 30.0) -> Handoff:
    step(handoff.state, "renew")
    return swap_handoff(db, handoff, {"until": db.now() + seconds})


def complete_handoff(db: Db, handoff: Handoff, *, message_id: str = "", note: str = "") -> Handoff:
    return finish_handoff(db, handoff, "complete", message_id=message_id, note=note)


def fail_handoff(db: Db, handoff: Handoff, code: str, error: str = "") -> Handoff:
    return finish_handoff(db, handoff, "fail", code, error)


def cancel_handoff(
    db: Db, id: HandoffId, *, as_: Literal["cancelled", "expired"] = "cancelled", error: str = ""
) -> Handoff:
    lock_session_row(db, get_handoff(db, id).session)
    return finish_handoff(db, get_handoff(db, id), "cancel" if as_ == "cancelled" else "expire", as_, error)


def expire_handoffs(db: Db) -> list[Handoff]:
    """Ends the stale hand-offs and returns them."""
    expired: list[Handoff] = []
    for handoff in _list_live(db):
        lock_session_row(db, handoff.session)
        if find_live_handoff(db, handoff.session) is None:
            expired.append(get_handoff(db, handoff.id))
    return expired
