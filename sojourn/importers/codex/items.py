"""Items of the model's conversation as Codex keeps them, as messages: one item is one message.

The wire shapes are those of the Responses API. A call is a message of the assistant, its output one of
the tool. Kinds that are new but follow the naming (`…_call`, `…_call_output`) are understood as well.
"""

from __future__ import annotations

from typing import Any

from sojourn.core.messages import Message, ToolCall
from sojourn.importers.transcript_builder import Talk, as_json, content, mapping, nonempty, rest, words

_KNOWN = ("type", "role", "content", "name", "arguments", "input", "action", "call_id", "output", "status", "summary")
PASSED = "internal_chat_message_metadata_passthrough"


def add(talk: Talk, item: dict[str, Any], native: str, moment: float, *, author: str = "") -> bool:
    """Adds an item; False when there is nothing in it to read, so that it is kept as it stands."""
    kind = str(item.get("type") or "")
    if kind == "message":
        parts = item.get("content")
        said = [{"type": "text", "text": parts}] if isinstance(parts, str) else parts if isinstance(parts, list) else []
        if said:
            talk.add(_message(author or role_of(item), native, moment, item, **content(said)))
        return bool(said)
    if kind == "reasoning":
        return _thought(talk, item, native, moment)
    if kind.endswith("_output"):
        talk.add(_message("tool", native, moment, item, tool_call_id=_id(item), **content(_output(item))))
        return True
    if kind.endswith("_call"):
        talk.add(_message("assistant", native, moment, item), [_call(item, native)])
        return True
    return False


def role_of(item: dict[str, Any]) -> str:
    return {"assistant": "assistant", "user": "user"}.get(str(item.get("role")), "system")


def kinds(item: dict[str, Any]) -> list[str]:
    """What newer versions say each part of a message is: `user.text` was typed, anything else was not."""
    found = mapping(item.get(PASSED)).get("content_item_kinds")
    return [str(kind) for kind in found] if isinstance(found, list) else []


def said_in(item: dict[str, Any]) -> str:
    parts = item.get("content")
    return parts if isinstance(parts, str) else words(parts)


def pieces(item: dict[str, Any]) -> set[str]:
    """What was said as a whole, and each part of it."""
    parts = item.get("content")
    each = (mapping(part).get("text") for part in parts) if isinstance(parts, list) else ()
    return {said.strip() for said in (said_in(item), *each) if isinstance(said, str) and said.strip()}


def _message(role: str, native: str, moment: float, item: dict[str, Any], **fields: Any) -> Message:
    return Message(role=role, native_id=native, timestamp=moment, extra=rest(item, (*_KNOWN, PASSED)), **fields)


def _thought(talk: Talk, item: dict[str, Any], native: str, moment: float) -> bool:
    """The summary of a thought, or the thought itself where it is open. Locked ones say nothing."""
    thought = "\n".join(filter(None, (words(item.get("summary")), words(item.get("content")))))
    if not thought:
        return False
    talk.add(
        Message(
            role="assistant",
            native_id=native,
            timestamp=moment,
            reasoning=thought,
            codex_reasoning_items=as_json([item]),
        )
    )
    return True


def _call(item: dict[str, Any], native: str) -> ToolCall:
    kind = str(item["type"]).removesuffix("_call").removesuffix("_tool")
    arguments = item.get("arguments")
    if not isinstance(arguments, str):
        given: Any = next((item[key] for key in ("arguments", "action", "input") if item.get(key) is not None), {})
        arguments = as_json(given if isinstance(given, dict) else {"input": given})
    return ToolCall(id=_id(item) or native, name=nonempty(item.get("name")) or kind, arguments=arguments)


def _id(item: dict[str, Any]) -> str:
    return str(item.get("call_id") or item.get("id") or "")


def _output(item: dict[str, Any]) -> list[Any]:
    found = item.get("output")
    if isinstance(found, dict) and isinstance(found.get("content"), str | list):
        found = found["content"]
    if isinstance(found, list):
        return found
    return [{"type": "text", "text": found if isinstance(found, str) else as_json(found)}]
