"""Hand-offs over SQL. The session's row is locked first, then the hand-off's: so no two wait for one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from sojourn.core.errors import Conflict, NotDriving
from sojourn.core.handoff import LIVE, Handoff, HandoffId, Signal, Step, is_waiting, new_handoff_id, step, under_way
from sojourn.core.sessions import SessionId
from sojourn.core.text import escape, unescape
from sojourn.stores.handoffs import advanced, columns, handoff_from
from sojourn.stores.journal import HANDOFFS
from sojourn.stores.sql.db import Db, insertion, marks
from sojourn.stores.sql.log import exists
from sojourn.stores.sql.standing import COLUMNS, NO_LEASE, finish, get, live, show, swap
from sojourn.stores.sql.tables import TABLES_BY_NAME
from sojourn.stores.sql.transactions import Transactions
from sojourn.stores.sql.wheel import busy, session_row

_INSERT = insertion("handoffs", TABLES_BY_NAME["handoffs"].columns)


def request(db: Db, session: SessionId, platform: str, surface: str, target: str, by: str, seconds: float) -> Handoff:
    row, now = session_row(db, session), db.now()
    if found := live(db, session):
        raise under_way(found)
    if row["lease_until"] is not None and row["lease_until"] > now:
        raise busy(session, row)
    if row["driver"] not in (None, escape(surface)):
        raise NotDriving(session, driver=unescape(row["driver"]), asked=surface)
    asked = Handoff(
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
    fields = {name: getattr(asked, name) for name in Handoff.__dataclass_fields__ if name != "session"}
    kept = columns(fields, db.redact) | {"session_id": session}
    db.run(_INSERT, [kept[name] for name in TABLES_BY_NAME["handoffs"].columns])
    db.run(f"UPDATE sessions SET {NO_LEASE} WHERE id = ?", (session,))  # a lease that ran out is worth nothing now
    show(db, asked)
    db.changed(session, "handoff")
    db.touched.add(HANDOFFS)
    return get(db, asked.id)


def newest(db: Db, session: SessionId | None, limit: int) -> list[Handoff]:
    if session is not None:
        exists(db, session)
    where, params = ("", []) if session is None else ("WHERE session_id = ?", [escape(session)])
    rows = db.all(
        f"SELECT {COLUMNS} FROM handoffs {where} ORDER BY created_at DESC, id DESC LIMIT ?", [*params, max(0, limit)]
    )
    return [handoff_from(row) for row in rows]


def waiting(db: Db, platforms: Sequence[str] | None) -> list[Handoff]:
    now = db.now()
    found = (one for one in under_way_now(db) if platforms is None or one.platform in platforms)
    return [one for one in found if is_waiting(one, now)]


def under_way_now(db: Db) -> list[Handoff]:
    """All that have not ended, oldest first. They are few."""
    rows = db.all(f"SELECT {COLUMNS} FROM handoffs WHERE state IN ({marks(LIVE)}) ORDER BY created_at, id", LIVE)
    return [handoff_from(row) for row in rows]


def claim(db: Db, owner: str, platforms: Sequence[str] | None, id: HandoffId | None, seconds: float) -> Handoff | None:
    for found in waiting(db, platforms):
        if id not in (None, found.id):
            continue
        lock(db, found.session)
        now = db.now()
        values = {
            "state": step(found.state, "claim"),
            "owner": owner,
            "fence": found.fence + 1,
            "until": now + seconds,
            "claimed_at": found.claimed_at or now,
        }
        try:
            claimed = swap(db, found, values, until=found.until)
        except Conflict:
            continue  # another one was quicker
        if found.state == "requested":
            show(db, claimed)
        return claimed
    return None


def lock(db: Db, session: SessionId) -> None:
    db.one("SELECT 1 AS found FROM sessions WHERE id = ?" + db.for_update, (session,))


def advance(db: Db, seen: Handoff, to: Step, given: Mapping[str, str]) -> Handoff:
    lock(db, seen.session)
    values = advanced(seen, to, db.now(), given)
    if to != "bound":
        return swap(db, seen, values)
    moved = swap(db, seen, {**values, "driver_fence": seen.driver_fence + 1})
    done = db.run(  # a lease of the giver is worth nothing from here on
        f"UPDATE sessions SET driver = ?, driver_fence = driver_fence + 1, revision = revision + 1, {NO_LEASE}, "
        "ended_at = NULL, end_reason = NULL WHERE id = ? AND driver_fence = ?",
        (escape(moved.surface), seen.session, seen.driver_fence),
    )
    if not done:
        raise Conflict(
            f'Somebody took the wheel of session "{seen.session}" before it could be handed over.',
            hint="Ask whoever drives it now for a new hand-off.",
        )
    return moved


def renew(db: Db, seen: Handoff, seconds: float) -> Handoff:
    lock(db, seen.session)
    step(seen.state, "renew")
    return swap(db, seen, {"until": db.now() + seconds})


def over(db: Db, seen: Handoff, signal: Signal, code: str = "", error: str = "", **more: str) -> Handoff:
    lock(db, seen.session)
    return finish(db, seen, signal, code, error, **more)


def cancel(db: Db, id: HandoffId, as_: str, error: str) -> Handoff:
    lock(db, get(db, id).session)
    return finish(db, get(db, id), "cancel" if as_ == "cancelled" else "expire", as_, error)


def expire(db: Db) -> list[Handoff]:
    ended: list[Handoff] = []
    for found in under_way_now(db):
        lock(db, found.session)
        if live(db, found.session) is None:
            ended.append(get(db, found.id))
    return ended


class SqlHandoffs(Transactions):
    """HandoffStore over SQL."""

    async def request_handoff(
        self,
        session: SessionId,
        platform: str,
        *,
        surface: str,
        target: str = "",
        by: str = "",
        seconds: float = 3600.0,
    ) -> Handoff:
        return await self._write(lambda db: request(db, session, platform, surface, target, by, seconds))

    async def get_handoff(self, id: HandoffId) -> Handoff:
        return await self._read(lambda db: get(db, id))

    async def get_handoff_state(self, session: SessionId) -> Handoff | None:
        found = await self.handoffs(session, limit=1)
        return found[0] if found else None

    async def handoffs(self, session: SessionId | None, *, limit: int = 100) -> list[Handoff]:
        return await self._read(lambda db: newest(db, session, limit))

    async def list_pending_handoffs(self, platforms: Sequence[str] | None = None) -> list[Handoff]:
        return await self._read(lambda db: waiting(db, platforms))

    async def claim_handoff(
        self, owner: str, *, platforms: Sequence[str] | None = None, id: HandoffId | None = None, seconds: float = 30.0
    ) -> Handoff | None:
        if not await self._read(lambda db: waiting(db, platforms)):
            return None  # most who ask find nothing: they need not wait for the writer
        return await self._write(lambda db: claim(db, owner, platforms, id, seconds))

    async def renew_handoff(self, handoff: Handoff, seconds: float = 30.0) -> Handoff:
        return await self._write(lambda db: renew(db, handoff, seconds))

    async def advance_handoff(
        self,
        handoff: Handoff,
        step: Step,
        *,
        surface: str = "",
        place: str = "",
        thread_id: str = "",
        message_id: str = "",
        note: str = "",
    ) -> Handoff:
        given: dict[str, Any] = {
            "surface": surface,
            "place": place,
            "thread_id": thread_id,
            "message_id": message_id,
            "note": note,
        }
        return await self._write(lambda db: advance(db, handoff, step, given))

    async def complete_handoff(self, handoff: Handoff, *, message_id: str = "", note: str = "") -> Handoff:
        return await self._write(lambda db: over(db, handoff, "complete", message_id=message_id, note=note))

    async def fail_handoff(self, handoff: Handoff, code: str, error: str = "") -> Handoff:
        return await self._write(lambda db: over(db, handoff, "fail", code, error))

    async def cancel_handoff(
        self, id: HandoffId, *, as_: Literal["cancelled", "expired"] = "cancelled", error: str = ""
    ) -> Handoff:
        return await self._write(lambda db: cancel(db, id, as_, error))

    async def expire_handoffs(self) -> list[Handoff]:
        return await self._write(expire)
