"""The numbered log: append, read, undo, end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sojourn.core.errors import LeaseLost, NotDriving
from sojourn.core.events import Chunk, Event, Yielded, decode, encode, is_news
from sojourn.core.messages import Message
from sojourn.core.sessions import Lease, Recorded, Session, SessionId, TurnId
from sojourn.core.text import escape, unescape
from sojourn.stores.sql.db import Db, Row, insertion, marks
from sojourn.stores.sql.rows import (
    MESSAGE_COLUMNS,
    count_tool_calls,
    message_from_row,
    message_from_values,
    message_row,
    preview_of,
    sum_usage,
    to_stored_text,
)
from sojourn.stores.sql.sessions import get, no_session

_COLUMNS = ", ".join(MESSAGE_COLUMNS)
_TURN = MESSAGE_COLUMNS.index("turn_id")
_TIME = MESSAGE_COLUMNS.index("timestamp")
NUMBERED = ("session_id", "seq", *MESSAGE_COLUMNS)  # the columns of a message in its place
_NEWS = "message_count = message_count + ?, tool_call_count = tool_call_count + ?, last_active = ?, "
_INSERT_EVENT = insertion("events", ("session_id", "seq", "turn_id", "name", "data", "at"))


@dataclass(frozen=True, slots=True)
class Tally:
    """What a batch of items adds to the figures on the session row."""

    messages: int
    calls: int


def tally(said: Sequence[Message]) -> Tally:
    return Tally(len(said), sum(map(count_tool_calls, said)))


def append(db: Db, lease: Lease, items: Sequence[Yielded], turn: TurnId | None) -> list[Recorded]:
    if not items:
        return []
    now, messages = db.now(), [item for item in items if isinstance(item, Message)]
    news, sums = is_news(items), tally(messages)
    more = (sums.messages, sums.calls, now) if news else ()
    row = db.one(
        f"UPDATE sessions SET last_seq = last_seq + ?, {_NEWS if news else ''}ended_at = NULL, end_reason = NULL "
        "WHERE id = ? AND lease_fence = ? AND driver_fence = ? AND lease_until IS NOT NULL RETURNING last_seq, preview",
        (len(items), *more, lease.session, lease.fence, lease.driver_fence),
    )
    if row is None:
        raise lost(db, lease)
    if not row["preview"] and (words := preview_of(messages, db.redact)):
        db.run("UPDATE sessions SET preview = ? WHERE id = ?", (words, lease.session))
    if used := sum_usage(items):
        added = ", ".join(f"{name} = COALESCE({name}, 0) + ?" for name in used)
        db.run(f"UPDATE sessions SET {added} WHERE id = ?", (*used.values(), lease.session))
    said: list[Sequence[Any]] = []
    events: list[Sequence[Any]] = []
    kept: list[Recorded] = []
    for seq, item in enumerate(items, row["last_seq"] - len(items) + 1):
        if isinstance(item, Message):
            values, recorded = as_row(db, lease, seq, item, turn, now)
            said.append(values)
            kept.append(recorded)
        else:
            name, text, as_kept = shown(db, item)
            events.append((lease.session, seq, turn, name, text, now))
            kept.append(Recorded(session=lease.session, seq=seq, at=now, item=as_kept, turn=turn))
    if said:
        db.put_messages(NUMBERED, said)
    if events:
        db.many(_INSERT_EVENT, events)
    if news:
        db.changed(lease.session, "log")
    db.touched.add(lease.session)
    db.kept.setdefault(lease.session, []).extend(kept)
    return kept


def as_row(
    db: Db, lease: Lease, seq: int, item: Message, turn: TurnId | None, now: float
) -> tuple[tuple[Any, ...], Recorded]:
    """The values of NUMBERED, and the message that comes of them when they are read again."""
    values = list(message_row(item, db.redact, now=now))
    values[_TURN] = values[_TURN] or turn
    recorded = Recorded(
        session=lease.session, seq=seq, at=values[_TIME], item=message_from_values(values), turn=values[_TURN]
    )
    return (lease.session, seq, *values), recorded


def shown(db: Db, item: Event) -> tuple[str, str, Event]:
    """An event's name, its data as it is kept, and the event that comes of it when it is read again."""
    name, data = encode(item)
    text = to_stored_text(data, db.redact) or "{}"
    return name, text, item if text == data and isinstance(item, Chunk) else decode(name, unescape(text))


