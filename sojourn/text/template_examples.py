"""Examples put before a conversation: calls that worked elsewhere, shown as if they had happened here.

They are ephemeral: sent, never kept as history, never counted, never learned from. Two marks say so, one for
each place they pass: `extra` of a Message, and the id of a call (`template_<number>`), which every provider,
store and transcript hands on as it is.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from sojourn.core.messages import Message, text_of, tool_calls_of

_MARK = "ephemeral"
_ID = re.compile(r"template_\d+(?:_\d+)?")


def mark_as_example(message: Message, template: str) -> Message:
    """The message with the mark that it is an example of a template."""
    return replace(message, extra=json.dumps({_MARK: "template", "template": template}, ensure_ascii=False))


def is_example_id(call_id: str) -> bool:
    """Whether a call's id says that it never happened."""
    return call_id.startswith("template_") and _ID.fullmatch(call_id) is not None


def is_example(message: Message) -> bool:
    """Whether a message is an example, told by either mark."""
    if message.extra and _MARK in message.extra:
        try:
            found = json.loads(message.extra)
        except (ValueError, RecursionError):
            found = None
        if isinstance(found, dict) and found.get(_MARK) == "template":
            return True
    ids = [call.id for call in tool_calls_of(message)] + ([message.tool_call_id] if message.tool_call_id else [])
    return bool(ids) and all(map(is_example_id, ids))


def example_ids(count: int, taken: Collection[str]) -> list[str]:
    """`template_0`, `template_1` …; one that is taken gets a number more."""
    found: list[str] = []
    used = set(taken)
    for number in range(count):
        name, more = f"template_{number}", 2
        while name in used:
            name, more = f"template_{number}_{more}", more + 1
        used.add(name)
        found.append(name)
    return found


def render_examples(examples: Sequence[Message]) -> str:
    """The same examples in words, for a runtime that takes no tool history."""
    answers = {one.tool_call_id: text_of(one) for one in examples if one.role == "tool"}
    lines: list[str] = []
    for message in examples:
        if message.role in ("system", "user"):
            lines.append(text_of(message))
        for call in tool_calls_of(message):
            lines += [f"→ {call.name}({call.arguments})", _indented(answers.get(call.id, ""))]
    return "\n".join(lines)


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" for line in text.split("\n"))
