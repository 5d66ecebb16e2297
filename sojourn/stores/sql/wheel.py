"""Who may write: the driver, the turn lease, and words to a running turn."""

from __future__ import annotations

import json

from sojourn.core.errors import Conflict, NotDriving, SessionBusy
from sojourn.core.messages import Json
from sojourn.core.sessions import Control, Lease, Session, SessionId
from sojourn.core.text import escape, unescape
from sojourn.stores.sql.db import Db, Row
from sojourn.stores.sql.log import exists, guard, lost
from sojourn.stores.sql.rows import to_stored_text
from sojourn.stores.sql.sessions import get, no_session
from sojourn.stores.sql.standing import NO_LEASE, check_not_carried, check_not_leaving, finish, live

_ROW = (
    "SELECT driver, driver_fence, lease_holder, lease_surface, lease_fence, lease_since, lease_until, handoff_state "
    "FROM sessions WHERE id = ?"
)


def drive(db: Db, session: SessionId, surface: str, *, fence: int | None) -> Session:
    row = session_row(db, session)
    if fence is not None and row["driver_fence"] != fence:
        raise Conflict(
            f'Session "{session}" is driven from {unescape(row["driver"] or "nowhere")} by now '
            f"(number {row['driver_fence']}, not {fence}).",
            hint="Read the session again; somebody took the wheel in between.",
        )
    _revoke(db, session, row, surface)
    db.run(  # a lease of the old driver is worth nothing from here on; nobody has to wait for it
        f"UPDATE sessions SET driver = ?, driver_fence = driver_fence + 1, revision = revision + 1, {NO_LEASE} "
        "WHERE id = ?",
        (escape(surface), session),
    )
    db.changed(session, "changed")
    return get(db, session)


def _revoke(db: Db, session: SessionId, row: Row, surface: str) -> None:
    """Whoever takes the wheel ends the hand-off that had moved it; one that has not arrived yet is in the way."""
    check_not_leaving(db, session, row["handoff_state"])
    if row["handoff_state"] == "running" and row["driver"] != escape(surface) and (carried := live(db, session)):
        finish(db, carried, "fail", "taken_back", f"The wheel was taken by {surface}.")


def lease(db: Db, session: SessionId, *, holder: str, surface: str, seconds: float) -> Lease:
    row, now = session_row(db, session), db.now()
    if row["driver"] not in (None, escape(surface)):
        raise NotDriving(session, driver=unescape(row["driver"]), asked=surface)
    if row["lease_until"] is not None and row["lease_until"] > now:
        raise busy(session, row)
    check_not_leaving(db, session, row["handoff_state"])
    fence = row["lease_fence"] + 1
    driver_fence = row["driver_fence"] if row["driver"] else row["driver_fence"] + 1
    db.run(
        "UPDATE sessions SET driver = ?, driver_fence = ?, lease_holder = ?, lease_surface = ?, lease_fence = ?, "
        "lease_since = ?, lease_until = ? WHERE id = ?",
        (escape(surface), driver_fence, escape(holder), escape(surface), fence, now, now + seconds, session),
    )
    return Lease(
        session=session,
        holder=holder,
        surface=surface,
        fence=fence,
        driver_fence=driver_fence,
        since=now,
        until=now + seconds,
    )


def session_row(db: Db, session: SessionId) -> Row:
    row = db.one(_ROW + db.for_update, (escape(session),))
    if row is None:
        raise no_session(session)
    return row


def busy(session: SessionId, row: Row) -> SessionBusy:
    return SessionBusy(
        session,
        holder=unescape(row["lease_holder"] or "somebody"),
        surface=unescape(row["lease_surface"] or "somewhere"),
        since=row["lease_since"] or 0.0,
    )


def check_idle(db: Db, session: SessionId, lease: Lease | None) -> None:
    """Nobody else is writing a turn right now; whoever comes with a lease still holds it."""
    row = session_row(db, session)
    if lease is not None and lease.session == session:
        guard(db, lease, "lease_fence = lease_fence", ())
    else:
        if row["lease_until"] is not None and row["lease_until"] > db.now():
            raise busy(session, row)
        check_not_carried(db, session, row["handoff_state"])


def renew(db: Db, lease: Lease, seconds: float) -> Lease:
    until = db.now() + seconds
    if seconds > 0:
        guard(db, lease, "lease_until = ?", (until,))
    else:
        guard(db, lease, NO_LEASE, ())
    return Lease(
        session=lease.session,
        holder=lease.holder,
        surface=lease.surface,
        fence=lease.fence,
        driver_fence=lease.driver_fence,
        since=lease.since,
        until=until,
    )


def send_control(db: Db, session: SessionId, kind: str, payload: Json, by: str) -> Control:
    exists(db, session)
    now = db.now()
    text = to_stored_text(json.dumps(payload, ensure_ascii=False), db.redact)
    row = db.one(
        "INSERT INTO controls(session_id, kind, payload, sender, at) VALUES (?, ?, ?, ?, ?) RETURNING id",
        (session, escape(kind), text, escape(by), now),
    )
    assert row is not None
    db.changed(session, "control")
    return Control(id=row["id"], session=session, kind=kind, payload=payload, by=by, at=now)


def take_controls(db: Db, lease: Lease) -> list[Control]:
    """Everything said to this turn and not yet heard, each exactly once."""
    guard(db, lease, "lease_fence = lease_fence", ())
    rows = db.all(
        "UPDATE controls SET taken_at = ? WHERE session_id = ? AND taken_at IS NULL "
        "RETURNING id, kind, payload, sender, at",
        (db.now(), lease.session),
    )
    return [_control(lease.session, row) for row in sorted(rows, key=lambda row: int(row["id"]))]


def waiting(db: Db, lease: Lease) -> bool:
    """Whether there is something to hear. Reads only, and says so when the lease is gone."""
    row = db.one(_ROW, (lease.session,))
    held = row and (row["lease_fence"], row["driver_fence"]) == (lease.fence, lease.driver_fence)
    if not row or not held or row["lease_until"] is None:
        raise lost(db, lease)
    said = "SELECT 1 AS found FROM controls WHERE session_id = ? AND taken_at IS NULL"
    return db.one(said, (lease.session,)) is not None


def _control(session: SessionId, row: Row) -> Control:
    payload = json.loads(unescape(row["payload"])) if row["payload"] is not None else None
    kind, by = unescape(row["kind"]), unescape(row["sender"])
    return Control(id=row["id"], session=session, kind=kind, payload=payload, by=by, at=row["at"])
