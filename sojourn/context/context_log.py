"""Reads from a session's log which context each turn was given."""

from __future__ import annotations

from contextlib import aclosing
from dataclasses import dataclass, field

from sojourn.core.events import Progress
from sojourn.core.messages import Json
from sojourn.core.sessions import SessionId
from sojourn.ports.store import SessionStore


@dataclass(slots=True)
class TurnContext:
    """Context of one turn: every piece with its origin and reason, and what did not fit."""

    turn: str
    pieces: list[dict[str, Json]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)


async def read_context_log(store: SessionStore, session: SessionId, turn: str = "") -> list[TurnContext]:
    """Returns the turns of a session in order; with `turn` that one alone, with "last" the newest."""
    found: dict[str, TurnContext] = {}
    async with aclosing(store.read(session)) as log:
        async for row in log:
            if row.turn is None or not isinstance(row.item, Progress):
                continue
            context = found.setdefault(row.turn, TurnContext(row.turn))
            if row.item.stage == "memory":
                context.pieces.append(dict(row.item.detail))
            elif row.item.stage == "prepare":
                context.left_out += [str(one) for one in row.item.detail.get("left_out") or ()]
    turns = list(found.values())
    if turn == "last":
        return turns[-1:]
    return [one for one in turns if not turn or one.turn == turn]
