"""Sorts the pieces of a foreign message: words and pictures, thoughts, tool calls, and outputs of calls."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from sojourn.core.messages import ToolCall
from sojourn.importers.transcript_builder import (
    TranscriptBuilder,
    as_list,
    as_mapping,
    as_parts,
    as_text,
    get_plain_text,
    join_lines,
    to_content,
    to_extra,
    to_json,
    to_text_part,
)

Output = tuple[str, list[Any], bool]  # the id of the call, the parts, whether it failed


@dataclass(slots=True)
class MessagePieces:
    """The pieces of one message. `add_to` appends it: the message itself, then one message for each output."""

    parts: list[Any] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[ToolCall] = field(default_factory=list)
    outputs: list[Output] = field(default_factory=list)

    def list_texts(self) -> list[str]:
        return [text for one in self.parts if (text := get_plain_text(one))]

    def add_text(self, text: Any) -> None:
        if as_text(text):
            self.parts.append(to_text_part(text))

    def add_thought(self, text: Any) -> None:
        if as_text(text):
            self.thoughts.append(text)

    def add_call(self, id: Any, name: Any, arguments: Any) -> None:
        text = arguments if isinstance(arguments, str) else to_json({} if arguments is None else arguments)
        self.calls.append(ToolCall(id=str(id or ""), name=as_text(name) or "unknown", arguments=text or "{}"))

    def add_output(self, call_id: Any, output: Any, *, is_error: bool = False) -> None:
        parts = as_parts(output) if isinstance(output, str | list) else [] if output is None else [to_json(output)]
        parts = [to_text_part(one) if isinstance(one, str) else one for one in parts] or [to_text_part("")]
        self.outputs.append((str(call_id or ""), parts, is_error))

    def add_to(self, builder: TranscriptBuilder, role: str, native: str, when: float, **fields: Any) -> bool:
        """Appends what there is; returns False if there is nothing."""
        if self.parts or self.thoughts or self.calls:
            builder.add(
                role,
                native,
                when,
                calls=self.calls,
                **to_content(self.parts),
                reasoning=join_lines(self.thoughts),
                **fields,
            )
        for call_id, parts, is_error in self.outputs:
            extra = to_json({"is_error": True}) if is_error else None
            builder.add("tool", native, when, tool_call_id=call_id, extra=extra, **to_content(parts))
        return bool(self.parts or self.thoughts or self.calls or self.outputs)


def sort_blocks(content: Any) -> MessagePieces:
    """The pieces of content in Anthropic's form: a text, or blocks of text, thinking, tool_use and tool_result."""
    pieces = MessagePieces()
    for block in as_parts(content):
        one = as_mapping(block)
        kind = one.get("type")
        if kind == "thinking":
            pieces.add_thought(one.get("thinking"))
        elif kind == "tool_use":
            pieces.add_call(one.get("id"), one.get("name"), one.get("input"))
        elif kind == "tool_result":
            pieces.add_output(one.get("tool_use_id"), one.get("content"), is_error=bool(one.get("is_error")))
        elif kind != "redacted_thinking" and (one or isinstance(block, str)):
            pieces.parts.append(to_text_part(block) if isinstance(block, str) else one)
    return pieces


def add_openai_calls(pieces: MessagePieces, calls: Any) -> None:
    """Adds calls in OpenAI's form: `{id, function: {name, arguments}}`."""
    for call in as_list(calls):
        function = as_mapping(as_mapping(call).get("function"))
        if function:
            pieces.add_call(as_mapping(call).get("id"), function.get("name"), function.get("arguments"))


def list_extra(record: dict[str, Any], known: Iterable[str]) -> dict[str, Any]:
    """The field `extra` of a message from what has no column; none if there is nothing."""
    extra = to_extra(record, known)
    return {"extra": extra} if extra else {}
