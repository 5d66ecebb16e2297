"""Agent loop: asks the model, runs the tools it calls, and asks again until it calls none."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart, UserPromptPart

from sojourn.core.errors import ContextFull, RuntimeFailed
from sojourn.core.events import Chunk, Progress
from sojourn.core.messages import Message, ToolCall, text_of, tool_calls_of
from sojourn.ports.runtime import RuntimeOutput, TurnInput
from sojourn.runtimes.native.compaction import request_tokens, shorten_results
from sojourn.runtimes.native.model_client import ModelClient
from sojourn.runtimes.native.translate import from_response
from sojourn.runtimes.native.usage import UsageTotals
from sojourn.runtimes.tool_execution import run_tool_calls

StepOutput = RuntimeOutput | ModelResponse
MakeRoom = Callable[["AgentLoop", float], AsyncGenerator[RuntimeOutput, None]]
_COMPACT_AT = 0.85  # share of the available tokens at which the oldest messages are summarised
_KEEP_SHARE, _KEEP_SHARE_AFTER_REFUSAL = 0.4, 0.2  # share that the history may take afterwards
_MAX_EMPTY_REPLIES = 2  # replies in a row
_MAX_ANSWER_TOKENS = 8_192  # reserved for the answer when model.max_tokens is not set


@dataclass(slots=True, kw_only=True)
class AgentLoop:
    """One conversation with one model. `opening` is the first request, `since` the messages that followed."""

    client: ModelClient
    turn: TurnInput
    opening: list[ModelMessage]
    since: list[ModelMessage] = field(default_factory=list)
    usage: UsageTotals
    window: int
    steps: int
    parallel_calls: int
    ratio: float  # the model's token count over our estimate
    make_room: MakeRoom | None = None  # summarises the beginning of the conversation
    _has_text: bool = False  # text was shown; the next text starts a new paragraph

    @property
    def room(self) -> int:
        """The tokens for a request: the window without what is reserved for the answer."""
        return self.window - (self.client.max_tokens or min(_MAX_ANSWER_TOKENS, self.window // 4))

    def tokens_needed(self) -> int:
        """Estimates the tokens of the next request."""
        return int(self.ratio * request_tokens([*self.opening, *self.since], self.turn.tools))

    def has_room(self, leave: float) -> bool:
        """Whether the next request fits; after a refusal it has to be smaller than the estimate says."""
        return leave == _KEEP_SHARE and self.tokens_needed() <= self.room * _COMPACT_AT

    async def run(self) -> AsyncGenerator[RuntimeOutput, None]:
        empty = 0
        for step in range(1, self.steps + 1):
            response: ModelResponse | None = None
            async with aclosing(self._step(no_calls=step == self.steps)) as items:
                async for item in items:
                    if isinstance(item, ModelResponse):
                        response = with_unique_call_ids(item)
                    else:
                        yield item
            assert response is not None
            self.usage.add(response)
            message = from_response(response, extra=json.dumps({"model": response.model_name}))
            if not text_of(message) and not tool_calls_of(message):
                empty += 1
                self._check_empty(response, empty)
                continue
            yield message
            self.since.append(response)
            async with aclosing(self._run_tools(tool_calls_of(message))) as results:
                async for item in results:
                    yield item
            self.turn.may_spend(self.usage.cost_usd or 0.0)
            steered = self.turn.steered()
            if steered:
                self.since.append(ModelRequest(parts=[UserPromptPart(content=text) for text in steered]))
            elif not tool_calls_of(message):
                return

    # requests
    async def _step(self, *, no_calls: bool) -> AsyncGenerator[StepOutput, None]:
        if self.tokens_needed() > self.room * _COMPACT_AT:
            async with aclosing(self._compact(_KEEP_SHARE)) as items:
                async for item in items:
                    yield item
        try:
            async with aclosing(self._ask(no_calls)) as items:
                async for item in items:
                    yield item
        except ContextFull:  # the provider counts more tokens than we estimate
            before = self.tokens_needed()
            async with aclosing(self._compact(_KEEP_SHARE_AFTER_REFUSAL)) as items:
                async for item in items:
                    yield item
            if self.tokens_needed() >= before:
                raise
            async with aclosing(self._ask(no_calls)) as items:
                async for item in items:
                    yield item

    async def _compact(self, leave: float) -> AsyncGenerator[StepOutput, None]:
        if self.make_room is not None:
            async with aclosing(self.make_room(self, leave)) as items:
                async for item in items:
                    yield item
        if self.tokens_needed() > self.room * _COMPACT_AT or leave < _KEEP_SHARE:
            self.since = shorten_results(self.since)

    async def _ask(self, no_calls: bool) -> AsyncGenerator[StepOutput, None]:
        messages, first = [*self.opening, *self.since], True
        async with aclosing(self.client.ask(messages, self.turn.tools, no_calls=no_calls)) as items:
            async for item in items:
                if isinstance(item, Chunk):
                    if first and self._has_text:
                        yield Chunk("\n\n")
                    first, self._has_text = False, True
                elif isinstance(item, ModelResponse) and (counted := item.usage.input_tokens) > 200:
                    self.ratio = limit_ratio(counted / request_tokens(messages, self.turn.tools))
                yield item

    def _check_empty(self, response: ModelResponse, times: int) -> None:
        reason = response.finish_reason
        if reason == "content_filter":
            raise RuntimeFailed(
                f"The provider of {self.client.choice} withheld the answer.", hint="Rephrase the request."
            )
        if reason == "length":
            raise RuntimeFailed(
                f"{self.client.choice} used all its output tokens before the first word.",
                hint="Raise model.max_tokens.",
            )
        if times >= _MAX_EMPTY_REPLIES:
            raise RuntimeFailed(f"{self.client.choice} sent an empty answer.", hint="Try again, or use another model.")

    # tools
    async def _run_tools(self, calls: Sequence[ToolCall]) -> AsyncGenerator[Progress | Message, None]:
        if not calls:
            return
        results: dict[str, str] = {}
        async with aclosing(
            run_tool_calls(calls, self.turn.tools, self.turn.workspace, at_once=self.parallel_calls)
        ) as running:
            async for item in running:
                if isinstance(item, Message):
                    results[item.tool_call_id or ""] = text_of(item)
                yield item
        parts = [ToolReturnPart(tool_name=one.name, content=results[one.id], tool_call_id=one.id) for one in calls]
        self.since.append(ModelRequest(parts=parts))


def limit_ratio(ratio: float) -> float:
    """Limits the ratio of the model's token count to our estimate: some servers report nonsense."""
    return min(4.0, max(0.5, ratio))


def with_unique_call_ids(response: ModelResponse) -> ModelResponse:
    """Gives every tool call an id of its own; some small servers number them all alike."""
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
