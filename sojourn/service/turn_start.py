"""Turn start: one transaction checks idempotency key, queue and lease, and stores the first log items of a turn."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sojourn.core.errors import SessionBusy
from sojourn.core.events import Yielded
from sojourn.core.sessions import Lease, Recorded, Session
from sojourn.ports.service import Turn
from sojourn.ports.store import Transaction
from sojourn.processes.identity import is_dead
from sojourn.service.idempotency import claim_key, find_turn
from sojourn.service.recovery import end_others
from sojourn.service.turn_record import LEASE_SECONDS, TurnRecord, find_running, list_active_turns
from sojourn.turn_support.conversation_history import SessionPast
from sojourn.turn_support.runtime_selection import save_selection


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStart:
    """A turn that is about to start: its record, its first log items, and a title for a session that has none."""

    record: TurnRecord
    opening: Sequence[Yielded]
    title: str = ""
    keep_runtime: bool = False  # the session keeps the runtime and model of this request
    past: SessionPast | None = None  # as it was read before


@dataclass(frozen=True, slots=True, kw_only=True)
class BegunTurn:
    """A turn that holds the lease, with the log items it has stored and the session as it was then."""

    record: TurnRecord
    lease: Lease
    session: Session
    stored: Sequence[Recorded]
    title: str | None = None  # the one it gave to the session
    past: SessionPast | None = None  # unless it has to be read again


def begin_turn(store: Transaction, start: TurnStart) -> BegunTurn | Turn:
    """Begins the turn, or returns the one that its key has started. SessionBusy, NotDriving, Conflict, NotFound.

    May be repeated: a try whose commit was in doubt is found again by the id of the turn.
    """
    record, active = start.record, list_active_turns(store, start.record.session)
    mine = next((one for one in active if one.id == record.id), None)
    if mine is not None and mine.lease is not None:
        stored = [kept for kept in store.read(mine.session, after=mine.after) if kept.turn == mine.id]
        return BegunTurn(record=mine, lease=mine.lease, session=store.get(mine.session), stored=stored)
    if mine is None and (earlier := find_turn(store, record)):
        return earlier
    if ahead := find_ahead(active, mine):
        raise SessionBusy(record.session, holder=ahead.holder, surface=ahead.by.surface, since=ahead.since)
    lease = store.lease(record.session, holder=record.holder, surface=record.by.surface, seconds=LEASE_SECONDS)
    end_others(store, lease, record, active)
    is_first = all(one.state != "running" for one in active)  # else the ends of others were stored just now
    past = start.past if is_first and start.past and start.past.is_current(lease) else None
    session = past.session if past else store.get(record.session)
    record = record.running(lease, session.last_seq)
    stored = store.append(lease, start.opening, turn=record.id)
    store.put_record(record.to_record())
    if mine is None:
        claim_key(store, record)
    if start.keep_runtime:
        session = save_selection(store, session, record.runtime, record.model)
    title = store.set_title(session.id, start.title) if start.title and not session.title else None
    driven = replace(session, driver=lease.surface, driver_fence=lease.driver_fence)
    session = replace(driven, title=title or session.title, last_seq=stored[-1].seq)
    return BegunTurn(record=record, lease=lease, session=session, stored=stored, title=title, past=past)


def find_ahead(active: Sequence[TurnRecord], mine: TurnRecord | None) -> TurnRecord | None:
    """Finds the queued turn that comes first, if that is not `mine`; `mine` itself if it was stopped meanwhile."""
    if mine is not None and mine.state == "stopped":
        return mine
    queued = [one for one in active if one.state == "queued" and not is_dead(one.process)]
    return queued[0] if queued and queued[0] != mine else None


def queue_turn(store: Transaction, start: TurnStart) -> TurnRecord | Turn:
    """Stores a request that waits for its session, and tells the running turn; or finds the turn of its key."""
    record = start.record
    if earlier := find_turn(store, record):
        return earlier if earlier.id != record.id else replace(record, after=earlier.after)
    session = store.get(record.session)
    record = replace(record, after=session.last_seq, since=time.time())
    store.put_record(record.to_record())
    claim_key(store, record)
    if start.keep_runtime:
        save_selection(store, session, record.runtime, record.model)
    if now := find_running(store, record.session):
        store.send_control(session.id, "queued", {"turn": now.id, "queued": record.id}, by=record.caller_label)
    return record
