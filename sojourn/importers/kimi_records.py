"""Records of a wire of Kimi Code, and envelopes of kimi-cli. The pieces in which a step arrives are joined."""

from __future__ import annotations

from typing import Any

from sojourn.importers.message_pieces import MessagePieces
from sojourn.importers.transcript_builder import TranscriptBuilder, as_mapping, as_parts, as_text, to_json, to_seconds

_QUIET = (
    *("metadata", "config.update", "turn.prompt", "turn.steer", "turn.cancel", "turn.end", "usage.record"),
    *("context.undone", "context.apply_compaction", "context.undo", "context.clear", "tools.update_store"),
)
_QUIET_EVENTS = ("step.end", "turn.begin", "turn.end")
_QUIET_ENVELOPES = ("TurnEnd", "StepInterrupted", "ApprovalRequest", "ApprovalResponse", "ApprovalRequestResolved")


class KimiRecords:
    """Adds the records of one wire to a transcript; `model` and `cwd` are what they say."""

    def __init__(self, builder: TranscriptBuilder) -> None:
        self._builder = builder
        self.model: str | None = None
        self.cwd: str | None = None
        self._step, self._own, self._when = MessagePieces(), "", 0.0
        self._prompts: list[int] = []  # where each prompt stands, to undo it

    def add(self, number: int, record: dict[str, Any]) -> None:
        kind, own = str(record.get("type") or ""), f"line-{number}"
        when = to_seconds(record.get("time")) or to_seconds(record.get("timestamp"))
        if "message" in record and not kind.startswith("context."):
            self._add_envelope(own, as_mapping(record["message"]), when, record)
        elif kind == "context.append_loop_event":
            self._add_event(own, as_mapping(record.get("event")), when, record)
        else:
            self.close()
            self._add_record(own, kind, when, record)

    def close(self) -> None:
        """Adds the step that was begun."""
        self._step.add_to(self._builder, "assistant", self._own, self._when)
        self._step, self._own = MessagePieces(), ""

    def _add_record(self, own: str, kind: str, when: float, record: dict[str, Any]) -> None:
        if kind == "context.append_message":
            self._add_message(own, as_mapping(record.get("message")), when)
            return
        if kind == "config.update":
            self.model = as_text(record.get("modelAlias")) or self.model
            self.cwd = as_text(record.get("cwd")) or self.cwd
        elif kind == "context.apply_compaction":
            self._builder.mark_compacted()
            self._add_text("system", own, when, record.get("summary") or record.get("contextSummary"))
        elif kind == "context.undo":
            self._undo(record.get("count"))
        elif kind == "context.clear":
            self._builder.mark_compacted()
        add = self._builder.add_record if kind in _QUIET else self._builder.add_unknown
        add(kind or "line", to_json(record))

    def _add_message(self, own: str, message: dict[str, Any], when: float) -> None:
        role, origin = str(message.get("role") or ""), as_mapping(message.get("origin")).get("kind")
        pieces = MessagePieces()
        for part in map(as_mapping, as_parts(message.get("content"))):
            _sort_part(pieces, part)
        if role == "tool":
            parts, pieces = pieces.parts, MessagePieces()
            pieces.add_output(message.get("toolCallId"), parts)
        known = role if role in ("assistant", "tool") else "user" if origin in ("user", None) else "system"
        if known == "user":
            self._prompts.append(len(self._builder.messages))
        if not pieces.add_to(self._builder, known, own, when):
            self._builder.add_record("message", to_json(message))

    def _add_event(self, own: str, event: dict[str, Any], when: float, record: dict[str, Any]) -> None:
        kind = event.get("type")
        if kind == "step.begin":
            self.close()
        elif kind == "content.part":
            self._begin(own, when)
            _sort_part(self._step, as_mapping(event.get("part")))
        elif kind == "tool.call":
            self._begin(own, when)
            self._step.add_call(event.get("toolCallId"), event.get("name"), event.get("args"))
        elif kind == "tool.result":
            self.close()
            result, pieces = as_mapping(event.get("result")), MessagePieces()
            pieces.add_output(event.get("toolCallId"), result.get("output"), is_error=result.get("isError") is True)
            pieces.add_to(self._builder, "tool", own, when)
        elif kind not in _QUIET_EVENTS:
            self._builder.add_unknown(str(kind), to_json(record))
        if kind == "step.end":
            self.close()
            self.model = as_text(event.get("model")) or self.model
            self._add_usage(as_mapping(event.get("usage")))
            self._builder.add_record("step.end", to_json(event))

    def _begin(self, own: str, when: float) -> None:
        if not self._own:
            self._own, self._when = own, when

    def _add_envelope(self, own: str, message: dict[str, Any], when: float, record: dict[str, Any]) -> None:
        """A record of kimi-cli. A new turn, step or result ends the step before it."""
        kind, payload = str(message.get("type") or ""), as_mapping(message.get("payload"))
        if kind in ("TurnBegin", "SteerInput"):
            self.close()
            pieces = MessagePieces()
            for part in map(as_mapping, as_parts(payload.get("user_input"))):
                _sort_part(pieces, part)
            self._prompts.append(len(self._builder.messages))
            pieces.add_to(self._builder, "user", own, when)
        elif kind in ("StepBegin", "CompactionBegin", "CompactionEnd"):
            self.close()
        elif kind in ("ContentPart", "TextPart", "ThinkPart"):
            self._begin(own, when)
            _sort_part(self._step, payload)
        elif kind == "ToolCall":
            self._begin(own, when)
            function = as_mapping(payload.get("function"))
            self._step.add_call(payload.get("id"), function.get("name"), function.get("arguments"))
        elif kind == "ToolCallPart" and self._step.calls:
            last = self._step.calls.pop()
            grown = (last.arguments if last.arguments != "{}" else "") + (as_text(payload.get("arguments_part")) or "")
            self._step.add_call(last.id, last.name, grown)
        elif kind == "ToolResult":
            self.close()
            value, pieces = as_mapping(payload.get("return_value")), MessagePieces()
            pieces.add_output(payload.get("tool_call_id"), value.get("output"), is_error=value.get("is_error") is True)
            pieces.add_to(self._builder, "tool", own, when)
        elif kind == "StatusUpdate":
            self._add_usage(as_mapping(payload.get("token_usage")))
            self._builder.add_record(kind, to_json(record))
        else:
            add = self._builder.add_record if kind in _QUIET_ENVELOPES else self._builder.add_unknown
            add(kind, to_json(record))

    def _add_text(self, role: str, own: str, when: float, text: Any) -> None:
        pieces = MessagePieces()
        pieces.add_text(text)
        pieces.add_to(self._builder, role, own, when)

    def _undo(self, count: Any) -> None:
        """Takes the last prompts back, with everything that followed them."""
        number = count if isinstance(count, int) and not isinstance(count, bool) and count > 0 else 1
        kept = max(len(self._prompts) - number, 0)
        if kept < len(self._prompts):
            self._builder.mark_undone(self._prompts[kept])
            del self._prompts[kept:]

    def _add_usage(self, usage: dict[str, Any]) -> None:
        if usage:
            self._builder.usage.add(
                self.model or "",
                input_tokens=usage.get("inputOther", usage.get("input_other", usage.get("input"))),
                output_tokens=usage.get("output"),
                cache_read_tokens=usage.get("inputCacheRead", usage.get("input_cache_read")),
                cache_write_tokens=usage.get("inputCacheCreation", usage.get("input_cache_creation")),
            )


def _sort_part(pieces: MessagePieces, part: dict[str, Any]) -> None:
    kind = part.get("type")
    if kind == "text":
        pieces.add_text(part.get("text"))
    elif kind == "think":
        pieces.add_thought(part.get("think") or part.get("thinking") or part.get("text"))
    elif part:
        pieces.parts.append(part)
