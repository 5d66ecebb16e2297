"""How a scripted model's steps look on the wire: OpenAI's chat completions and Anthropic's messages."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from sojourn.testing.model_script import Call, ModelRequest, ReportUsage, Say, Step, Think

Json = dict[str, Any]


class Wire(Protocol):
    """One protocol. The frames of a stream come in order: begin, those of each step, end."""

    garbage: str  # a frame with broken JSON in it

    def begin(self) -> Iterator[str]: ...
    def text(self, piece: str) -> Iterator[str]: ...
    def thought(self, step: Think) -> Iterator[str]: ...
    def call(self, step: Call, index: int) -> Iterator[str]: ...
    def end(self) -> Iterator[str]: ...
    def whole(self) -> Json: ...  # the same as one document
    def refusal(self, status: int, message: str) -> Json: ...


def usage_of(asked: ModelRequest, steps: Sequence[Step]) -> ReportUsage:
    """What the script says was used, else a count of words."""
    for step in steps:
        if isinstance(step, ReportUsage):
            return step
    said = " ".join(step.text for step in steps if isinstance(step, Say | Think))
    return ReportUsage(max(1, len(asked.text().split())), max(1, len(said.split())))


def call_id(step: Call, index: int) -> str:
    return step.id or f"call_{time.time_ns():x}_{index}"


class OpenAI:
    """`POST /v1/chat/completions`."""

    garbage = "data: {this is not JSON\n\n"

    def __init__(self, asked: ModelRequest, steps: Sequence[Step]) -> None:
        self._steps, self._spent = steps, usage_of(asked, steps)
        self._base = {"id": "chatcmpl-scripted", "created": int(time.time()), "model": asked.body.get("model", "")}
        self._calls = any(isinstance(step, Call) for step in steps)

    def _frame(self, delta: Json, finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return f"data: {json.dumps({**self._base, 'object': 'chat.completion.chunk', 'choices': [choice]})}\n\n"

    @property
    def _usage(self) -> Json:
        used = self._spent
        return {
            "prompt_tokens": used.input_tokens,
            "completion_tokens": used.output_tokens,
            "total_tokens": used.input_tokens + used.output_tokens,
        }

    @property
    def _finish(self) -> str:
        return "tool_calls" if self._calls else "stop"

    def begin(self) -> Iterator[str]:
        yield self._frame({"role": "assistant", "content": ""})

    def text(self, piece: str) -> Iterator[str]:
        yield self._frame({"content": piece})

    def thought(self, step: Think) -> Iterator[str]:
        yield self._frame({"reasoning_content": step.text})

    def call(self, step: Call, index: int) -> Iterator[str]:
        function = {"name": step.name, "arguments": ""}
        yield self._frame(
            {"tool_calls": [{"index": index, "id": call_id(step, index), "type": "function", "function": function}]}
        )
        half = len(step.as_text) // 2
        for piece in filter(None, (step.as_text[:half], step.as_text[half:])):
            yield self._frame({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})

    def end(self) -> Iterator[str]:
        yield self._frame({}, self._finish)
        last = {**self._base, "object": "chat.completion.chunk", "choices": [], "usage": self._usage}
        yield f"data: {json.dumps(last)}\n\ndata: [DONE]\n\n"

    def whole(self) -> Json:
        called = [step for step in self._steps if isinstance(step, Call)]
        message: Json = {"role": "assistant", "content": _joined_text(self._steps) or None}
        if called:
            message["tool_calls"] = [
                {"id": call_id(one, at), "type": "function", "function": {"name": one.name, "arguments": one.as_text}}
                for at, one in enumerate(called)
            ]
        choice = {"index": 0, "message": message, "finish_reason": self._finish}
        return {**self._base, "object": "chat.completion", "choices": [choice], "usage": self._usage}

    def refusal(self, status: int, message: str) -> Json:
        return {"error": {"message": message, "type": "scripted", "code": status}}


class Anthropic:
    """`POST /v1/messages`."""

    garbage = "event: content_block_delta\ndata: {this is not JSON\n\n"

    def __init__(self, asked: ModelRequest, steps: Sequence[Step]) -> None:
        self._asked, self._steps, self._spent = asked, steps, usage_of(asked, steps)
        self._calls = any(isinstance(step, Call) for step in steps)
        self._index, self._open = -1, ""

    @staticmethod
    def _frame(kind: str, data: Mapping[str, Any]) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **data})}\n\n"

    def _block(self, kind: str, block: Json) -> Iterator[str]:
        """Opens a content block, unless one of that kind is open."""
        if self._open == kind:
            return
        yield from self._close()
        self._index, self._open = self._index + 1, kind
        yield self._frame("content_block_start", {"index": self._index, "content_block": block})

    def _close(self) -> Iterator[str]:
        if self._open:
            yield self._frame("content_block_stop", {"index": self._index})
        self._open = ""

    def _delta(self, delta: Json) -> str:
        return self._frame("content_block_delta", {"index": self._index, "delta": delta})

    @property
    def _stop(self) -> str:
        return "tool_use" if self._calls else "end_turn"

    def _message(self, content: list[Json], stop: str | None, output_tokens: int) -> Json:
        return {
            "id": "msg_scripted",
            "type": "message",
            "role": "assistant",
            "model": self._asked.body.get("model", ""),
            "content": content,
            "stop_reason": stop,
            "stop_sequence": None,
            "usage": {"input_tokens": self._spent.input_tokens, "output_tokens": output_tokens},
        }

    def begin(self) -> Iterator[str]:
        yield self._frame("message_start", {"message": self._message([], None, 1)})

    def text(self, piece: str) -> Iterator[str]:
        yield from self._block("text", {"type": "text", "text": ""})
        yield self._delta({"type": "text_delta", "text": piece})

    def thought(self, step: Think) -> Iterator[str]:
        yield from self._block("thinking", {"type": "thinking", "thinking": "", "signature": ""})
        yield self._delta({"type": "thinking_delta", "thinking": step.text})
        yield self._delta({"type": "signature_delta", "signature": "c2NyaXB0ZWQ="})

    def call(self, step: Call, index: int) -> Iterator[str]:
        yield from self._close()
        block = {"type": "tool_use", "id": call_id(step, index), "name": step.name, "input": {}}
        yield from self._block(f"call {index}", block)
        yield self._delta({"type": "input_json_delta", "partial_json": step.as_text})

    def end(self) -> Iterator[str]:
        yield from self._close()
        stop = {"stop_reason": self._stop, "stop_sequence": None}
        yield self._frame("message_delta", {"delta": stop, "usage": {"output_tokens": self._spent.output_tokens}})
        yield self._frame("message_stop", {})

    def whole(self) -> Json:
        content: list[Json] = [{"type": "text", "text": _joined_text(self._steps)}] if _joined_text(self._steps) else []
        called = (step for step in self._steps if isinstance(step, Call))
        for at, one in enumerate(called):
            content.append(
                {"type": "tool_use", "id": call_id(one, at), "name": one.name, "input": json.loads(one.as_text)}
            )
        return self._message(content, self._stop, self._spent.output_tokens)

    def refusal(self, status: int, message: str) -> Json:
        kinds = {401: "authentication_error", 429: "rate_limit_error", 400: "invalid_request_error"}
        return {"type": "error", "error": {"type": kinds.get(status, "api_error"), "message": message}}


def _joined_text(steps: Sequence[Step]) -> str:
    return "".join(step.text for step in steps if isinstance(step, Say))
