"""How a scripted model's steps look on Google's wire: `POST /v1beta/models/NAME:streamGenerateContent`."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

from sojourn.testing.model_script import Call, ModelRequest, Say, Step, Think
from sojourn.testing.model_wire import usage_of

Json = dict[str, Any]


class Google:
    """Every frame is a whole answer with a few more parts."""

    garbage = "data: {this is not JSON\n\n"

    def __init__(self, asked: ModelRequest, steps: Sequence[Step]) -> None:
        self._steps, self._spent = steps, usage_of(asked, steps)

    def _document(self, parts: list[Json], finish: str | None = None) -> Json:
        candidate: Json = {"index": 0, "content": {"role": "model", "parts": parts}}
        if finish:
            candidate["finishReason"] = finish
        used = {
            "promptTokenCount": self._spent.input_tokens,
            "candidatesTokenCount": self._spent.output_tokens,
            "totalTokenCount": self._spent.input_tokens + self._spent.output_tokens,
        }
        return {"candidates": [candidate], "usageMetadata": used, "modelVersion": "scripted", "responseId": "scripted"}

    def _frame(self, parts: list[Json], finish: str | None = None) -> str:
        return f"data: {json.dumps(self._document(parts, finish))}\n\n"

    def begin(self) -> Iterator[str]:
        yield from ()

    def text(self, piece: str) -> Iterator[str]:
        yield self._frame([{"text": piece}])

    def thought(self, step: Think) -> Iterator[str]:
        yield self._frame([{"text": step.text, "thought": True}])

    def call(self, step: Call, index: int) -> Iterator[str]:
        yield self._frame([_call(step)])

    def end(self) -> Iterator[str]:
        yield self._frame([{"text": ""}], "STOP")

    def whole(self) -> Json:
        parts: list[Json] = [{"text": step.text} for step in self._steps if isinstance(step, Say)]
        return self._document([*parts, *(_call(step) for step in self._steps if isinstance(step, Call))], "STOP")

    def refusal(self, status: int, message: str) -> Json:
        names = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 429: "RESOURCE_EXHAUSTED", 503: "UNAVAILABLE"}
        return {"error": {"code": status, "message": message, "status": names.get(status, "INTERNAL")}}


def _call(step: Call) -> Json:
    arguments = json.loads(step.arguments) if isinstance(step.arguments, str) else dict(step.arguments)
    return {"functionCall": {"name": step.name, "args": arguments}}
