"""Who may write to a session: its driver, its turn lease, and the controls sent to a running turn."""

from __future__ import annotations

from dataclasses import replace

from sojourn.core.errors import Conflict, NotDriving, SessionBusy
from sojourn.core.messages import Json
from sojourn.core.sessions import Control, Lease, Session, SessionId
from sojourn.stores.sql.db import Db, Row
from sojourn.stores.sql.handoff_guard import check_not_moving, find_live_handoff, finish_handoff
from sojourn.stores.sql.lease_guard import CLEAR_LEASE, HOLDS_LEASE, check_lease, lease_lost, update_guarded
from sojourn.stores.sql.rows import decode_json, encode_json, to_stored_text
from sojourn.stores.sql.sessions import check_session_exists, get_session, session_not_found
from sojourn.text.escape import escape, unescape

_SELECT = (
    "SELECT driver, driver_fence, lease_holder, lease_surface, lease_fence, lease_since, lease_until, handoff_state, "
    "last_seq, revision "
    "FROM sessions WHERE id = ?"
)


def set_driver(db: Db, session: SessionId, surface: str, *, fence: int | None = None) -> Session:
    row = lock_session(db, session)
    if fence is not None and row["driver_fence"] != fence:
        raise Conflict(
            f'Session "{session}" is driven from {unescape(row["driver"] or "nowhere")} by now '
            f"(number {row['driver_fence']}, not {fence}).",
            hint="Read the session again; another surface took over in between.",
        )
    _end_handoff(db, session, row, surface)
    db.execute(  # the lease of the old driver ends here, so that nobody has to wait for it
        f"UPDATE sessions SET driver = ?, driver_fence = driver_fence + 1, revision = revision + 1, {CLEAR_LEASE} "
        "WHERE id = ?",
        (escape(surface), session),
    )
    db.record_change(session, "changed")
    return get_session(db, session)


def _end_handoff(db: Db, session: SessionId, row: Row, surface: str) -> None:
    """A new driver ends the hand-off that made the current one; a hand-off that is not bound yet raises."""
    check_not_moving(db, session, row["handoff_state"])
    if row["handoff_state"] != "running" or row["driver"] == escape(surface):
        return
    if handoff := find_live_handoff(db, session):
        finish_handoff(db, handoff, "fail", "taken_back", f"{surface} took over.")


def acquire_lease(db: Db, session: SessionId, *, holder: str, surface: str, seconds: float = 30.0) -> Lease:
    row, now = lock_session(db, session), db.now()
    if row["driver"] not in (None, escape(surface)):
        raise NotDriving(session, driver=unescape(row["driver"]), asked=surface)
    if is_leased(row, now):
        raise session_busy(session, row)
    check_not_moving(db, session, row["handoff_state"])
    fence = row["lease_fence"] + 1
    driver_fence = row["driver_fence"] if row["driver"] else row["driver_fence"] + 1
    db.execute(
        "UPDATE sessions SET driver = ?, driver_fence = ?, lease_holder = ?, lease_surface = ?, lease_fence = ?, "
        "lease_since = ?, lease_until = ? WHERE id = ?",
        (
            escape(surface),
            driver_fence,
            to_stored_text(holder, db.redact),
            escape(surface),
            fence,
            now,
            now + seconds,
            session,
        ),
    )
    return Lease(
        session=session,
        holder=holder,
        surface=surface,
        fence=fence,
        driver_fence=driver_fence,
        since=now,
        until=now + seconds,
        last_seq=row["last_seq"],
        revision=row["revision"],
    )


def lock_session(db: Db, session: SessionId) -> Row:
    """Locks the session row and returns its driver, lease and hand-off columns."""
    row = db.fetch_one(_SELECT + db.for_update, (escape(session),))
    if row is None:
        raise session_not_found(session)
    return row


def is_leased(row: Row, now: float) -> bool:
    return row["lease_until"] is not None and bool(row["lease_until"] > now)


def session_busy(session: SessionId, row: Row) -> SessionBusy:
    return SessionBusy(
        session,
        holder=unescape(row["lease_holder"] or "somebody"),
        surface=unescape(row["lease_surface"] or "somewhere"),
        since=row["lease_since"] or 0.0,
    )


def check_idle(db: Db, session: SessionId, lease: Lease | None) -> None:
    """Raises if another process runs a turn or carries a hand-off. A caller with a lease must still hold it."""
    row = lock_session(db, session)
    if lease is not None and lease.session == session:
        check_lease(db, lease)
    else:
        if is_leased(row, db.now()):
            raise session_busy(session, row)
        check_not_moving(db, session, row["handoff_state"], or_arriving=True)


def renew_lease(db: Db, lease: Lease, seconds: float = 30.0) -> Lease:
    until = db.now() + seconds
    if seconds > 0:
        update_guarded(db, lease, "lease_until = ?", (until,))
    else:
        update_guarded(db, lease, CLEAR_LEASE)
    return replace(lease, until=until)


def send_control(db: Db, session: SessionId, kind: str, payload: Json = None, *, by: str = "") -> Control:
    check_session_exists(db, session)
    now = db.now()
    row = db.fetch_one(
        "INSERT INTO controls(session_id, kind, payload, sender, at) VALUES (?, ?, ?, ?, ?) RETURNING id",
        (session, escape(kind), encode_json(payload, db.redact), to_stored_text(by, db.redact), now),
    )
    assert row is not None
    db.record_change(session, "control")
    return Control(id=row["id"], session=session, kind=kind, payload=payload, by=by, at=now)


def take_controls(db: Db, lease: Lease) -> list[Control]:
    """Marks the unread controls of a turn as taken and returns them; each is returned exactly once."""
    check_lease(db, lease)
    rows = db.fetch_all(
        "UPDATE controls SET taken_at = ? WHERE session_id = ? AND taken_at IS NULL "
        "RETURNING id, kind, payload, sender, at",
        (db.now(), lease.session),
    )
    return [_control_from(lease.session, row) for row in sorted(rows, key=lambda row: int(row["id"]))]


def has_controls(db: Db, lease: Lease) -> bool:
    """Whether unread controls exist. Reads only; raises if the lease is lost."""
    unread = "EXISTS (SELECT 1 FROM controls WHERE session_id = sessions.id AND taken_at IS NULL)"
    row = db.fetch_one(
        f"SELECT {unread} AS found FROM sessions WHERE {HOLDS_LEASE}", (lease.session, lease.fence, lease.driver_fence)
    )
    if row is None:
        raise lease_lost(db, lease)
    return bool(row["found"])


def _control_from(session: SessionId, row: Row) -> Control:
    payload = decode_json(row["payload"]) if row["payload"] is not None else None
    kind, by = unescape(row["kind"]), unescape(row["sender"])
    return Control(id=row["id"], session=session, kind=kind, payload=payload, by=by, at=row["at"])
