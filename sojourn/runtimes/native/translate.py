"""Converts messages between our format and the agent library's, in both directions.

Tool arguments stay the text that the model wrote, valid JSON or not. `repair_messages` fixes what providers refuse:
a call without a result, a result without a call, an id with characters they do not accept.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserContent,
    UserPromptPart,
)

from sojourn.core.messages import Message, ToolCall, assistant, dump_calls, text_of, tool_calls_of, tool_result
from sojourn.text.ansi import strip_control

NO_RESULT = "No result of this call was kept."
_GOOD_ID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_GOOD_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
Files = Mapping[int, Sequence[UserContent]]  # contents sent with a user message, by its index in the list


def to_model(messages: Sequence[Message], files: Files | None = None) -> list[ModelMessage]:
    """Converts a conversation to the library's messages; skips roles that models do not have."""
    converted: list[ModelMessage] = []
    for at, message in enumerate(messages):
        if message.role == "assistant":
            answer = _response_parts(message)
            if answer:
                converted.append(ModelResponse(parts=answer))
            continue
        part = _request_part(message, (files or {}).get(at, ()))
        if part is None:
            continue
        if converted and isinstance(converted[-1], ModelRequest):
            converted[-1] = ModelRequest(parts=[*converted[-1].parts, part])
        else:
            converted.append(ModelRequest(parts=[part]))
    return converted


def _response_parts(message: Message) -> list[ModelResponsePart]:
    text = text_of(message)
    written: list[ModelResponsePart] = [TextPart(content=text)] if text else []
    return [
        *written,
        *(ToolCallPart(tool_name=one.name, args=one.arguments, tool_call_id=one.id) for one in tool_calls_of(message)),
    ]


def _request_part(message: Message, files: Sequence[UserContent]) -> ModelRequestPart | None:
    text = text_of(message)
    if message.role == "user":
        return UserPromptPart(content=[text, *files] if files else text)
    if message.role == "tool":
        name, call_id = message.tool_name or "tool", message.tool_call_id or ""
        return ToolReturnPart(tool_name=name, content=text, tool_call_id=call_id)
    return SystemPromptPart(content=text) if message.role == "system" and text else None


def from_response(response: ModelResponse, **fields: object) -> Message:
    """Converts a response: text without terminal escapes, tool calls, reasoning. `fields` set fields of Message."""
    text = "".join(part.content for part in response.parts if isinstance(part, TextPart))
    thought = "".join(part.content for part in response.parts if isinstance(part, ThinkingPart))
    found = [part for part in response.parts if isinstance(part, ToolCallPart)]
    return replace(
        assistant(strip_control(text) or None, [to_tool_call(part) for part in found]),
        finish_reason=response.finish_reason,
        token_count=response.usage.output_tokens or None,
        reasoning=strip_control(thought) or None,
        **fields,  # type: ignore[arg-type]  # fields of Message
    )


def to_tool_call(part: ToolCallPart) -> ToolCall:
    """Converts a tool call of the library; its arguments become text."""
    arguments = part.args if isinstance(part.args, str) else json.dumps(part.args or {}, ensure_ascii=False)
    return ToolCall(id=part.tool_call_id, name=part.tool_name, arguments=arguments or "{}")


def repair_messages(messages: Iterable[Message]) -> list[Message]:
    """Returns the conversation in a form every provider accepts: calls and results paired, valid ids and names."""
    repaired: list[Message] = []
    waiting: list[tuple[str, ToolCall]] = []  # original id, and the call as it is sent
    for number, message in enumerate(messages):
        if message.role == "tool":
            at = _find_call(message, waiting)
            if at is None:
                repaired.append(_orphan_to_note(message))
            else:
                _, call = waiting.pop(at)
                repaired.append(replace(message, tool_call_id=call.id, tool_name=call.name))
            continue
        repaired += [tool_result(call, NO_RESULT) for _, call in waiting]
        waiting = []
        if message.role == "assistant" and (calls := tool_calls_of(message)):
            waiting = [(one.id, _with_valid_id(one, f"{number}_{nth}")) for nth, one in enumerate(calls)]
            message = replace(message, tool_calls=dump_calls([call for _, call in waiting]))
        repaired.append(message)
    return repaired + [tool_result(call, NO_RESULT) for _, call in waiting]


def _find_call(message: Message, waiting: Sequence[tuple[str, ToolCall]]) -> int | None:
    wanted = message.tool_call_id or ""
    for at, (id, call) in enumerate(waiting):
        if id == wanted and (wanted or not message.tool_name or message.tool_name == call.name):
            return at
    return None


def _orphan_to_note(message: Message) -> Message:
    """Turns a result without its call into a note of the user."""
    return Message(role="user", content=f"[result of {message.tool_name or 'a tool'}]\n{text_of(message)}")


def _with_valid_id(call: ToolCall, place: str) -> ToolCall:
    id, name = call.id, call.name
    if not _GOOD_ID.fullmatch(id):
        id = f"c_{place}" if not id else f"c_{hashlib.sha256(id.encode('utf-8', 'replace')).hexdigest()[:24]}"
    if not _GOOD_NAME.fullmatch(name):
        name = re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64]
    return ToolCall(id=id, name=name, arguments=call.arguments)
