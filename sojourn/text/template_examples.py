"""Template examples: tool calls that worked elsewhere, sent before a conversation but never stored, counted or learned.

Two marks identify them: `extra` of a Message, and the id of a call (`template_<number>`), which every provider, store
and transcript passes on unchanged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from sojourn.core.messages import Message, extra_of, text_of, tool_calls_of

_MARK = "ephemeral"
_ID = re.compile(r"template_\d+(?:_\d+)?")


def mark_as_example(message: Message, template: str) -> Message:
    return replace(message, extra=json.dumps({_MARK: "template", "template": template}, ensure_ascii=False))


def is_example_id(call_id: str) -> bool:
    return call_id.startswith("template_") and _ID.fullmatch(call_id) is not None


def is_example(message: Message) -> bool:
    """Whether either mark makes a message an example."""
    if extra_of(message).get(_MARK) == "template":
        return True
    ids = [call.id for call in tool_calls_of(message)] + ([message.tool_call_id] if message.tool_call_id else [])
    return bool(ids) and all(map(is_example_id, ids))


def example_ids(count: int, taken: Collection[str]) -> list[str]:
    """Creates the ids `template_0`, `template_1` …; a taken one gets a suffix."""
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
    """Renders examples as text, for a runtime that takes no tool history."""
    answers = {one.tool_call_id: text_of(one) for one in examples if one.role == "tool"}
    lines: list[str] = []
    for message in examples:
        if message.role in ("system", "user"):
            lines.append(text_of(message))
        for call in tool_calls_of(message):
            lines += [f"→ {call.name}({call.arguments})", "  " + answers.get(call.id, "").replace("\n", "\n  ")]
    return "\n".join(lines)
