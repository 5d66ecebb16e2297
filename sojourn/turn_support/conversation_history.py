"""Conversation history: the messages of a session that a turn goes on from, with summaries in their places, and what
else is stored about the session."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.core.messages import Json, Message, extra_of
from sojourn.core.sessions import Lease, Session, SessionId
from sojourn.ports.runtime import HistoryEntry
from sojourn.ports.store import Record, Transaction
from sojourn.turn_support.cost_limits import USAGE_KIND, Budget, CostBook
from sojourn.turn_support.permission_modes import MODE_KIND, PermissionMode, read_mode
from sojourn.turn_support.runtime_selection import RUNTIME_KIND

STATE_KIND = "agent_state"  # a runtime's own state, under `<session>/<runtime>`


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPast:
    """What a turn goes on from, as its session was at a number and a revision."""

    session: Session
    runtime: Record | None  # the one the session keeps
    history: tuple[HistoryEntry, ...]
    earlier: list[Message]  # all that the history stands for
    states: dict[str, Json]  # by runtime
    budget: Budget
    mode: PermissionMode

    def is_current(self, lease: Lease) -> bool:
        """Whether nothing has changed until a lease was given."""
        return (self.session.last_seq, self.session.revision) == (lease.last_seq, lease.revision)


def read_past(store: Transaction, session: Session, costs: CostBook, *, upto: int) -> SessionPast:
    """Reads what a turn goes on from, up to a number of the log."""
    history, earlier = read_history(store, session.id, upto)
    by_kind: dict[str, list[Record]] = {kind: [] for kind in (RUNTIME_KIND, MODE_KIND, STATE_KIND, USAGE_KIND)}
    for record in store.list_records(tuple(by_kind), session=session.id):
        by_kind[record.kind].append(record)
    return SessionPast(
        session=session,
        runtime=next(iter(by_kind[RUNTIME_KIND]), None),
        history=history,
        earlier=earlier,
        states={one.key.removeprefix(f"{session.id}/"): one.value for one in by_kind[STATE_KIND]},
        budget=costs.open_budget(store, by_kind[USAGE_KIND]),
        mode=read_mode(store, session, next(iter(by_kind[MODE_KIND]), None)),
    )


def read_history(store: Transaction, session: SessionId, upto: int) -> tuple[tuple[HistoryEntry, ...], list[Message]]:
    """The active messages up to a number, and all that they stand for, summarised ones included. A summary takes
    the place of the first message it replaces."""
    live, earlier = list[tuple[int, HistoryEntry]](), list[Message]()
    for kept in store.read(session, messages_only=True):
        if kept.seq > upto:
            break
        if isinstance(kept.item, Message) and (kept.item.active or kept.item.compacted):
            earlier.append(kept.item)
            if kept.item.active:
                live.append((summary_place(kept.item) or kept.seq, HistoryEntry(kept.seq, kept.item)))
    return tuple(past for _, past in sorted(live, key=lambda one: one[0])), earlier


def summary_place(message: Message) -> int:
    """The sequence number of the first message a summary replaces; 0 for any other message, and for imported ones."""
    place = extra_of(message).get("summary_of") if message.native_id is None else None
    return place[0] if isinstance(place, list) and place and isinstance(place[0], int) else 0
