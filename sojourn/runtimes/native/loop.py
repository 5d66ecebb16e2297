"""The loop: the model speaks, its tools run, it speaks again, until it has nothing more to do."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import replace

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart

from sojourn.core.errors import ContextFull, RuntimeFailed
from sojourn.core.events import Chunk, Progress
from sojourn.core.messages import Message, ToolCall, text_of, tool_calls_of
from sojourn.ports.runtime import RuntimeOutput, TurnInput
from sojourn.runtimes.calling import call_all
from sojourn.runtimes.native.compaction import shortened, size_of_request
from sojourn.runtimes.native.line import Answer, Line
from sojourn.runtimes.native.spending import Spending
from sojourn.runtimes.native.translate import from_response

MakeRoom = Callable[["Loop", float], AsyncGenerator[RuntimeOutput, None]]
_NEAR = 0.85  # of the room: then the oldest part goes
_LEAVE, _LEAVE_LESS = 0.4, 0.2  # how much of the room the past may take afterwards
_MOST_EMPTY = 2  # answers without a word before it counts as a failure


class Loop:
    """One conversation with one model. `opening` is what it was told, `since` what came of it."""

    def __init__(
        self,
        line: Line,
        turn: TurnInput,
        opening: Sequence[ModelMessage],
        spending: Spending,
        *,
        window: int,
        steps: int,
        make_room: MakeRoom | None = None,
        ratio: float = 1.0,
    ) -> None:
        self.line, self.turn, self.spending = line, turn, spending
        self.opening, self.since = list(opening), list[ModelMessage]()
        self.ratio = ratio  # tokens as the model counts them, over tokens as we do
        self.room = window - (line.max_tokens or min(8_192, window // 4))
        self._steps, self._make_room = steps, make_room
        self._spoken = False  # whether text was shown whose end the next text must not run into

    def needed(self) -> int:
        """About how many tokens the next request takes."""
        return int(self.ratio * size_of_request([*self.opening, *self.since], self.turn.tools))

    async def run(self) -> AsyncGenerator[RuntimeOutput, None]:
        empty = 0
        for step in range(1, self._steps + 1):
            answer = Answer()
            async with aclosing(self._step(answer, no_calls=step == self._steps)) as said:
                async for item in said:
                    yield item
            response = distinct(answer.response)
            self.spending.add(response)
            message = from_response(response, extra=json.dumps({"model": response.model_name}))
            if not text_of(message) and not tool_calls_of(message):
                empty += 1
                self._check_empty(response, empty)
                continue
            yield message
            self.since.append(response)
            async with aclosing(self._tools(tool_calls_of(message))) as results:
                async for item in results:
                    yield item
            self.turn.may_spend(self.spending.cost_usd or 0.0)
            steered = self.turn.steered()
            if steered:
                self.since.append(ModelRequest(parts=[UserPromptPart(content=text) for text in steered]))
            elif not tool_calls_of(message):
                return

    # asking
    async def _step(self, answer: Answer, *, no_calls: bool) -> AsyncGenerator[RuntimeOutput, None]:
        if self.needed() > self.room * _NEAR:
            async with aclosing(self._roomier(_LEAVE)) as making:
                async for item in making:
                    yield item
        try:
            async with aclosing(self._said(answer, no_calls)) as said:
                async for item in said:
                    yield item
        except ContextFull:  # the provider counts in another way than we do
            before = self.needed()
            async with aclosing(self._roomier(_LEAVE_LESS)) as making:
                async for item in making:
                    yield item
            if self.needed() >= before:
                raise
            async with aclosing(self._said(answer, no_calls)) as said:
                async for item in said:
                    yield item

    async def _roomier(self, leave: float) -> AsyncGenerator[RuntimeOutput, None]:
        if self._make_room is not None:
            async with aclosing(self._make_room(self, leave)) as making:
                async for item in making:
                    yield item
        if self.needed() > self.room * _NEAR or leave < _LEAVE:
            self.since = shortened(self.since)

    async def _said(self, answer: Answer, no_calls: bool) -> AsyncGenerator[RuntimeOutput, None]:
        guessed, first = size_of_request([*self.opening, *self.since], self.turn.tools), True
        asking = self.line.ask([*self.opening, *self.since], self.turn.tools, answer, no_calls=no_calls)
        async with aclosing(asking) as heard:
            async for item in heard:
                if isinstance(item, Chunk):
                    if first and self._spoken:
                        yield Chunk("\n\n")
                    first, self._spoken = False, True
                yield item
        if answer.response is not None and (counted := answer.response.usage.input_tokens) > 200:
            self.ratio = min(4.0, max(0.5, counted / guessed))

    def _check_empty(self, response: ModelResponse, times: int) -> None:
        reason = response.finish_reason
        if reason == "content_filter":
            raise RuntimeFailed(
                f"The provider of {self.line.choice} held the answer back.", hint="Say it in other words."
            )
        if reason == "length":
            raise RuntimeFailed(
                f"{self.line.choice} used up its whole answer before the first word.", hint="Raise model.max_tokens."
            )
        if times >= _MOST_EMPTY:
            raise RuntimeFailed(f"{self.line.choice} said nothing.", hint="Say it again, or use another model.")

    # doing
    async def _tools(self, asked: Sequence[ToolCall]) -> AsyncGenerator[Progress | Message, None]:
        if not asked:
            return
        results: dict[str, str] = {}
        async with aclosing(call_all(asked, self.turn.tools, self.turn.workspace)) as running:
            async for item in running:
                if isinstance(item, Message):
                    results[item.tool_call_id or ""] = text_of(item)
                yield item
        self.since.append(
            ModelRequest(
                parts=[
                    ToolReturnPart(tool_name=call.name, content=results[call.id], tool_call_id=call.id)
                    for call in asked
                ]
            )
        )


def distinct(response: ModelResponse | None) -> ModelResponse:
    """The answer with an id of its own for every call; some small servers number them all alike."""
    assert response is not None
    seen: set[str] = set()
    parts = []
    for part in response.parts:
        if isinstance(part, ToolCallPart):
            id = part.tool_call_id
            while id in seen:
                id += "_"
            seen.add(id)
            part = part if id == part.tool_call_id else replace(part, tool_call_id=id)
        parts.append(part)
    return replace(response, parts=parts)
