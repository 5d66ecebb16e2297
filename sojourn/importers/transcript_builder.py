"""A foreign session while it is being gathered, and what foreign records have in common."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

from sojourn.core.messages import Message, ToolCall, dump_calls

_MILLISECONDS = 1e11  # a later moment than this is not told in seconds
_TITLE = 80


class Talk:
    """Messages in order, and beside them what is none.

    Each message needs a `native_id` that is the same at the next import: only what is new is added then.
    Where one record becomes several messages, those after the first get `#2`, `#3` … behind its id.
    """

    def __init__(self, start: float = 0.0) -> None:
        self.messages: list[Message] = []
        self.records: list[tuple[str, str]] = []
        self.warnings: list[str] = []
        self.clock = start  # the moment of the latest message: some records have none of their own
        self._natives: set[str] = set()
        self._tools: dict[str, str] = {}

    def add(self, message: Message, calls: Sequence[ToolCall] = ()) -> None:
        """Says the next thing. A tool's output gets the name of the tool that was called."""
        self.clock = message.timestamp or self.clock
        if calls:
            self._tools.update((call.id, call.name) for call in calls)
            message = replace(message, tool_calls=dump_calls(calls))
        if message.role == "tool" and not message.tool_name:
            message = replace(message, tool_name=self._tools.get(message.tool_call_id or ""))
        self.messages.append(replace(message, native_id=self._own(message.native_id or ""), timestamp=self.clock))

    def _own(self, native: str) -> str:
        number, own = 1, native
        while own in self._natives:
            number += 1
            own = f"{native}#{number}"
        self._natives.add(own)
        return own

    def keep(self, kind: str, text: str) -> None:
        """What is not a message, as it stands."""
        self.records.append((kind, text))

    def summarised(self, still: Callable[[Message], bool] = lambda _: False) -> None:
        """Everything so far was summed up for the model, but for what it still sees as it was said."""
        self.messages = [
            message if still(message) or not message.active else replace(message, active=False, compacted=True)
            for message in self.messages
        ]

    def undone(self, start: int) -> None:
        """The person took back everything from here on."""
        taken = (replace(message, active=False, compacted=False) for message in self.messages[start:])
        self.messages = [*self.messages[:start], *taken]


def seconds(moment: Any) -> float:
    """A moment of time, however it was written, in seconds; 0 when it says none."""
    if isinstance(moment, bool) or not isinstance(moment, str | int | float):
        return 0.0
    if isinstance(moment, str):
        try:
            when = datetime.fromisoformat(moment)
            return (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
        except (ValueError, OverflowError):
            return 0.0
    return moment / 1000 if abs(moment) > _MILLISECONDS else float(moment)


def content(parts: Sequence[Any]) -> dict[str, Any]:
    """`content` and `structured` of a Message: a lone text is text, anything else stays a list of parts."""
    if not parts:
        return {"content": None}
    if len(parts) == 1 and (text := plain(parts[0])) is not None:
        return {"content": text}
    return {"content": as_json(parts), "structured": True}


def plain(part: Any) -> str | None:
    """The text of a part that is nothing but text."""
    if not isinstance(part, dict) or any(value for key, value in part.items() if key not in ("type", "text", "id")):
        return None
    text = part.get("text")
    return text if isinstance(text, str) and str(part.get("type", "")).endswith("text") else None


def words(parts: Any) -> str:
    """What can be read of a list of parts."""
    found = (part.get("text") for part in parts if isinstance(part, dict)) if isinstance(parts, list) else ()
    return "\n".join(text for text in found if isinstance(text, str))


def rest(record: Mapping[str, Any], known: Iterable[str]) -> str | None:
    """What came along with a message and has no column, as JSON text."""
    left = {key: record[key] for key in record if key not in known and record[key] not in (None, "", [], {})}
    return as_json(left) if left else None


def as_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def mapping(value: Any) -> dict[str, Any]:
    """The value if it is an object, else an empty one: foreign records are not always what they should be."""
    return value if isinstance(value, dict) else {}


def nonempty(value: Any) -> str | None:
    """The value if it is a text that says something."""
    return value if isinstance(value, str) and value else None


def heading(prompt: str) -> str | None:
    """A title made of the first words of a prompt."""
    line = next((line.strip() for line in prompt.splitlines() if line.strip()), "")
    if len(line) <= _TITLE:
        return line or None
    cut = line[:_TITLE].rpartition(" ")[0] or line[:_TITLE]
    return cut.rstrip() + "…"
