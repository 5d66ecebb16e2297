"""Turn state: folds the stored items of a turn and derives what is missing for a proper end.

The process that runs a turn folds items as it writes them; after a crash another one folds them from the log.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from sojourn.core.errors import SojournError
from sojourn.core.events import Chunk, Done, Failed, Metadata, Yielded
from sojourn.core.messages import Message, ToolCall, assistant, text_of, tool_calls_of, tool_result
from sojourn.core.sessions import Recorded, SessionId
from sojourn.text.redaction import Redacted

_WHY = {
    "cancelled": "The turn was stopped before this call gave a result.",
    "failed": "The turn failed before this call gave a result.",
    "interrupted": "Sojourn ended before this call gave a result; whether it was carried out is not known.",
    "completed": "This call gave no result.",
}


@dataclass(slots=True)
class TurnState:
    """The state of one turn."""

    has_begun: bool = False
    failed: bool = False
    over: bool = False
    ids: list[str] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    open: dict[str, ToolCall] = field(default_factory=dict)  # calls without a result
    unkept: list[str] = field(default_factory=list)  # shown since the last assistant message

    def apply(self, kept: Recorded) -> None:
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
        self.has_begun |= isinstance(item, Metadata)
        self.failed |= isinstance(item, Failed)
        self.over |= isinstance(item, Done)

    def expect(self, session: SessionId, items: Iterable[Yielded], last_seq: int) -> TurnState:
        """The state once these items are stored. Only the lease holder writes, so their numbers are known."""
        expected = replace(self, ids=[*self.ids], messages=[*self.messages], open={**self.open}, unkept=[*self.unkept])
        for seq, item in enumerate(items, last_seq + 1):
            expected.apply(Recorded(session=session, seq=seq, at=0.0, item=item))
        return expected

    @property
    def answered(self) -> bool:
        """Whether the last message is an answer with text and no call is open."""
        last = self.messages[-1] if self.messages else None
        return last is not None and last.role == "assistant" and bool(text_of(last)) and not self.open

    def results(self, status: str) -> list[Message]:
        """A substitute result for every open call that says why it has none."""
        why = _WHY.get(status, _WHY["failed"])
        return [tool_result(call, why) for call in self.open.values()]

    def loose_ends(self, status: str) -> list[Message]:
        """Substitute results, and the streamed text that no message contains yet."""
        results, shown = self.results(status), Redacted("".join(self.unkept))  # as it was shown
        reason = "stop" if status == "completed" else status
        return [*results, assistant(shown, finish_reason=reason)] if shown.strip() else [*results]


def to_failed_event(error: SojournError) -> Failed:
    """An error as the event that surfaces show."""
    return Failed(error.code, str(error), error.hint, error.retryable)
