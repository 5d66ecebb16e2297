"""The numbered log, who may write to it, and words to a running turn."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from sojourn.core.errors import Conflict, LeaseLost, NotDriving, SessionBusy
from sojourn.core.events import Yielded, changes_lists, decode_event, encode_event
from sojourn.core.messages import Json, Message
from sojourn.core.rows import MESSAGE_COLUMNS, call_count, message_from, message_row, opening, safe, spent
from sojourn.core.sessions import Control, Lease, Recorded, Session, SessionId, TurnId
from sojourn.stores.memory.data import Data, Row
from sojourn.stores.memory.sessions import get
from sojourn.stores.memory.standing import NO_LEASE, check_not_leaving, finish, live
from sojourn.text.escape import escape, unescape


# who may write
def check(data: Data, lease: Lease) -> Row:
    """The session row, if that lease still stands and its surface still drives."""
    row = data.session(lease.session)
    if row["driver_fence"] != lease.driver_fence:
        raise NotDriving(lease.session, driver=unescape(row["driver"] or "nobody"), asked=lease.surface)
    if row["lease_fence"] != lease.fence or row["lease_until"] is None:
        holder = f"{row['lease_holder']} ({row['lease_surface']})" if row["lease_until"] is not None else "nobody"
        raise LeaseLost(
            f'The turn lease on session "{lease.session}" was lost; it is now held by {holder}.',
            hint="What was kept before that is safe. Start the turn again.",
        )
    return row


def check_idle(data: Data, session: SessionId) -> Row:
    row = data.session(session)
    if row["lease_until"] is not None and row["lease_until"] > data.clock():
        raise SessionBusy(session, holder=row["lease_holder"], surface=row["lease_surface"], since=row["lease_since"])
    return row


def drive(data: Data, session: SessionId, surface: str, *, fence: int | None) -> Session:
    row = data.session(session)
    if fence is not None and row["driver_fence"] != fence:
        raise Conflict(
            f'Session "{session}" is driven from {unescape(row["driver"] or "nowhere")} '
            f"(number {row['driver_fence']}, not {fence}).",
            hint="Read the session again; somebody took the wheel in between.",
        )
    check_not_leaving(data, session)
    if row["driver"] != escape(surface) and (carried := live(data, session)):
        finish(data, carried, "fail", "taken_back", f"The wheel was taken by {surface}.")
    row = data.session(session)
    data.update(
        session, driver=escape(surface), driver_fence=row["driver_fence"] + 1, revision=row["revision"] + 1, **NO_LEASE
    )
    data.changed(session, "changed")
    return get(data, session)


def lease(data: Data, session: SessionId, *, holder: str, surface: str, seconds: float) -> Lease:
    row, now = data.session(session), data.clock()
    if row["driver"] not in (None, escape(surface)):
        raise NotDriving(session, driver=unescape(row["driver"]), asked=surface)
    check_idle(data, session)
    check_not_leaving(data, session)
    given = Lease(
        session=session,
        holder=holder,
        surface=surface,
        fence=row["lease_fence"] + 1,
        driver_fence=row["driver_fence"] + (0 if row["driver"] else 1),
        since=now,
        until=now + seconds,
    )
    data.update(
        session,
        driver=escape(surface),
        driver_fence=given.driver_fence,
        lease_holder=holder,
        lease_surface=surface,
        lease_fence=given.fence,
        lease_since=now,
        lease_until=given.until,
    )
    return given


def renew(data: Data, lease: Lease, seconds: float) -> Lease:
    check(data, lease)
    until = data.clock() + seconds
    data.update(lease.session, **({"lease_until": until} if seconds > 0 else NO_LEASE))
    return replace(lease, until=until)


# the log
def append(data: Data, lease: Lease, items: Sequence[Yielded], turn: TurnId | None) -> list[Recorded]:
    if not items:
        return []
    row, now = check(data, lease), data.clock()
    rows = [
        _message(data, lease.session, row["last_seq"] + at, item, turn, now)
        if isinstance(item, Message)
        else _event(data, lease.session, row["last_seq"] + at, item, turn, now)
        for at, item in enumerate(items, 1)
    ]
    said = [item for item in items if isinstance(item, Message)]
    data.update(
        lease.session,
        last_seq=row["last_seq"] + len(items),
        ended_at=None,
        end_reason=None,
        last_active=now if (news := changes_lists(items)) else row["last_active"],
        message_count=row["message_count"] + len(said),
        preview=row["preview"] or opening(said, data.redact),
        tool_call_count=row["tool_call_count"] + sum(map(call_count, said)),
        **{name: (row[name] or 0) + amount for name, amount in spent(items).items()},
    )
    for table, kept in rows:
        if table == "messages":
            kept["id"] = data.rows + 1
        data.add(table, (lease.session, kept["seq"]), kept)
    if news:
        data.changed(lease.session, "log")
    data.touched.add(lease.session)
    return [_recorded(kept) for _, kept in rows]


def _message(
    data: Data, session: SessionId, seq: int, item: Message, turn: TurnId | None, now: float
) -> tuple[str, dict[str, Any]]:
    values = dict(zip(MESSAGE_COLUMNS, message_row(item, data.redact, now=now), strict=True))
    values["turn_id"] = values["turn_id"] or turn
    return "messages", {"session_id": session, "seq": seq, **values}


def _event(
    data: Data, session: SessionId, seq: int, item: Yielded, turn: TurnId | None, now: float
) -> tuple[str, dict[str, Any]]:
    assert not isinstance(item, Message)
    name, text = encode_event(item)
    kept = safe(text, data.redact)
    return "events", {"session_id": session, "seq": seq, "turn_id": turn, "name": name, "data": kept, "at": now}


def _recorded(row: Row) -> Recorded:
    item: Yielded = decode_event(row["name"], unescape(row["data"])) if "name" in row else message_from(row)
    at = row["at"] if "name" in row else row["timestamp"]
    return Recorded(session=row["session_id"], seq=row["seq"], at=at, item=item, turn=row["turn_id"])


def read(data: Data, session: SessionId, after: int, messages_only: bool) -> Iterator[Recorded]:
    """What there is now; what is added while somebody reads comes with the next reading."""
    data.session(session)
    numbers = data.log.get(session, [])
    messages, events = data.tables["messages"], data.tables["events"]
    for seq in numbers[bisect_right(numbers, after) :]:
        row = messages.get((session, seq)) or (None if messages_only else events.get((session, seq)))
        if row is not None:
            yield _recorded(row)


def set_flags(data: Data, lease: Lease, seqs: Sequence[int], *, active: bool, compacted: bool) -> int:
    row, flags = check(data, lease), {"active": int(active), "compacted": int(compacted)}
    messages, changed = data.tables["messages"], 0
    for key in ((lease.session, seq) for seq in set(seqs)):
        if key in messages and not flags.items() <= messages[key].items():
            messages[key] = {**messages[key], **flags}
            changed += 1
    undone = int(not active and not compacted)
    data.update(lease.session, rewind_count=row["rewind_count"] + undone, revision=row["revision"] + 1)
    data.changed(lease.session, "log")
    return changed


def end(data: Data, lease: Lease, reason: str) -> Session:
    row = check(data, lease)
    if row["ended_at"] is None:
        data.update(lease.session, ended_at=data.clock(), end_reason=safe(reason, data.redact))
    data.update(lease.session, revision=row["revision"] + 1)
    data.changed(lease.session, "changed")
    return get(data, lease.session)


# words to a running turn
def send_control(data: Data, session: SessionId, kind: str, payload: Json, by: str) -> Control:
    data.session(session)
    text = json.dumps(payload, ensure_ascii=False)
    data.words += 1
    said = Control(id=data.words, session=session, kind=kind, payload=json.loads(text), by=by, at=data.clock())
    data.controls.append(replace(said, payload=json.loads(data.redact(text))))
    data.changed(session, "control")
    return said


def take_controls(data: Data, lease: Lease) -> list[Control]:
    check(data, lease)
    heard = [control for control in data.controls if control.session == lease.session]
    data.controls = [control for control in data.controls if control.session != lease.session]
    return heard
