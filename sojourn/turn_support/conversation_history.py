"""Conversation history: the messages of a session that a turn goes on from, with summaries in their places."""

from __future__ import annotations

from sojourn.core.messages import Message, extra_of
from sojourn.core.sessions import SessionId
from sojourn.ports.runtime import HistoryEntry
from sojourn.ports.store import Transaction


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
