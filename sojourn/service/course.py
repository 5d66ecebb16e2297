"""The course of a turn: what it has kept so far, and what is missing for a proper end.

The process that runs a turn follows it as it writes; after a crash another one reads it from the log.
Both end the turn by the same rules.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from sojourn.core.errors import SojournError
from sojourn.core.events import Chunk, Done, Failed, Metadata
from sojourn.core.messages import Message, ToolCall, assistant, text_of, tool_calls_of, tool_result
from sojourn.core.sessions import Recorded

_WHY = {
    "cancelled": "The turn was stopped before this call gave a result.",
    "failed": "The turn failed before this call gave a result.",
    "interrupted": "Sojourn ended before this call gave a result; whether it was carried out is not known.",
    "completed": "This call gave no result.",
}


@dataclass(slots=True)
class Course:
    """Follows the kept items of one turn."""

    begun: bool = False
    failed: bool = False
    over: bool = False
    ids: list[str] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    open: dict[str, ToolCall] = field(default_factory=dict)  # calls without a result
    unkept: list[str] = field(default_factory=list)  # shown since the last assistant message

    def see(self, kept: Recorded) -> None:
        item = kept.item
        if isinstance(item, Message):
            self.ids.append(kept.public_id)
            self.messages.append(item)
            if item.role == "assistant":
                self.unkept.clear()
                self.open.update({call.id: call for call in tool_calls_of(item)})
            elif item.role == "tool":
                self.open.pop(item.tool_call_id or "", None)
        elif isinstance(item, Chunk):
            self.unkept.append(item.text)
        self.begun |= isinstance(item, Metadata)
        self.failed |= isinstance(item, Failed)
        self.over |= isinstance(item, Done)

    @property
    def answered(self) -> bool:
        """Whether an assistant has had the last word."""
        last = self.messages[-1] if self.messages else None
        return last is not None and last.role == "assistant" and bool(text_of(last)) and not self.open

    def results(self, status: str) -> list[Message]:
        """A result for every open call that says why there is none."""
        why = _WHY.get(status, _WHY["failed"])
        return [tool_result(call, why) for call in self.open.values()]

    def loose_ends(self, status: str) -> list[Message]:
        """A result for every open call, and the words that were shown but not kept as a message."""
        results, shown = self.results(status), "".join(self.unkept)
        reason = "stop" if status == "completed" else status
        return [*results, assistant(shown, finish_reason=reason)] if shown.strip() else [*results]


def told(error: SojournError) -> Failed:
    """An error as everybody sees it."""
    return Failed(error.code, str(error), error.hint, error.retryable)
