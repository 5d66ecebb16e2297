"""Puts a template before a conversation: as messages with tool calls, or as text."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from sojourn.core.messages import Message, ToolCall, assistant, tool_result
from sojourn.templates.model import SessionTemplate, ToolCallExample
from sojourn.templates.parameters import parameters_of
from sojourn.text.template_examples import example_ids, mark_as_example, render_examples
from sojourn.text.token_count import estimate_tokens


def write_introduction(template: SessionTemplate) -> str:
    """The line that says what follows."""
    return (
        f'Template "{template.name}" ({template.task_type.value}): calls that worked in earlier sessions of this kind. '
        "They are examples; none of them was made in this conversation."
        + (" {{name}} stands for a value of your own." if parameters_of(template.examples) else "")
    )


def inject(template: SessionTemplate, messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages with the template after the leading system messages. The given list stays as it is."""
    if not template.examples:
        return list(messages)
    at = next((place for place, one in enumerate(messages) if one.get("role") != "system"), len(messages))
    ids = example_ids(len(template.examples), _ids_in(messages))
    block: list[dict[str, Any]] = [{"role": "system", "content": write_introduction(template)}]
    for name, example in zip(ids, template.examples, strict=True):
        function = {"name": example.tool_name, "arguments": _arguments(example)}
        call = {"id": name, "type": "function", "function": function}
        block.append({"role": "assistant", "content": None, "tool_calls": [call]})
        block.append({"role": "tool", "tool_call_id": name, "content": example.result})
    return [*messages[:at], *block, *messages[at:]]


def _ids_in(messages: Sequence[Mapping[str, Any]]) -> set[str]:
    found: set[str] = set()
    for message in messages:
        found.add(str(message.get("tool_call_id") or ""))
        calls = message.get("tool_calls")
        found |= {str(one.get("id") or "") for one in calls or () if isinstance(one, Mapping)}
    return found


def _arguments(example: ToolCallExample) -> str:
    return json.dumps(dict(example.arguments), ensure_ascii=False)


def estimate_template_tokens(template: SessionTemplate) -> int:
    """How many tokens a template takes before a conversation."""
    return estimate_tokens(render_examples(to_example_messages(template)))


def to_example_messages(template: SessionTemplate, taken: Collection[str] = ()) -> tuple[Message, ...]:
    """The block as messages of ours, each marked as an example."""
    if not template.examples:
        return ()
    found = [Message(role="system", content=write_introduction(template))]
    for name, example in zip(example_ids(len(template.examples), taken), template.examples, strict=True):
        call = ToolCall(id=name, name=example.tool_name, arguments=_arguments(example))
        found += [assistant(None, [call]), tool_result(call, example.result)]
    return tuple(mark_as_example(one, template.name) for one in found)