def lost(db: Db, lease: Lease) -> LeaseLost | NotDriving:
    """Why a guarded write changed nothing."""
    row = db.one(
        "SELECT driver, driver_fence, lease_holder, lease_surface, lease_fence FROM sessions WHERE id = ?",
        (lease.session,),
    )
    if row is None:
        raise no_session(lease.session)
    if row["driver_fence"] != lease.driver_fence:
        return NotDriving(lease.session, driver=unescape(row["driver"] or "nobody"), asked=lease.surface)
    holder = unescape(f"{row['lease_holder']} ({row['lease_surface']})") if row["lease_holder"] else "nobody"
    return LeaseLost(
        f'The turn lease on session "{lease.session}" was lost; it is now held by {holder}.',
        hint="What was kept before that is safe. Start the turn again.",
    )


def page(db: Db, session: SessionId, after: int, messages_only: bool, limit: int) -> list[Recorded]:
    """The next items of the log; fewer than `limit` only when there are no more."""
    found = [
        _message(row)
        for row in db.all(
            f"SELECT session_id, seq, {_COLUMNS} FROM messages WHERE session_id = ? AND seq > ? ORDER BY seq LIMIT ?",
            (escape(session), after, limit),
        )
    ]
    if not messages_only:
        found += [
            _event(row)
            for row in db.all(
                "SELECT session_id, seq, turn_id, name, data, at FROM events WHERE session_id = ? AND seq > ? "
                "ORDER BY seq LIMIT ?",
                (escape(session), after, limit),
            )
        ]
        found.sort(key=lambda item: item.seq)
    if not found:
        exists(db, session)
    return found[:limit]


def exists(db: Db, session: SessionId) -> None:
    if db.one("SELECT 1 AS found FROM sessions WHERE id = ?", (escape(session),)) is None:
        raise no_session(session)


def _message(row: Row) -> Recorded:
    return Recorded(
        session=row["session_id"], seq=row["seq"], at=row["timestamp"], item=message_from_row(row), turn=row["turn_id"]
    )


def _event(row: Row) -> Recorded:
    return Recorded(
        session=row["session_id"],
        seq=row["seq"],
        at=row["at"],
        turn=row["turn_id"],
        item=decode(row["name"], unescape(row["data"])),
    )


def guard(db: Db, lease: Lease, assignments: str, params: Sequence[Any]) -> None:
    """One guarded UPDATE of the session row, or the reason why not."""
    done = db.run(
        f"UPDATE sessions SET {assignments} "
        "WHERE id = ? AND lease_fence = ? AND driver_fence = ? AND lease_until IS NOT NULL",
        [*params, lease.session, lease.fence, lease.driver_fence],
    )
    if not done:
        raise lost(db, lease)


def set_flags(db: Db, lease: Lease, seqs: Sequence[int], *, active: bool, compacted: bool) -> int:
    undone = int(not active and not compacted)
    guard(db, lease, "rewind_count = rewind_count + ?, revision = revision + 1", (undone,))
    flags = (int(active), int(compacted))
    changed = sum(
        db.run(
            "UPDATE messages SET active = ?, compacted = ? WHERE session_id = ? AND (active <> ? OR compacted <> ?) "
            f"AND seq IN ({marks(some)})",
            (*flags, lease.session, *flags, *some),
        )
        for some in (seqs[at : at + 500] for at in range(0, len(seqs), 500))
    )
    db.changed(lease.session, "log")
    return changed


def end(db: Db, lease: Lease, reason: str) -> Session:
    guard(
        db,
        lease,
        "ended_at = COALESCE(ended_at, ?), end_reason = COALESCE(end_reason, ?), revision = revision + 1",
        (db.now(), to_stored_text(reason, db.redact)),
    )
    db.changed(lease.session, "changed")
    return get(db, lease.session)
