"""What was put before a runtime in each turn, as the session's log tells it."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, field

from sojourn.core.events import Progress
from sojourn.core.messages import Json
from sojourn.core.sessions import SessionId
from sojourn.ports.store import SessionStore


@dataclass(slots=True)
class TurnContext:
    """One turn: every piece with where it came from and why, and what had no room."""

    turn: str
    pieces: list[dict[str, Json]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


async def used_in(store: SessionStore, session: SessionId, turn: str = "") -> list[TurnContext]:
    """The turns of a session in order, or the one that is named, or ("last") the newest."""
    found: dict[str, TurnContext] = {}
    async with aclosing(store.read(session)) as log:
        async for kept in log:
            if kept.turn is None or not isinstance(kept.item, Progress):
                continue
            told = found.setdefault(kept.turn, TurnContext(kept.turn))
            if kept.item.stage == "memory":
                told.pieces.append(dict(kept.item.detail))
            elif kept.item.stage == "prepare":
                told.left_out += [str(one) for one in kept.item.detail.get("left_out") or ()]
    turns = list(found.values())
    if turn == "last":
        return turns[-1:]
    return [one for one in turns if not turn or one.turn == turn]
