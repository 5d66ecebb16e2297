"""How a scripted model's steps look on the wire of OpenAI's Responses: `POST /v1/responses`."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

from sojourn.testing.model_script import Call, ModelRequest, Say, Step, Think
from sojourn.testing.model_wire import call_id, usage_of

Json = dict[str, Any]


class Responses:
    """Every item of the answer is announced and then complete."""

    garbage = "data: {this is not JSON\n\n"

    def __init__(self, asked: ModelRequest, steps: Sequence[Step]) -> None:
        spent = usage_of(asked, steps)
        self._items = [item for at, step in enumerate(steps) for item in _list_items(step, at)]
        self._head = {
            "id": f"resp_{time.time_ns():x}",
            "object": "response",
            "created_at": int(time.time()),
            "model": asked.body.get("model", ""),
        }
        self._usage = {
            "input_tokens": spent.input_tokens,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": spent.output_tokens,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": spent.input_tokens + spent.output_tokens,
        }

    def begin(self) -> Iterator[str]:
        yield _frame("response.created", response={**self._head, "status": "in_progress", "output": []})

    def text(self, piece: str) -> Iterator[str]:
        yield from ()  # the whole item comes at the end

    def thought(self, step: Think) -> Iterator[str]:
        yield from ()

    def call(self, step: Call, index: int) -> Iterator[str]:
        yield from ()

    def end(self) -> Iterator[str]:
        for at, item in enumerate(self._items):
            yield _frame("response.output_item.added", output_index=at, item=item)
            yield _frame("response.output_item.done", output_index=at, item=item)
        yield _frame("response.completed", response=self.whole())

    def whole(self) -> Json:
        return {**self._head, "status": "completed", "output": self._items, "usage": self._usage}

    def refusal(self, status: int, message: str) -> Json:
        return {"error": {"message": message, "type": "scripted", "code": str(status)}}


def _frame(kind: str, **fields: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"


def _list_items(step: Step, at: int) -> Iterator[Json]:
    if isinstance(step, Say):
        content = [{"type": "output_text", "text": step.text, "annotations": []}]
        yield {"type": "message", "id": f"msg_{at}", "role": "assistant", "status": "completed", "content": content}
    elif isinstance(step, Call):
        call = {"call_id": call_id(step, at), "name": step.name, "arguments": step.as_text}
        yield {"type": "function_call", "id": f"fc_{at}", "status": "completed", **call}
