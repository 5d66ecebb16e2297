"""Messages: rows of a transcript, their builders and their readable views.

Structured fields (`tool_calls`, structured content, reasoning details) are JSON *text*, byte for byte as received, so
that an import loses nothing. `tool_calls_of`, `parts_of` and `text_of` read; `user`, `assistant`, `tool_result` build.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

Json = Any  # a value of json.loads; a recursive alias costs 466 type errors, nearly all of them casts


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """A tool call of an assistant message. `arguments` is the JSON text of the model."""

    id: str
    name: str
    arguments: str = "{}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One row of a transcript. (active, compacted): (1, 0) live; (0, 1) replaced by a summary, still searchable;
    (0, 0) undone by a person, hidden by default."""

    role: str
    content: str | None = None
    structured: bool = False  # content is JSON text: a list of parts
    tool_calls: str | None = None
    tool_call_id: str | None = None
    tool_name: str | None = None
    timestamp: float = 0.0  # 0: set on write; never used for order
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
    native_id: str | None = None  # id in the program it was imported from
    extra: str | None = None  # JSON text of further fields


def user(text: str, *, by: str = "") -> Message:
    """Builds a user message; `by` names the person where several share a session."""
    return Message(role="user", content=text, extra=json.dumps({"by": by}) if by else None)


def extra_of(message: Message) -> dict[str, Json]:
    """Decodes the further fields of a message; none if they cannot be read."""
    try:
        found = json.loads(message.extra or "{}")
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def is_internal(message: Message) -> bool:
    """Whether Sojourn wrote a message of role `user` itself, for example the notice of a hand-off."""
    return message.role == "user" and extra_of(message).get("internal") is True


def assistant(text: str | None, calls: Sequence[ToolCall] = (), **fields: Any) -> Message:
    """Builds an assistant message with its tool calls."""
    return Message(role="assistant", content=text, tool_calls=dump_calls(calls), **fields)


def tool_result(call: ToolCall, text: str, **fields: Any) -> Message:
    """Builds the tool message that answers a call."""
    return Message(role="tool", content=text, tool_call_id=call.id, tool_name=call.name, **fields)


def dump_calls(calls: Sequence[ToolCall]) -> str | None:
    """Encodes tool calls in the stored form, which Hermes' tools can read; None for no calls."""
    encoded = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
        for call in calls
    ]
    return json.dumps(encoded, ensure_ascii=False) if encoded else None


def tool_calls_of(message: Message) -> tuple[ToolCall, ...]:
    """Decodes the tool calls of a message, in either stored form; calls without a name are dropped."""
    if not message.tool_calls:
        return ()
    try:
        found = json.loads(message.tool_calls)
    except (ValueError, RecursionError):  # RecursionError: nested too deeply
        return ()
    calls = (_parse_call(one) for one in found if isinstance(one, dict)) if isinstance(found, list) else ()
    return tuple(call for call in calls if call is not None)


def _parse_call(raw: dict[str, Json]) -> ToolCall | None:
    inner = raw.get("function")
    function = inner if isinstance(inner, dict) else raw
    name = raw.get("name") or function.get("name")
    arguments = function.get("arguments", raw.get("arguments", "{}"))
    if not isinstance(name, str) or not name:
        return None
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    return ToolCall(id=str(raw.get("id") or ""), name=name, arguments=text)


def parts_of(message: Message) -> list[Json]:
    """Decodes the content as a list of parts: `{"type": "text", "text": …}`, images and others."""
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
    """Joins the text parts of a message with line breaks; a file is its name in brackets."""
    return "\n".join(map(_text, parts_of(message))).strip() if message.structured else message.content or ""


def _text(part: Json) -> str:
    if isinstance(part, str):
        return part
    if not isinstance(part, dict):
        return json.dumps(part, ensure_ascii=False)
    for key in ("text", "content", "input_text", "output_text"):
        if isinstance(part.get(key), str):
            return str(part[key])
    name = part.get("name") if part.get("type") == "attachment" else ""
    return f"[{part.get('type', 'part')}{f': {name}' if name else ''}]"
