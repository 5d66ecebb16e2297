"""Converts the response items of Codex to messages: one item is one message.

Items have the shapes of the Responses API. A call is a message of the assistant, its output one of the tool. New kinds
that follow the naming (`…_call`, `…_call_output`) are converted too.
"""

from __future__ import annotations

from typing import Any

from sojourn.core.messages import ToolCall
from sojourn.importers.transcript_builder import (
    TranscriptBuilder,
    as_list,
    as_mapping,
    as_text,
    join_lines,
    join_texts,
    to_content,
    to_extra,
    to_json,
    to_text_part,
)

_KNOWN = ("type", "role", "content", "name", "arguments", "input", "action", "call_id", "output", "status", "summary")
METADATA_KEY = "internal_chat_message_metadata_passthrough"


def add_item(builder: TranscriptBuilder, item: dict[str, Any], native: str, moment: float, *, author: str = "") -> bool:
    """Adds the message of an item; returns False if the item has no readable content."""
    kind = str(item.get("type") or "")
    if kind == "reasoning":
        return _add_reasoning(builder, item, native, moment)
    extra = to_extra(item, (*_KNOWN, METADATA_KEY))
    if kind == "message":
        found = item.get("content")
        parts = [to_text_part(found)] if isinstance(found, str) else as_list(found)
        if parts:
            builder.add(author or get_role(item), native, moment, extra=extra, **to_content(parts))
        return bool(parts)
    if kind.endswith("_output"):
        output = to_content(_to_output_parts(item))
        builder.add("tool", native, moment, tool_call_id=_get_call_id(item), extra=extra, **output)
        return True
    if kind.endswith("_call"):
        builder.add("assistant", native, moment, calls=[_to_tool_call(item, native)], extra=extra)
        return True
    return False


def get_role(item: dict[str, Any]) -> str:
    return {"assistant": "assistant", "user": "user"}.get(str(item.get("role")), "system")


def list_content_kinds(item: dict[str, Any]) -> list[str]:
    """The kinds of the parts of a message, in newer versions: the person typed only `user.text`."""
    return [str(kind) for kind in as_list(as_mapping(item.get(METADATA_KEY)).get("content_item_kinds"))]


def get_text(item: dict[str, Any]) -> str:
    parts = item.get("content")
    return parts if isinstance(parts, str) else join_texts(parts)


def list_texts(item: dict[str, Any]) -> set[str]:
    """The whole text of an item and the text of each part."""
    each = (as_mapping(part).get("text") for part in as_list(item.get("content")))
    return {text.strip() for text in (get_text(item), *each) if isinstance(text, str) and text.strip()}


def _add_reasoning(builder: TranscriptBuilder, item: dict[str, Any], native: str, moment: float) -> bool:
    """Adds the summary or the text of a reasoning item; returns False for an encrypted one."""
    reasoning = join_lines((join_texts(item.get("summary")), join_texts(item.get("content"))))
    if reasoning:
        builder.add("assistant", native, moment, reasoning=reasoning, codex_reasoning_items=to_json([item]))
    return bool(reasoning)


def _to_tool_call(item: dict[str, Any], native: str) -> ToolCall:
    kind = str(item["type"]).removesuffix("_call").removesuffix("_tool")
    arguments = item.get("arguments")
    if not isinstance(arguments, str):
        given: Any = next((item[key] for key in ("arguments", "action", "input") if item.get(key) is not None), {})
        arguments = to_json(given if isinstance(given, dict) else {"input": given})
    return ToolCall(id=_get_call_id(item) or native, name=as_text(item.get("name")) or kind, arguments=arguments)


def _get_call_id(item: dict[str, Any]) -> str:
    return str(item.get("call_id") or item.get("id") or "")


def _to_output_parts(item: dict[str, Any]) -> list[Any]:
    found = item.get("output")
    if isinstance(found, dict) and isinstance(found.get("content"), str | list):
        found = found["content"]
    if isinstance(found, list):
        return found
    return [to_text_part(found if isinstance(found, str) else to_json(found))]
