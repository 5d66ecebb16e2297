"""Tool calls that an agent with tools of its own reported, as messages: searched, counted and mined like any other."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from sojourn.core.messages import Json, Message, ToolCall, assistant, tool_result

NO_RESULT = "The agent did not report a result."


def to_call_messages(tools: Sequence[Mapping[str, Json]], text: str = "") -> Iterator[Message]:
    """One message with `text` and all calls, then a result for each. What the agent calls them, and whatever it said of
    them."""
    calls = [(_to_call(tool), tool) for tool in tools]
    if calls:
        yield assistant(text or None, [call for call, _ in calls], finish_reason="tool_calls")
    for call, tool in calls:
        result = str(tool.get("result") or tool.get("error") or NO_RESULT)
        yield tool_result(call, result)


def _to_call(tool: Mapping[str, Json]) -> ToolCall:
    arguments = tool.get("arguments")
    if not isinstance(arguments, dict):
        arguments = {"title": tool["preview"]} if tool.get("preview") else {}
    text = json.dumps(arguments, ensure_ascii=False)
    return ToolCall(id=str(tool["call_id"]), name=str(tool.get("tool") or "other"), arguments=text)
