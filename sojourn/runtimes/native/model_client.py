"""Model client: streams requests to one model, with retries by `retry_policy`; loads its provider's SDK alone."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from typing import TYPE_CHECKING, Any

import httpx2
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
from sojourn.core.messages import Message, text_of
from sojourn.core.progress import QueuedDetail
from sojourn.core.settings import Settings
from sojourn.lazy import Lazy
from sojourn.ports.tool import Tool
from sojourn.runtimes.models.selection import ModelChoice, Protocol
from sojourn.runtimes.native.errors import FOREIGN, to_error
from sojourn.runtimes.native.retry_policy import RetryPolicy
from sojourn.runtimes.native.translate import from_response, to_model
from sojourn.text.ansi import ControlStripper

if TYPE_CHECKING:
    from sojourn.runtimes.native.provider_anthropic import build_model
    from sojourn.runtimes.native.provider_google import build_model  # noqa: F811
    from sojourn.runtimes.native.provider_openai import build_model  # noqa: F401,F811

ModelOutput = Chunk | Progress | ModelResponse
BuildModel = Callable[[ModelChoice, httpx2.AsyncClient, str], Model]

NO_KEY = "no-key-needed"
# By name: each provider's SDK takes a second to import, and a turn needs one of them.
BUILDERS: Mapping[Protocol, Lazy[BuildModel]] = {
    "openai": Lazy("sojourn.runtimes.native.provider_openai:build_model"),
    "anthropic": Lazy("sojourn.runtimes.native.provider_anthropic:build_model"),
    "google": Lazy("sojourn.runtimes.native.provider_google:build_model"),
}
# Google's SDK closes its connection only if it is cancelled while it reads; it needs a moment to get there.
_SETTLE_ROUNDS = 5  # of the event loop


class ModelClient:
    """Streams requests to one model and retries those that failed before anything was shown."""

    def __init__(self, model: Model, choice: ModelChoice, retry_policy: RetryPolicy, *, max_tokens: int = 0) -> None:
        self.model, self.choice, self.max_tokens = model, choice, max_tokens
        self._retry_policy = retry_policy

    def _settings(self, max_tokens: int, forbid_calls: bool) -> ModelSettings:
        settings = ModelSettings(max_retries=0)  # we retry: a retry inside the library would not be shown
        if limit := max_tokens or self.max_tokens:
            settings["max_tokens"] = limit
        if forbid_calls:
            settings["tool_choice"] = "none"
        if self.choice.provider.protocol == "anthropic":
            settings["cache"] = True  # the beginning of a turn is sent again with every step
        return settings

    async def ask(
        self, messages: Sequence[ModelMessage], tools: Sequence[Tool], *, max_tokens: int = 0, no_calls: bool = False
    ) -> AsyncGenerator[ModelOutput, None]:
        """Yields text and thoughts as they arrive, then the whole response. Retries only while nothing was shown."""
        settings = self._settings(max_tokens, bool(tools) and no_calls)
        attempt = 0
        while True:
            attempt += 1
            shown = False
            try:
                async with aclosing(in_own_task(self._ask_once(messages, tools, settings))) as items:
                    async for item in items:
                        shown = True
                        yield item
                return
            except FOREIGN as error:
                delay = None if shown else self._retry_policy.delay_before_retry(attempt, error)
                if delay is None:
                    raise to_error(error, self.choice) from error
                reason = str(to_error(error, self.choice))
            yield Progress(
                "queued",
                QueuedDetail(reason=reason, attempt=attempt, of=self._retry_policy.retries, seconds=round(delay, 2)),
            )
            await asyncio.sleep(delay)

    async def _ask_once(
        self, messages: Sequence[ModelMessage], tools: Sequence[Tool], settings: ModelSettings
    ) -> AsyncGenerator[ModelOutput, None]:
        decoder = StreamDecoder()
        parameters = ModelRequestParameters(function_tools=[_to_definition(one) for one in tools])
        async with model_request_stream(
            self.model, messages, model_settings=settings, model_request_parameters=parameters
        ) as stream:
            async for event in stream:
                for item in decoder.decode(event):
                    yield item
            for item in decoder.finish():
                yield item
            response = stream.get()
        yield response

    async def complete(self, instructions: str, text: str, *, max_tokens: int = 0) -> ModelResponse:
        """Sends one request without tools and without a conversation; returns the whole response."""
        request = to_model([Message(role="system", content=instructions), Message(role="user", content=text)])
        async with aclosing(self.ask(request, (), max_tokens=max_tokens)) as items:
            return [item async for item in items if isinstance(item, ModelResponse)][-1]

    async def complete_text(self, instructions: str, text: str, *, max_tokens: int = 0) -> str:
        """Like `complete`; returns the text alone."""
        return text_of(from_response(await self.complete(instructions, text, max_tokens=max_tokens))).strip()


def open_client(
    load: Callable[[Lazy[Any]], Any],
    choice: ModelChoice,
    http: httpx2.AsyncClient,
    settings: Settings,
    first_wait: float,
) -> ModelClient:
    """Returns a client that talks to the chosen model through `http`.

    first_wait: seconds before the first retry
    """
    build_model: BuildModel = load(BUILDERS[choice.provider.protocol])
    model = build_model(choice, http, choice.key.reveal() or NO_KEY)
    retry_policy = RetryPolicy(retries=settings["model.retries"], first_wait=first_wait)
    return ModelClient(model, choice, retry_policy, max_tokens=settings["model.max_tokens"])


async def in_own_task(items: AsyncGenerator[ModelOutput, None]) -> AsyncGenerator[ModelOutput, None]:
    """Yields the same items, read by a task of their own: closing this generator cancels that task, and the
    cancellation closes the connection of every provider at once.

    Closed from outside, some providers' streams would stay open until the garbage collector finds them.
    """
    queue: asyncio.Queue[ModelOutput | None] = asyncio.Queue()

    async def read_items() -> None:
        async with aclosing(items):
            async for item in items:
                queue.put_nowait(item)

    task = asyncio.create_task(read_items())
    task.add_done_callback(lambda _: queue.put_nowait(None))
    try:
        while (item := await queue.get()) is not None:
            yield item
        await task
    finally:
        for _ in range(_SETTLE_ROUNDS):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


class StreamDecoder:
    """Turns the library's stream events into text and thoughts; skips kinds of events it does not know."""

    def __init__(self) -> None:
        self._text, self._thought = ControlStripper(), ControlStripper()

    def decode(self, event: ModelResponseStreamEvent) -> Iterator[Chunk | Progress]:
        match event:
            case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
                yield from _to_chunk(self._text.feed(text))
            case PartStartEvent(part=ThinkingPart(content=thought)):
                yield from _to_thinking(self._thought.feed(thought))
            case PartDeltaEvent(delta=ThinkingPartDelta(content_delta=str(thought))):
                yield from _to_thinking(self._thought.feed(thought))

    def finish(self) -> Iterator[Chunk | Progress]:
        yield from _to_thinking(self._thought.end())
        yield from _to_chunk(self._text.end())


def _to_chunk(text: str) -> Iterator[Chunk]:
    if text:
        yield Chunk(text)


def _to_thinking(text: str) -> Iterator[Progress]:
    if text:
        yield Progress("thinking", {"text": text})


def _to_definition(tool: Tool) -> ToolDefinition:
    return ToolDefinition(name=tool.name, description=tool.description, parameters_json_schema=dict(tool.parameters))
