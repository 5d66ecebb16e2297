"""The hand-off that stands on a session: found, moved by compare-and-swap, and ended when nobody carries it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sojourn.core.handoff import BEFORE_BOUND, LIVE, Handoff, Signal, is_stale, shown, step, under_way, wheel_returns
from sojourn.core.text import escape
from sojourn.stores.handoffs import NOT_PICKED_UP, columns, handoff_from, not_there, overtaken
from sojourn.stores.journal import HANDOFFS
from sojourn.stores.sql.db import Db, marks
from sojourn.stores.sql.rows import to_stored_text
from sojourn.stores.sql.tables import TABLES_BY_NAME

COLUMNS = ", ".join(TABLES_BY_NAME["handoffs"].columns)
NO_LEASE = "lease_until = NULL, lease_holder = NULL, lease_surface = NULL, lease_since = NULL"
_LIVE = f"SELECT {COLUMNS} FROM handoffs WHERE session_id = ? AND state IN ({marks(LIVE)})"


def live(db: Db, session: str) -> Handoff | None:
    """The one that is under way. One that is stale is ended here: nobody has to come and sweep it up."""
    row = db.one(_LIVE, (escape(session), *LIVE))
    if row is None:
        return None
    found = handoff_from(row)
    if not is_stale(found, db.now()):
        return found
    finish(db, found, "abandon", "expired", NOT_PICKED_UP)
    return None


def check_not_leaving(db: Db, session: str, state: str | None) -> None:
    """Nobody starts a turn while a session is on its way. `state` is what its row says, so most pay nothing."""
    if state in ("pending", "running") and (found := live(db, session)) and found.state in BEFORE_BOUND:
        raise under_way(found)


def check_not_carried(db: Db, session: str, state: str | None) -> None:
    """Nobody deletes a session that is on its way, or that is being carried."""
    found = live(db, session) if state in ("pending", "running") else None
    if found and (found.state in BEFORE_BOUND or found.until > db.now()):
        raise under_way(found)


def swap(db: Db, seen: Handoff, values: Mapping[str, Any], *, until: float | None = None) -> Handoff:
    """Changes the row only if it is where it was seen: same state, same fence (and same time of its lease)."""
    row = columns(values, db.redact)
    kept = db.one(
        f"UPDATE handoffs SET {', '.join(f'{name} = ?' for name in row)} WHERE id = ? AND state = ? AND fence = ?"
        f"{'' if until is None else ' AND lease_until = ?'} RETURNING {COLUMNS}",
        [*row.values(), seen.id, seen.state, seen.fence, *([] if until is None else [until])],
    )
    if kept is None:
        raise overtaken(seen, get(db, seen.id))
    db.changed(seen.session, "handoff")
    db.touched.add(HANDOFFS)
    return handoff_from(kept)


def get(db: Db, id: str) -> Handoff:
    row = db.one(f"SELECT {COLUMNS} FROM handoffs WHERE id = ?", (escape(id),))
    if row is None:
        raise not_there(id)
    return handoff_from(row)


def show(db: Db, handoff: Handoff) -> None:
    """What the session's row says about it."""
    error = handoff.error or handoff.error_code or None
    db.run(
        "UPDATE sessions SET handoff_state = ?, handoff_platform = ?, handoff_error = ?, revision = revision + 1 "
        "WHERE id = ?",
        (shown(handoff.state), escape(handoff.platform), to_stored_text(error, db.redact), handoff.session),
    )


def finish(db: Db, seen: Handoff, signal: Signal, code: str = "", error: str = "", **more: Any) -> Handoff:
    """The last step, whichever it is. The wheel goes back where nobody has heard anything yet."""
    state = step(seen.state, signal)
    given = {"error_code": code, "error": error, **{name: value for name, value in more.items() if value}}
    done = swap(db, seen, {"state": state, "finished_at": db.now(), "until": 0.0, **given})
    if state == "failed" and wheel_returns(seen.state):
        db.run(  # unless it is in other hands by now
            f"UPDATE sessions SET driver = ?, driver_fence = driver_fence + 1, {NO_LEASE} WHERE id = ? AND driver = ?",
            (escape(seen.from_surface), seen.session, escape(seen.surface)),
        )
    show(db, done)
    return done
