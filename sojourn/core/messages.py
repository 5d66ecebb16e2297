"""A message, as it is kept.

A message mirrors its row: structured fields (`tool_calls`, structured content, reasoning details)
are JSON *text*, exactly as they came, so importing loses nothing and re-serialising changes
nothing. `calls` and `parts` are the readable views; `user`, `assistant` and `tool_result` build.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Json = Any  # whatever json.loads gives


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call an assistant asked for. `arguments` is JSON text, as the model wrote it."""

    id: str
    name: str
    arguments: str = "{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One row of a transcript. The pair (active, compacted) reads: (1, 0) live; (0, 1) summarised
    away but searchable; (0, 0) undone by the person, hidden everywhere by default."""

    role: str
    content: str | None = None
    structured: bool = False  # content is JSON text: a list of parts
    tool_calls: str | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    timestamp: float = 0.0  # 0 = the moment it is kept; never used for order
    token_count: int | None = None
    finish_reason: str | None = None
    reasoning: str | None = None
    reasoning_content: str | None = None
    reasoning_details: str | None = None
    codex_reasoning_items: str | None = None
    codex_message_items: str | None = None
    platform_message_id: str | None = None
    effect_disposition: str | None = None
    api_content: str | None = None
    observed: bool = False
    active: bool = True
    compacted: bool = False
    turn_id: str | None = None
    native_id: str | None = None  # its id in the program it was imported from
    extra: str | None = None  # JSON text: what else came with it


def user(text: str, *, by: str = "") -> Message:
    """What a person said."""
    return Message(role="user", content=text, extra=json.dumps({"by": by}) if by else None)


def is_internal(message: Message) -> bool:
    """Whether Sojourn wrote a message of role `user` itself, for example the notice of a hand-off."""
    if message.role != "user" or "internal" not in (message.extra or ""):
        return False
    try:
        extra = json.loads(message.extra or "")
    except (ValueError, RecursionError):
        return False
    return isinstance(extra, dict) and extra.get("internal") is True


def assistant(text: str | None, calls: Sequence[ToolCall] = (), **fields: Any) -> Message:
    """What the agent said, and which tools it asked for."""
    return Message(role="assistant", content=text, tool_calls=dump_calls(calls), **fields)


def tool_result(call: ToolCall, text: str, **fields: Any) -> Message:
    """What a tool answered."""
    return Message(role="tool", content=text, tool_call_id=call.id, tool_name=call.name, **fields)


def dump_calls(calls: Sequence[ToolCall]) -> str | None:
    """Tool calls in the shape that is kept (and that Hermes' tools read)."""
    shaped = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in calls
    ]
    return json.dumps(shaped, ensure_ascii=False) if shaped else None


def tool_calls_of(message: Message) -> tuple[ToolCall, ...]:
    """The tool calls of a message; both kept shapes are understood, nameless ones are left out."""
    if not message.tool_calls:
        return ()
    try:
        found = json.loads(message.tool_calls)
    except (ValueError, RecursionError):  # deeper than anybody means
        return ()
    made = (_call(one) for one in found if isinstance(one, dict)) if isinstance(found, list) else ()
    return tuple(call for call in made if call is not None)


def _call(raw: dict[str, Json]) -> ToolCall | None:
    inner = raw.get("function")
    function = inner if isinstance(inner, dict) else raw
    name = raw.get("name") or function.get("name")
    arguments = function.get("arguments", raw.get("arguments", "{}"))
    if not isinstance(name, str) or not name:
        return None
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(id=str(raw.get("id") or ""), name=name, arguments=text)


def parts_of(message: Message) -> list[Json]:
    """The content as a list of parts: `{"type": "text", "text": …}`, images, whatever was kept."""
    if message.content is None:
        return []
    if message.structured:
        try:
            found = json.loads(message.content)
        except (ValueError, RecursionError):
            return [{"type": "text", "text": message.content}]
        return found if isinstance(found, list) else [found]
    return [{"type": "text", "text": message.content}]


def text_of(message: Message) -> str:
    """What a person would read: the text parts, joined by line breaks."""
    if not message.structured:
        return message.content or ""
    return "\n".join(_text(part) for part in parts_of(message)).strip()


def _text(part: Json) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return json.dumps(part, ensure_ascii=False)
    for key in ("text", "content", "input_text", "output_text"):
        if isinstance(part.get(key), str):
            return str(part[key])
    return f"[{part.get('type', 'part')}]"
