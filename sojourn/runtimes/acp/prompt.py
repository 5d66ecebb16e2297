"""What a prompt carries: everything for a new session of the agent, and later only what it has not seen.

The agent keeps its own memory of its session. What we remember is how far that reaches: the last message that was
there when we last spoke to it, the turn it answered then, and which pieces of context it was given.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from sojourn.core.attachments import Attachment
from sojourn.core.messages import Json
from sojourn.ports.context import ContextBlock
from sojourn.ports.runtime import Past, TurnInput
from sojourn.runtimes.acp.jsonrpc import Params
from sojourn.runtimes.acp.stop_reason import NO_USAGE, AgentUsage
from sojourn.runtimes.prompt_text import render_context, render_request, render_transcript

_MOST_MARKS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenHistory:
    """What the agent has seen of our session, as its state says."""

    session_id: str = ""
    cwd: str = ""
    seen: int = 0  # the highest message number it knows, apart from the turn after it
    turn: str = ""  # the turn it answered after that
    live: str = ""  # a mark of the messages up to `seen`
    blocks: tuple[str, ...] = ()  # marks of the context it was given
    usage: AgentUsage = NO_USAGE  # what it had counted by then

    @classmethod
    def of(cls, state: Mapping[str, Json]) -> SeenHistory:
        """Whatever cannot be read counts as never seen."""
        usage = state.get("usage")
        pair = tuple(usage) if isinstance(usage, list) and all(isinstance(one, int) for one in usage) else ()
        marks = state.get("blocks")
        return cls(
            session_id=str(state.get("session_id") or ""),
            cwd=str(state.get("cwd") or ""),
            seen=seen if isinstance(seen := state.get("seen"), int) else 0,
            turn=str(state.get("turn") or ""),
            live=str(state.get("live") or ""),
            blocks=tuple(map(str, marks)) if isinstance(marks, list) else (),
            usage=AgentUsage(pair[0], pair[1]) if len(pair) == 2 else NO_USAGE,
        )

    def still_holds(self, turn: TurnInput) -> bool:
        """False when the agent remembers what is no longer there (undone or summarised), or works elsewhere."""
        if (
            not self.session_id
            or self.cwd != str(turn.workspace.root)
            or self.live != live_mark(turn.history, self.seen)
        ):
            return False
        later = [past.message.turn_id for past in turn.history if past.seq > self.seen]
        return self.turn in later or (bool(later) and not any(later))

    def unseen(self, history: Sequence[Past]) -> list[Past]:
        """What others did meanwhile: another runtime, another surface."""
        return [past for past in history if past.seq > self.seen and past.message.turn_id != self.turn]


def live_mark(history: Sequence[Past], until: int) -> str:
    numbers = ",".join(str(past.seq) for past in history if past.seq <= until)
    return hashlib.sha256(numbers.encode()).hexdigest()[:16]


def block_mark(block: ContextBlock) -> str:
    return hashlib.sha256(f"{block.kind}\0{block.title}\0{block.text}".encode()).hexdigest()[:16]


def after(turn: TurnInput, session_id: str, known: SeenHistory | None, usage: AgentUsage) -> dict[str, Json]:
    """What is remembered once the prompt is sent. `known`: what the agent's session held before, if it is not new."""
    seen = max((past.seq for past in turn.history), default=0)
    marks = [*(known.blocks if known else ()), *map(block_mark, turn.blocks)]
    return {
        "session_id": session_id,
        "cwd": str(turn.workspace.root),
        "seen": seen,
        "turn": turn.turn,
        "live": live_mark(turn.history, seen),
        "blocks": list(dict.fromkeys(marks))[-_MOST_MARKS:],
        "usage": [usage.into, usage.out],
    }


async def content(turn: TurnInput, known: SeenHistory | None, *, images: bool) -> list[Params]:
    """The parts of the prompt. `known` is None for a new session of the agent."""
    blocks = [block for block in turn.blocks if known is None or block_mark(block) not in known.blocks]
    told = render_transcript(turn.history if known is None else known.unseen(turn.history))
    shown = [one for one in turn.attachments if images and one.media_type.startswith("image/")]
    request = await render_request(turn, shown=shown)
    parts = [render_context(blocks, turn.examples, turn.graph)]
    if told:
        title = "The conversation so far" if known is None else "What was said meanwhile, without you"
        parts.append(f"# {title}\n\n" + "\n\n".join(f"{one.role}: {one.text}" for one in told))
    parts = list(filter(None, parts))
    parts.append(f"# The request\n\n{request}" if parts else request)
    texts: list[Params] = [{"type": "text", "text": part} for part in parts]
    return texts + [await _image(turn, one) for one in shown]


async def _image(turn: TurnInput, one: Attachment) -> Params:
    data = base64.b64encode(await turn.read_attachment(one)).decode()
    return {"type": "image", "mimeType": one.media_type, "data": data}


def folder_of(turn: TurnInput) -> Path:
    """Where the agent works: it wants an absolute path."""
    return turn.workspace.root.absolute()
