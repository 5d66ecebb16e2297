"""Builds the prompt: everything for a new session of the agent, later only what it has not seen.

The agent keeps the history of its own session. Our saved state is how far that history reaches: the last message
before the last prompt, the turn that the prompt answered, and the context blocks it contained.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from sojourn.core.attachments import Attachment
from sojourn.core.messages import Json
from sojourn.jsonrpc import Params
from sojourn.ports.context import ContextBlock
from sojourn.ports.runtime import HistoryEntry, TurnInput
from sojourn.runtimes.acp.prompt_call import NO_USAGE, AgentUsage
from sojourn.runtimes.prompt_text import render_context, render_request, to_text_messages

_MAX_BLOCK_HASHES = 500  # hashes


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenHistory:
    """What the agent has seen of our session, from the saved state."""

    session_id: str = ""
    cwd: str = ""
    seen: int = 0  # highest message number it has seen, not counting `turn`
    turn: str = ""  # the turn it answered last
    live: str = ""  # hash of the message numbers up to `seen`
    blocks: tuple[str, ...] = ()  # hashes of the context blocks it was given
    usage: AgentUsage = NO_USAGE  # its token count then

    @classmethod
    def from_state(cls, state: Mapping[str, Json]) -> SeenHistory:
        """Parses the saved state; a value that is invalid counts as never seen."""
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

    def is_valid_for(self, turn: TurnInput) -> bool:
        """False when messages that the agent has seen were undone or summarised, or the folder has changed."""
        if not self.session_id or self.cwd != str(turn.workspace.root):
            return False
        if self.live != hash_history(turn.history, self.seen):
            return False
        later = [past.message.turn_id for past in turn.history if past.seq > self.seen]
        return self.turn in later or (bool(later) and not any(later))

    def unseen(self, history: Sequence[HistoryEntry]) -> list[HistoryEntry]:
        """Returns messages that other runtimes added meanwhile."""
        return [past for past in history if past.seq > self.seen and past.message.turn_id != self.turn]


def hash_history(history: Sequence[HistoryEntry], until: int) -> str:
    numbers = ",".join(str(past.seq) for past in history if past.seq <= until)
    return hashlib.sha256(numbers.encode()).hexdigest()[:16]


def hash_block(block: ContextBlock) -> str:
    return hashlib.sha256(f"{block.kind}\0{block.title}\0{block.text}".encode()).hexdigest()[:16]


def build_state(turn: TurnInput, session_id: str, known: SeenHistory | None, usage: AgentUsage) -> dict[str, Json]:
    """Returns the state to save once the prompt is sent. `known`: the state before; None for a new session."""
    seen = max((past.seq for past in turn.history), default=0)
    marks = [*(known.blocks if known else ()), *map(hash_block, turn.blocks)]
    return {
        "session_id": session_id,
        "cwd": str(turn.workspace.root),
        "seen": seen,
        "turn": turn.turn,
        "live": hash_history(turn.history, seen),
        "blocks": list(dict.fromkeys(marks))[-_MAX_BLOCK_HASHES:],
        "usage": [usage.input_tokens, usage.output_tokens],
    }


async def build_content(turn: TurnInput, known: SeenHistory | None, *, images: bool) -> list[Params]:
    """Returns the content blocks of the prompt. `known`: None for a new session of the agent."""
    blocks = [block for block in turn.blocks if known is None or hash_block(block) not in known.blocks]
    history = turn.history if known is None else known.unseen(turn.history)
    entries = to_text_messages(past.message for past in history)
    attached_images = [one for one in turn.attachments if images and one.media_type.startswith("image/")]
    request = await render_request(turn, shown=attached_images)
    parts = [render_context(blocks, turn.examples, turn.graph)]
    if entries:
        title = "The conversation so far" if known is None else "What was said meanwhile, without you"
        parts.append(f"# {title}\n\n" + "\n\n".join(f"{one.role}: {one.content}" for one in entries))
    parts = list(filter(None, parts))
    parts.append(f"# The request\n\n{request}" if parts else request)
    texts: list[Params] = [{"type": "text", "text": part} for part in parts]
    return texts + [await _load_image(turn, one) for one in attached_images]


async def _load_image(turn: TurnInput, one: Attachment) -> Params:
    data = base64.b64encode(await turn.read_attachment(one)).decode()
    return {"type": "image", "mimeType": one.media_type, "data": data}
