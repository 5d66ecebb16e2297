"""Transcript model: folds stored messages into spoken text, tool calls with their results, and notices."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from sojourn.core.messages import Message, ToolCall, is_internal, parts_of, text_of, tool_calls_of
from sojourn.core.sessions import Recorded

_SHORT_CHARS, _LARGE_CHARS = 60, 1_000_000
_TEXTS = ("error", "output", "stdout", "content", "result")


def text_without_files(message: Message) -> str:
    """The words of a message, without the names of its files."""
    parts = [part for part in parts_of(message) if not (isinstance(part, dict) and part.get("type") == "attachment")]
    if not message.structured or len(parts) == len(parts_of(message)):
        return text_of(message)
    return text_of(replace(message, content=json.dumps(parts, ensure_ascii=False)))


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenText:
    """A message of a person, the agent or the system. `is_notice`: Sojourn's own, stored with the role `user`."""

    seq: int
    at: float
    message: Message
    text: str

    @property
    def is_notice(self) -> bool:
        return is_internal(self.message)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolExchange:
    """A tool call with its result; `answer` is None if the tool never answered."""

    seq: int
    at: float
    call: ToolCall
    message: Message
    answer: str | None


TranscriptPiece = SpokenText | ToolExchange


def is_undone(message: Message) -> bool:
    """Whether the person took this message back with `/undo`; it is hidden by default."""
    return not message.active and not message.compacted


def fold_messages(rows: Iterable[Recorded]) -> Iterator[TranscriptPiece]:
    """Folds rows in order. A call without a result is emitted before the next spoken text."""
    waiting: dict[str, ToolExchange] = {}
    for row in rows:
        message = row.item
        if not isinstance(message, Message):
            continue
        at = message.timestamp or row.at
        text = text_of(message)
        if message.role == "tool":
            waited = waiting.pop(message.tool_call_id or "", None)
            call = waited.call if waited else ToolCall(id="", name=message.tool_name or "tool", arguments="")
            yield ToolExchange(seq=row.seq, at=at, call=call, message=message, answer=text)
            continue
        yield from waiting.values()
        waiting = {}
        asks = tool_calls_of(message)
        if text.strip() or not asks:
            yield SpokenText(seq=row.seq, at=at, message=message, text=text)
        for number, call in enumerate(asks):
            key = call.id or f"#{number}"
            waiting[key] = ToolExchange(seq=row.seq, at=at, call=call, message=message, answer=None)
    yield from waiting.values()


_TELLING_ARGUMENTS = (
    *("command", "cmd", "commands", "file_path", "filePath", "absolute_path", "path", "pattern", "query", "url"),
    *("skill", "description", "prompt"),
)
_SHELL_FLAGS = ("-c", "-lc")


def summarize_call(call: ToolCall) -> str:
    """The arguments of a call as a person would say them: the command or file alone, or names with values."""
    try:
        found = json.loads(call.arguments) if len(call.arguments) <= _LARGE_CHARS else None
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        return call.arguments
    told = (_to_words(name, found[name]) for name in _TELLING_ARGUMENTS if name in found)
    if words := next(filter(None, told), ""):
        return words
    pairs = (
        f"{name}={value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for name, value in found.items()
    )
    return " ".join(pairs)


def _to_words(name: str, value: object) -> str:
    """A telling argument as text, also where a program passes a command as a list; empty for anything else."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        is_script = len(value) == 3 and value[1] in _SHELL_FLAGS
        value = value[2] if is_script else ("; " if name == "commands" else " ").join(value)
    return value if isinstance(value, str) and value.strip() else ""


def has_words(piece: TranscriptPiece) -> bool:
    """Whether a reader sees something of it: a message may be thoughts alone."""
    return isinstance(piece, ToolExchange) or bool(piece.text.strip())


def summarize_answer(answer: str | None) -> str:
    """Describes the size of a tool result in a word or two."""
    if answer is None:
        return "no answer"
    text = _unwrap(answer).strip()
    lines = text.count("\n") + 1
    if lines == 1 and len(text) <= _SHORT_CHARS:
        return text or "nothing"
    return f"{lines:,} lines" if lines > 1 else "1 line"


def _unwrap(answer: str) -> str:
    """Extracts the text field of a JSON result; many tools wrap their text in an object."""
    if not answer.startswith("{") or len(answer) > _LARGE_CHARS:
        return answer
    try:
        found = json.loads(answer)
    except (ValueError, RecursionError):
        return answer
    key = next((key for key in _TEXTS if isinstance(found.get(key), str) and found[key].strip()), "")
    if not key:
        return "" if any(key in found for key in _TEXTS) else answer
    return f"error: {found[key]}" if key == "error" else str(found[key])
