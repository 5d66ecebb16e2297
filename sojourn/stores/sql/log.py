"""The numbered log of a session: append, read, flag, end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from sojourn.core.events import STAGES, Chunk, Done, Event, Metadata, Progress, Yielded
from sojourn.core.messages import Message
from sojourn.core.sessions import Lease, Recorded, Session, SessionId, TurnId
from sojourn.stores.sql import questions
from sojourn.stores.sql.db import Db, Row, insert_rows, placeholders
from sojourn.stores.sql.folded_chunks import cut_folded, fold_turn, is_folded
from sojourn.stores.sql.lease_guard import CLEAR_LEASE, HOLDS_LEASE, lease_lost, update_guarded
from sojourn.stores.sql.rows import (
    MESSAGE_COLUMNS,
    add_tool_names,
    count_tool_calls,
    holds_text,
    message_from_row,
    message_from_values,
    message_row,
    preview_of,
    sum_usage,
    to_stored_text,
)
from sojourn.stores.sql.sessions import check_session_exists, get_session
from sojourn.stores.sql.tables import TABLES_BY_NAME
from sojourn.text.escape import escape, unescape
from sojourn.text.event_codec import decode_event, encode_event
from sojourn.text.redaction import Redacted

_COLUMNS = ", ".join(MESSAGE_COLUMNS)
_TURN = MESSAGE_COLUMNS.index("turn_id")
_TIME = MESSAGE_COLUMNS.index("timestamp")
LOG_COLUMNS = ("session_id", "seq", *MESSAGE_COLUMNS)  # the columns of a message with its position in the log
_COUNTERS = "message_count = message_count + ?, tool_call_count = tool_call_count + ?, last_active = ?, "
EVENT_COLUMNS = TABLES_BY_NAME["events"].columns
_STATUSES = ("completed", "failed", "cancelled", "interrupted")
_FLAG_BATCH = 500  # messages in one UPDATE


def append(
    db: Db, lease: Lease, items: Sequence[Yielded], *, turn: TurnId | None = None, release: bool = False
) -> list[Recorded]:
    """Appends items, and deletes the questions that they settle. Raises if the lease is lost. `release`: it ends."""
    if not items:
        return []
    recorded = _append(db, lease, items, turn, f"{CLEAR_LEASE}, " if release else "")
    questions.settle_questions(db, lease.session, items)
    return recorded


def _append(db: Db, lease: Lease, items: Sequence[Yielded], turn: TurnId | None, release: str) -> list[Recorded]:
    now, messages = db.now(), [item for item in items if isinstance(item, Message)]
    is_visible = not all(isinstance(item, Chunk) for item in items)  # in lists: a message follows the chunks
    counters = (len(messages), sum(map(count_tool_calls, messages)), now) if is_visible else ()
    usage = sum_usage(items)
    more = "".join(f"{name} = COALESCE({name}, 0) + ?, " for name in usage) + release
    row = db.fetch_one(
        f"UPDATE sessions SET last_seq = last_seq + ?, {_COUNTERS if is_visible else ''}{more}ended_at = NULL, "
        f"end_reason = NULL, trashed_at = NULL WHERE {HOLDS_LEASE} RETURNING last_seq, preview, tools",
        (len(items), *counters, *usage.values(), lease.session, lease.fence, lease.driver_fence),
    )
    if row is None:
        raise lease_lost(db, lease)
    if not row["preview"] and (preview := preview_of(messages, db.redact)):
        db.execute("UPDATE sessions SET preview = ? WHERE id = ?", (preview, lease.session))
    if (tools := add_tool_names(row["tools"], messages)) != row["tools"]:
        db.execute("UPDATE sessions SET tools = ? WHERE id = ?", (tools, lease.session))
    message_rows: list[Sequence[Any]] = []
    event_rows: list[Sequence[Any]] = []
    recorded: list[Recorded] = []
    for seq, item in enumerate(items, row["last_seq"] - len(items) + 1):
        if isinstance(item, Message):
            values, one = encode_message_row(db, lease, seq, item, turn, now)
            message_rows.append(values)
        else:
            values, one = encode_event_row(db, lease, seq, item, turn, now)
            event_rows.append(values)
        recorded.append(one)
    if message_rows:
        db.insert_messages(LOG_COLUMNS, message_rows)
    if event_rows:
        insert_rows(db, "events", EVENT_COLUMNS, event_rows)
    if turn is not None and any(isinstance(item, Done) for item in items):
        fold_turn(db, lease.session, turn)
    if is_visible:
        db.record_change(lease.session, "log")
    db.wake_names.add(lease.session)
    db.log_items.setdefault(lease.session, []).extend(recorded)
    return recorded


def encode_message_row(
    db: Db, lease: Lease, seq: int, item: Message, turn: TurnId | None, now: float
) -> tuple[tuple[Any, ...], Recorded]:
    """Returns the values of LOG_COLUMNS, and the message as it will be read back."""
    values = list(message_row(item, db.redact, now=now))
    values[_TURN] = values[_TURN] or turn
    as_stored = message_from_values(values)
    recorded = Recorded(session=lease.session, seq=seq, at=values[_TIME], item=as_stored, turn=values[_TURN])
    return (lease.session, seq, *values), recorded


def encode_event_row(
    db: Db, lease: Lease, seq: int, item: Event, turn: TurnId | None, now: float
) -> tuple[tuple[Any, ...], Recorded]:
    """Returns the values of EVENT_COLUMNS, and the event as it will be read back."""
    name, data = encode_event(_shorten(item, lease.session, turn), is_brief=True)
    is_clean = isinstance(item.text, Redacted) if isinstance(item, Chunk) else not _holds_text(item, lease.session)
    text = escape(data) if is_clean else to_stored_text(data, db.redact) or "{}"
    as_stored = item if text == data and isinstance(item, Chunk) else _decode(name, unescape(text), lease.session, turn)
    recorded = Recorded(session=lease.session, seq=seq, at=now, item=as_stored, turn=turn)
    return (lease.session, seq, turn, name, text, now), recorded


def _shorten(event: Event, session: SessionId, turn: TurnId | None) -> Event:
    """The event without what its row says: the session and the turn."""
    if isinstance(event, Metadata) and (event.session_id, event.turn_id) == (session, turn):
        return replace(event, session_id="", turn_id="")
    if isinstance(event, Done):
        return replace(event, messages=tuple(one.removeprefix(session) for one in event.messages))
    return event


def _decode(name: str, data: str, session: SessionId, turn: TurnId | None) -> Event:
    """Decodes an event, with the session and the turn of its row."""
    event = decode_event(name, data)
    if isinstance(event, Metadata):
        return replace(event, session_id=event.session_id or session, turn_id=event.turn_id or turn or "")
    if isinstance(event, Done):
        return replace(event, messages=tuple(session + one if one[:1] == ":" else one for one in event.messages))
    return event


def _holds_text(item: Event, session: SessionId) -> bool:
    """Whether an event has a text in which a secret could be; most say only how far a turn is."""
    if isinstance(item, Done):
        numbers = [one.removeprefix(f"{session}:") for one in item.messages]
        return item.status not in _STATUSES or not all(map(str.isdecimal, numbers)) or holds_text(item.usage)
    return not isinstance(item, Progress) or item.stage not in STAGES or holds_text(item.detail)


def read_page(
    db: Db, session: SessionId, after: int, messages_only: bool, limit: int, before: int = 0
) -> list[Recorded]:
    """Returns the next items of the log; fewer than `limit` only at its end. With `before`, the last ones before that
    number, newest first."""
    bound, order, backwards = ("seq < ?", "DESC", [before]) if before else ("1 = 1", "ASC", [])
    page = f"FROM {{}} WHERE session_id = ? AND seq > ? AND {bound} ORDER BY seq {order} LIMIT ?"
    params = (escape(session), after, *backwards, limit)
    rows = db.fetch_all(f"SELECT session_id, seq, {_COLUMNS} {page.format('messages')}", params)
    items = [_recorded_message(row) for row in rows]
    if not messages_only:
        rows = db.fetch_all(f"SELECT {', '.join(EVENT_COLUMNS)} {page.format('events')}", params)
        items += [_recorded_event(row, after) for row in rows]
        items.sort(key=lambda item: item.seq, reverse=bool(before))
    if not items:
        check_session_exists(db, session)
    return items[:limit]


def _recorded_message(row: Row) -> Recorded:
    return Recorded(
        session=row["session_id"], seq=row["seq"], at=row["timestamp"], item=message_from_row(row), turn=row["turn_id"]
    )


def _recorded_event(row: Row, after: int) -> Recorded:
    """Decodes an event for a reader who knows everything up to a number."""
    name, data = row["name"], unescape(row["data"])
    session, turn = row["session_id"], row["turn_id"]
    is_run = name == "chunk" and is_folded(data)
    item = Chunk(cut_folded(data, after)) if is_run else _decode(name, data, session, turn)
    return Recorded(session=session, seq=row["seq"], at=row["at"], turn=turn, item=item)


def set_flags(db: Db, lease: Lease, seqs: Sequence[int], *, active: bool, compacted: bool) -> int:
    """Sets both flags of some messages and returns how many changed."""
    rewinds = int(not active and not compacted)
    update_guarded(db, lease, "rewind_count = rewind_count + ?, revision = revision + 1", (rewinds,))
    flags = (int(active), int(compacted))
    changed = sum(
        db.execute(
            "UPDATE messages SET active = ?, compacted = ? WHERE session_id = ? AND (active <> ? OR compacted <> ?) "
            f"AND seq IN ({placeholders(batch)})",
            (*flags, lease.session, *flags, *batch),
        )
        for batch in (seqs[at : at + _FLAG_BATCH] for at in range(0, len(seqs), _FLAG_BATCH))
    )
    db.record_change(lease.session, "log")
    return changed


def end_session(db: Db, lease: Lease, reason: str) -> Session:
    update_guarded(
        db,
        lease,
        "ended_at = COALESCE(ended_at, ?), end_reason = COALESCE(end_reason, ?), revision = revision + 1",
        (db.now(), to_stored_text(reason, db.redact)),
    )
    db.record_change(lease.session, "changed")
    return get_session(db, lease.session)
