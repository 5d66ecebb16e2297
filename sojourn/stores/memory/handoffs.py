"""Hand-offs in a dictionary, by id."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from sojourn.core.errors import Conflict, NotDriving
from sojourn.core.handoff import LIVE, Handoff, HandoffId, Step, in_progress, is_waiting, new_handoff_id, step
from sojourn.core.sessions import SessionId
from sojourn.stores.handoffs import advanced, columns, handoff_from
from sojourn.stores.memory.data import Data
from sojourn.stores.memory.log import check_idle
from sojourn.stores.memory.standing import NO_LEASE, finish, get, live, show, swap
from sojourn.stores.memory.waking import Waking
from sojourn.text.escape import escape, unescape


def request(
    data: Data, session: SessionId, platform: str, surface: str, target: str, by: str, seconds: float
) -> Handoff:
    data.session(session)
    if found := live(data, session):
        raise in_progress(found)
    row, now = check_idle(data, session), data.clock()
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
    data.tables["handoffs"][(asked.id,)] = columns(fields, data.redact) | {"session_id": session}
    data.update(session, **NO_LEASE)
    show(data, asked)
    data.changed(session, "handoff")
    return get(data, asked.id)


def all_of(data: Data) -> list[Handoff]:
    found = map(handoff_from, data.tables["handoffs"].values())
    return sorted(found, key=lambda one: (one.created_at, one.id))


def claim(data: Data, found: Handoff, owner: str, seconds: float) -> Handoff:
    now = data.clock()
    claimed = swap(
        data,
        found,
        {
            "state": step(found.state, "claim"),
            "owner": owner,
            "fence": found.fence + 1,
            "until": now + seconds,
            "claimed_at": found.claimed_at or now,
        },
    )
    if found.state == "requested":
        show(data, claimed)
    return claimed


def bind(data: Data, seen: Handoff, surface: str) -> None:
    row = data.session(seen.session)
    if row["driver_fence"] != seen.driver_fence:
        raise Conflict(
            f'Somebody took the wheel of session "{seen.session}" before it could be handed over.',
            hint="Ask whoever drives it now for a new hand-off.",
        )
    data.update(
        seen.session,
        driver=escape(surface),
        driver_fence=seen.driver_fence + 1,
        revision=row["revision"] + 1,
        ended_at=None,
        end_reason=None,
        **NO_LEASE,
    )


class MemoryHandoffs(Waking):
    """HandoffStore over a dictionary."""

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
        with self._writing() as data, data.whole():
            return request(data, session, platform, surface, target, by, seconds)

    async def get_handoff(self, id: HandoffId) -> Handoff:
        return get(self._data, id)

    async def get_handoff_state(self, session: SessionId) -> Handoff | None:
        found = await self.handoffs(session, limit=1)
        return found[0] if found else None

    async def handoffs(self, session: SessionId | None, *, limit: int = 100) -> list[Handoff]:
        if session is not None:
            self._data.session(session)
        found = [one for one in reversed(all_of(self._data)) if session in (None, one.session)]
        return found[: max(0, limit)]

    async def list_pending_handoffs(self, platforms: Sequence[str] | None = None) -> list[Handoff]:
        found = (one for one in all_of(self._data) if platforms is None or one.platform in platforms)
        return [one for one in found if is_waiting(one, self._data.clock())]

    async def claim_handoff(
        self, owner: str, *, platforms: Sequence[str] | None = None, id: HandoffId | None = None, seconds: float = 30.0
    ) -> Handoff | None:
        found = [one for one in await self.list_pending_handoffs(platforms) if id in (None, one.id)]
        if not found:
            return None
        with self._writing() as data:
            return claim(data, found[0], owner, seconds)

    async def renew_handoff(self, handoff: Handoff, seconds: float = 30.0) -> Handoff:
        with self._writing() as data:
            step(handoff.state, "renew")
            return swap(data, handoff, {"until": data.clock() + seconds})

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
        given = {"surface": surface, "place": place, "thread_id": thread_id, "message_id": message_id, "note": note}
        with self._writing() as data, data.whole():
            values = advanced(handoff, step, data.clock(), given)
            if step != "bound":
                return swap(data, handoff, values)
            moved = swap(data, handoff, {**values, "driver_fence": handoff.driver_fence + 1})
            bind(data, handoff, moved.surface)
            return moved

    async def complete_handoff(self, handoff: Handoff, *, message_id: str = "", note: str = "") -> Handoff:
        with self._writing() as data:
            return finish(data, handoff, "complete", message_id=message_id, note=note)

    async def fail_handoff(self, handoff: Handoff, code: str, error: str = "") -> Handoff:
        with self._writing() as data:
            return finish(data, handoff, "fail", code, error)

    async def cancel_handoff(
        self, id: HandoffId, *, as_: Literal["cancelled", "expired"] = "cancelled", error: str = ""
    ) -> Handoff:
        with self._writing() as data:
            return finish(data, get(data, id), "cancel" if as_ == "cancelled" else "expire", as_, error)

    async def expire_handoffs(self) -> list[Handoff]:
        with self._writing() as data:
            before = [one for one in all_of(data) if one.state in LIVE]
            return [get(data, one.id) for one in before if live(data, one.session) is None]
