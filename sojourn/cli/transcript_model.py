"""A transcript as people read it: what was said, and each tool call together with its answer."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from sojourn.core.messages import Message, ToolCall, text_of, tool_calls_of
from sojourn.core.sessions import Recorded

_SHORT_CHARS = 60
_LARGE_CHARS = 1_000_000
_TEXTS = ("error", "output", "stdout", "content", "result")


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePiece:
    """Words of somebody."""

    seq: int
    at: float
    message: Message
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPiece:
    """A tool call and what it answered; `answer` is None when it never did."""

    seq: int
    at: float
    call: ToolCall
    message: Message
    answer: str | None


Piece = MessagePiece | CallPiece


def is_undone(message: Message) -> bool:
    """Taken back by the person: hidden unless asked for."""
    return not message.active and not message.compacted


def fold_messages(rows: Iterable[Recorded]) -> Iterator[Piece]:
    """The pieces in order. A call waits for its answer until somebody else speaks."""
    waiting: dict[str, CallPiece] = {}
    for row in rows:
        message = row.item
        if not isinstance(message, Message):
            continue
        at = message.timestamp or row.at
        text = text_of(message)
        if message.role == "tool":
            asked = waiting.pop(message.tool_call_id or "", None)
            call = asked.call if asked else ToolCall(id="", name=message.tool_name or "tool", arguments="")
            yield CallPiece(seq=row.seq, at=at, call=call, message=message, answer=text)
            continue
        yield from waiting.values()
        waiting = {}
        asks = tool_calls_of(message)
        if text.strip() or not asks:
            yield MessagePiece(seq=row.seq, at=at, message=message, text=text)
        for number, call in enumerate(asks):
            key = call.id or f"#{number}"
            waiting[key] = CallPiece(seq=row.seq, at=at, call=call, message=message, answer=None)
    yield from waiting.values()


def summarize_answer(answer: str | None) -> str:
    """How much a tool answered, in a word or two."""
    if answer is None:
        return "no answer"
    text = _unwrap(answer).strip()
    lines = text.count("\n") + 1
    if lines == 1 and len(text) <= _SHORT_CHARS:
        return text or "nothing"
    return f"{lines:,} lines" if lines > 1 else "1 line"


def _unwrap(answer: str) -> str:
    """Many tools answer with an object around the text that matters."""
    if not answer.startswith("{") or len(answer) > _LARGE_CHARS:
        return answer
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        return answer
    inner = [(key, found[key]) for key in _TEXTS if isinstance(found.get(key), str) and found[key].strip()]
    return "" if not inner and any(key in found for key in _TEXTS) else _label(*inner[0]) if inner else answer


def _label(key: str, text: str) -> str:
    return f"error: {text}" if key == "error" else text
