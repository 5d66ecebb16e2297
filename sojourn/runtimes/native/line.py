"""The line to one model: one request, streamed, with patience and another try where that makes sense."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncGenerator, Iterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from pydantic_ai.direct import model_request_stream
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    ModelResponseStreamEvent,
    PartDeltaEvent,
    PartStartEvent,
    TextPart,
    TextPartDelta,
    ThinkingPart,
    ThinkingPartDelta,
)
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from sojourn.core.events import Chunk, Progress
from sojourn.core.messages import Message
from sojourn.ports.tool import Tool
from sojourn.runtimes.models.choice import Choice
from sojourn.runtimes.native.failures import FOREIGN, asked_to_wait, may_pass, told
from sojourn.runtimes.native.translate import to_model
from sojourn.text.ansi import ControlStripper

# Google's library closes its connection only if it is cancelled while it reads; it needs a moment to get there.
_SETTLING = 5  # rounds of the event loop
LONGEST_WAIT = 60.0  # a provider that wants more is busy for good, as far as this turn goes


@dataclass(frozen=True, slots=True, kw_only=True)
class Patience:
    """How often to try again, and how long to wait before."""

    retries: int = 4
    first_wait: float = 1.0  # doubled with each try

    def wait(self, attempt: int, asked: float | None) -> float:
        if asked is not None:
            return max(0.0, asked)
        doubled = float(self.first_wait * 2 ** (attempt - 1))
        return min(30.0, doubled) * random.uniform(0.8, 1.2)


@dataclass(slots=True)
class Answer:
    """What one request gave, when it is over."""

    response: ModelResponse | None = None


class Line:
    """One model and how to talk to it."""

    def __init__(self, model: Model, choice: Choice, patience: Patience, *, max_tokens: int = 0) -> None:
        self.model, self.choice, self.patience, self.max_tokens = model, choice, patience, max_tokens

    def _settings(self, max_tokens: int, silent: bool) -> ModelSettings:
        made = ModelSettings(max_retries=0)  # trying again is ours: the library's tries are not seen by anybody
        if most := max_tokens or self.max_tokens:
            made["max_tokens"] = most
        if silent:
            made["tool_choice"] = "none"
        if self.choice.provider.protocol == "anthropic":
            made["cache"] = True  # the beginning of a turn is sent again with every step
        return made

    async def ask(
        self,
        messages: Sequence[ModelMessage],
        tools: Sequence[Tool],
        answer: Answer,
        *,
        max_tokens: int = 0,
        no_calls: bool = False,
    ) -> AsyncGenerator[Chunk | Progress, None]:
        """Words and thoughts as they come; then `answer` is filled. A request that showed nothing is tried again."""
        settings = self._settings(max_tokens, bool(tools) and no_calls)
        attempt = 0
        while True:
            attempt += 1
            shown = False
            try:
                async with aclosing(apart(self._once(messages, tools, answer, settings))) as heard:
                    async for item in heard:
                        shown = True
                        yield item
                return
            except FOREIGN as error:
                wait = self.patience.wait(attempt, asked_to_wait(error))
                if shown or not may_pass(error) or attempt > self.patience.retries or wait > LONGEST_WAIT:
                    raise told(error, self.choice) from error
                reason = str(told(error, self.choice))
            yield Progress("queued", {"reason": reason, "attempt": attempt, "seconds": round(wait, 2)})
            await asyncio.sleep(wait)

    async def _once(
        self, messages: Sequence[ModelMessage], tools: Sequence[Tool], answer: Answer, settings: ModelSettings
    ) -> AsyncGenerator[Chunk | Progress, None]:
        voice = Voice()
        async with model_request_stream(
            self.model,
            messages,
            model_settings=settings,
            model_request_parameters=ModelRequestParameters(function_tools=[_definition(one) for one in tools]),
        ) as stream:
            async for event in stream:
                for item in voice.heard(event):
                    yield item
            for item in voice.end():
                yield item
            answer.response = stream.get()

    async def complete(self, instructions: str, text: str, *, max_tokens: int = 0) -> ModelResponse:
        """One plain question, outside of any conversation."""
        asked = to_model([Message(role="system", content=instructions), Message(role="user", content=text)])
        answer = Answer()
        async with aclosing(self.ask(asked, (), answer, max_tokens=max_tokens)) as heard:
            async for _ in heard:
                pass
        assert answer.response is not None
        return answer.response


async def apart(items: AsyncGenerator[Chunk | Progress, None]) -> AsyncGenerator[Chunk | Progress, None]:
    """The same items, drawn by a task of their own: closing this cancels it, which ends every provider's line at once.

    Closed from outside, some providers' streams would stay open until the garbage collector finds them.
    """
    drawn: asyncio.Queue[Chunk | Progress | None] = asyncio.Queue()

    async def draw() -> None:
        async with aclosing(items):
            async for item in items:
                drawn.put_nowait(item)

    task = asyncio.create_task(draw())
    task.add_done_callback(lambda _: drawn.put_nowait(None))
    try:
        while (item := await drawn.get()) is not None:
            yield item
        await task
    finally:
        for _ in range(_SETTLING):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class Voice:
    """What is heard of an answer: text to show, thoughts to mention. Kinds not known here are passed over."""

    def __init__(self) -> None:
        self._text, self._thought = ControlStripper(), ControlStripper()

    def heard(self, event: ModelResponseStreamEvent) -> Iterator[Chunk | Progress]:
        piece: object = None
        if isinstance(event, PartStartEvent):
            piece = event.part
        elif isinstance(event, PartDeltaEvent):
            piece = event.delta
        if isinstance(piece, TextPart):
            yield from _chunk(self._text.feed(piece.content))
        elif isinstance(piece, TextPartDelta):
            yield from _chunk(self._text.feed(piece.content_delta))
        elif isinstance(piece, ThinkingPart):
            yield from _thinking(self._thought.feed(piece.content))
        elif isinstance(piece, ThinkingPartDelta):
            yield from _thinking(self._thought.feed(piece.content_delta or ""))

    def end(self) -> Iterator[Chunk | Progress]:
        yield from _thinking(self._thought.end())
        yield from _chunk(self._text.end())


def _chunk(text: str) -> Iterator[Chunk]:
    if text:
        yield Chunk(text)


def _thinking(text: str) -> Iterator[Progress]:
    if text:
        yield Progress("thinking", {"text": text})


def _definition(tool: Tool) -> ToolDefinition:
    return ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=dict(tool.parameters))
