"""Conversation history: the messages of a session that a turn goes on from, with summaries in their places, and what
else is stored about the session."""

from __future__ import annotations

from dataclasses import dataclass

from sojourn.core.messages import Json, Message, extra_of
from sojourn.core.sessions import Session, SessionId
from sojourn.ports.runtime import HistoryEntry
from sojourn.ports.store import Transaction
from sojourn.turn_support.cost_limits import Budget, CostBook
from sojourn.turn_support.permission_modes import PermissionMode, read_mode

STATE_KIND = "agent_state"  # a runtime's own state, under `<session>/<runtime>`


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionPast:
    """What a turn goes on from, as of a number and a revision of its session."""

    last_seq: int
    revision: int
    history: tuple[HistoryEntry, ...]
    earlier: list[Message]  # all that the history stands for
    states: dict[str, Json]  # by runtime
    budget: Budget
    mode: PermissionMode

    def is_current(self, session: Session) -> bool:
        return (self.last_seq, self.revision) == (session.last_seq, session.revision)


def read_past(store: Transaction, session: Session, costs: CostBook, *, upto: int) -> SessionPast:
    """Reads what a turn goes on from, up to a number of the log."""
    history, earlier = read_history(store, session.id, upto)
    states = store.list_records(STATE_KIND, session=session.id)
    return SessionPast(
        last_seq=session.last_seq,
        revision=session.revision,
        history=history,
        earlier=earlier,
        states={one.key.removeprefix(f"{session.id}/"): one.value for one in states},
        budget=costs.open_budget(store, session.id),
        mode=read_mode(store, session),
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
