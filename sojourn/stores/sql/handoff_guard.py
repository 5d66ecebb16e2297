"""Hand-off rows: compare-and-swap, the checks other writers make, and the end of a stale hand-off."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sojourn.core.errors import Conflict, LeaseLost, NotFound
from sojourn.core.handoff import BEFORE_BOUND, LIVE, Handoff, Signal, step
from sojourn.stores.sql.db import Conditions, Db, placeholders
from sojourn.stores.sql.handoff_rules import driver_reverts, in_progress, is_stale, visible_state
from sojourn.stores.sql.lease_guard import CLEAR_LEASE
from sojourn.stores.sql.rows import decode_row, encode_fields, to_stored_text
from sojourn.stores.sql.tables import TABLES_BY_NAME
from sojourn.stores.sql.wakeups import HANDOFFS
from sojourn.text.escape import escape

COLUMNS = ", ".join(TABLES_BY_NAME["handoffs"].columns)
_SELECT_LIVE = f"SELECT {COLUMNS} FROM handoffs WHERE session_id = ? AND state IN ({placeholders(LIVE)})"
_NOT_PICKED_UP = "Nobody picked it up in time."


def get_handoff(db: Db, id: str) -> Handoff:
    row = db.fetch_one(f"SELECT {COLUMNS} FROM handoffs WHERE id = ?", (escape(id),))
    if row is None:
        raise NotFound(f'There is no hand-off "{id}".', hint="It was deleted with its session.")
    return decode_row(Handoff, row)


def find_live_handoff(db: Db, session: str) -> Handoff | None:
    """Returns the hand-off in progress. Ends it here if it is stale, so no background job has to."""
    row = db.fetch_one(_SELECT_LIVE, (escape(session), *LIVE))
    if row is None:
        return None
    handoff = decode_row(Handoff, row)
    if not is_stale(handoff, db.now()):
        return handoff
    finish_handoff(db, handoff, "abandon", "expired", _NOT_PICKED_UP)
    return None


def check_not_moving(db: Db, session: str, state: str | None, *, or_arriving: bool = False) -> None:
    """Raises if a hand-off is not bound yet; with `or_arriving`, also if a gateway still works on a bound one.

    `state` is the session's handoff_state, which avoids most queries.
    """
    handoff = find_live_handoff(db, session) if state in ("pending", "running") else None
    if handoff and (handoff.state in BEFORE_BOUND or (or_arriving and handoff.until > db.now())):
        raise in_progress(handoff)


def lock_session_row(db: Db, session: str) -> None:
    """Locks the row of a session. Each step locks it before the hand-off's row, which prevents deadlocks."""
    db.fetch_one("SELECT 1 AS found FROM sessions WHERE id = ?" + db.for_update, (session,))


def swap_handoff(db: Db, seen: Handoff, fields: Mapping[str, Any], *, until: float | None = None) -> Handoff:
    """Compare-and-swap: updates the row if its state and fence (and lease end) are those of `seen`."""
    lock_session_row(db, seen.session)
    columns, where = encode_fields(fields, db.redact), Conditions()
    where.add_filters(
        ("id = ?", seen.id), ("state = ?", seen.state), ("fence = ?", seen.fence), ("lease_until = ?", until)
    )
    row = db.fetch_one(
        f"UPDATE handoffs SET {', '.join(f'{name} = ?' for name in columns)} WHERE {where} RETURNING {COLUMNS}",
        [*columns.values(), *where.params],
    )
    if row is None:
        raise _swap_failed(seen, get_handoff(db, seen.id))
    db.record_change(seen.session, "handoff")
    db.wake_names.add(HANDOFFS)
    return decode_row(Handoff, row)


def _swap_failed(seen: Handoff, current: Handoff) -> Conflict:
    if current.fence != seen.fence:
        return LeaseLost(
            f"The hand-off {current.id} was taken over by {current.owner}.",
            hint="Leave it to that gateway; nothing is lost.",
        )
    return Conflict(
        f'The hand-off {current.id} is "{current.state}" by now, not "{seen.state}"'
        + (f": {current.error}" if current.error else "."),
        hint="Read it again before you continue.",
    )


def copy_to_session(db: Db, handoff: Handoff) -> None:
    """Copies the state, platform and error of a hand-off to its session row."""
    error = handoff.error or handoff.error_code or None
    db.execute(
        "UPDATE sessions SET handoff_state = ?, handoff_platform = ?, handoff_error = ?, revision = revision + 1 "
        "WHERE id = ?",
        (visible_state(handoff.state), escape(handoff.platform), to_stored_text(error, db.redact), handoff.session),
    )


def finish_handoff(db: Db, seen: Handoff, signal: Signal, code: str = "", error: str = "", **more: Any) -> Handoff:
    """Ends a hand-off. One that failed before its first message gives the session back to its old driver."""
    state = step(seen.state, signal)
    fields = {"error_code": code, "error": error, **{name: value for name, value in more.items() if value}}
    ended = swap_handoff(db, seen, {"state": state, "finished_at": db.now(), "until": 0.0, **fields})
    if state == "failed" and driver_reverts(seen.state):
        db.execute(  # not if another surface has taken over since
            f"UPDATE sessions SET driver = ?, driver_fence = driver_fence + 1, {CLEAR_LEASE} "
            "WHERE id = ? AND driver = ?",
            (escape(seen.from_surface), seen.session, escape(seen.surface)),
        )
    copy_to_session(db, ended)
    return ended
