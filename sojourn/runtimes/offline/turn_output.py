"""Queue between the rules (producer) and `run()` (consumer), and the reply texts of replies.toml."""

from __future__ import annotations

import asyncio
import json
import secrets
import tomllib
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from sojourn.core.events import Chunk, Progress
from sojourn.core.messages import Json, Message, ToolCall, assistant, text_of
from sojourn.ports.runtime import RuntimeOutput, TurnInput
from sojourn.runtimes.offline.intents import is_chinese
from sojourn.runtimes.tool_execution import run_tool_calls
from sojourn.text.ansi import strip_control


@cache
def load_replies() -> Mapping[str, Mapping[str, str]]:
    """Returns every reply text by its name, then by its language."""
    return tomllib.loads(files("sojourn.runtimes.offline").joinpath("replies.toml").read_text("utf-8"))


def render_reply(name: str, chinese: bool, **values: object) -> str:
    """Renders one reply text."""
    return load_replies()[name]["zh" if chinese else "en"].format(**values)


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """Result of a tool call. `missing`: the session has no such tool."""

    text: str = ""
    ok: bool = False
    missing: bool = False
    facts: Mapping[str, Json] = field(default_factory=dict)


class TurnOutput:
    """Output of one turn: text and tool calls, streamed as they happen."""

    def __init__(self, turn: TurnInput) -> None:
        self.turn, self.chinese = turn, is_chinese(turn.said)
        self._queue: asyncio.Queue[RuntimeOutput | None] = asyncio.Queue()
        self._text: list[str] = []

    # for the producer
    def write(self, text: str) -> None:
        """Adds text to the answer; it is shown line by line."""
        clean = strip_control(text)
        for line in clean.splitlines(keepends=True):
            self._queue.put_nowait(Chunk(line))
        self._text.append(clean)

    def reply(self, name: str, **values: object) -> None:
        """Adds one of the reply texts, in the language of the request."""
        self.write(render_reply(name, self.chinese, **values) + "\n")

    def has_tool(self, tool: str) -> bool:
        return any(one.name == tool for one in self.turn.tools)

    async def call_tool(self, tool: str, **arguments: Json) -> ToolOutcome:
        """Calls a tool as a model does, so that the transcript has the same form."""
        if not self.has_tool(tool):
            return ToolOutcome(missing=True)
        call = ToolCall(
            id=f"call_{secrets.token_hex(8)}", name=tool, arguments=json.dumps(arguments, ensure_ascii=False)
        )
        self._end_message([call])
        text, ended = "", dict[str, Json]()
        async with aclosing(run_tool_calls([call], self.turn.tools, self.turn.workspace)) as items:
            async for item in items:
                self._queue.put_nowait(item)
                if isinstance(item, Message):
                    text = text_of(item)
                elif isinstance(item, Progress):
                    ended = dict(item.detail)
        return ToolOutcome(
            text=strip_control(text), ok=ended.get("status") == "completed", facts=ended.get("facts") or {}
        )

    def _end_message(self, calls: list[ToolCall]) -> None:
        text = "".join(self._text)
        self._text.clear()
        if text.strip() or calls:
            reason = "tool_calls" if calls else "stop"
            self._queue.put_nowait(assistant(text or None, calls, finish_reason=reason))

    # for the consumer
    async def stream(self, work: Coroutine[Any, Any, None]) -> AsyncGenerator[RuntimeOutput, None]:
        """Yields what `work` puts out. When it is cancelled, it cancels `work` and yields what is left."""
        task = asyncio.create_task(work)
        task.add_done_callback(lambda _: self._queue.put_nowait(None))
        try:
            while (item := await self._queue.get()) is not None:
                yield item
            await task
            self._end_message([])
            for item in self._drain():
                yield item
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            for item in self._drain():
                yield item
            raise
        finally:
            task.cancel()
            await asyncio.wait({task})

    def _drain(self) -> list[RuntimeOutput]:
        items = [self._queue.get_nowait() for _ in range(self._queue.qsize())]
        return [item for item in items if item is not None]
