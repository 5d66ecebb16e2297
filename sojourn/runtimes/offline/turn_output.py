"""Turn output: the queue between the rules (producer) and `run()` (consumer), and the texts of replies.toml."""

from __future__ import annotations

import asyncio
import json
import secrets
import tomllib
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import aclosing
from functools import cache
from importlib.resources import files
from typing import Any

from sojourn.core.events import Chunk, Progress
from sojourn.core.messages import Json, Message, ToolCall, assistant, text_of
from sojourn.ports.runtime import RuntimeOutput, TurnInput
from sojourn.ports.tool import ToolResult
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


class OfflineOutput:
    """Output of one turn: text and tool calls, streamed as they happen."""

    def __init__(self, turn: TurnInput) -> None:
        self.turn, self.chinese = turn, is_chinese(turn.said)
        self._queue: asyncio.Queue[RuntimeOutput | None] = asyncio.Queue()
        self._text: list[str] = []

    def write(self, text: str) -> None:
        """Adds text to the answer, in chunks of one line."""
        clean = strip_control(text)
        for line in clean.splitlines(keepends=True):
            self._queue.put_nowait(Chunk(line))
        self._text.append(clean)

    def reply(self, name: str, **values: object) -> None:
        """Adds one of the reply texts, in the language of the request."""
        self.write(render_reply(name, self.chinese, **values) + "\n")

    def has_tool(self, tool: str) -> bool:
        return any(one.name == tool for one in self.turn.tools)

    async def call_tool(self, tool: str, **arguments: Json) -> ToolResult:
        """Calls a tool as a model does, so that the transcript has the same form. Replies if it is missing or fails."""
        if not self.has_tool(tool):
            self.reply("no_tool", tool=tool)
            return ToolResult(text="", ok=False)
        arguments_text = json.dumps(arguments, ensure_ascii=False)
        call = ToolCall(id=f"call_{secrets.token_hex(8)}", name=tool, arguments=arguments_text)
        self._end_message([call])
        text, detail = "", dict[str, Json]()
        async with aclosing(run_tool_calls([call], self.turn.tools, self.turn.workspace)) as items:
            async for item in items:
                self._queue.put_nowait(item)
                if isinstance(item, Message):
                    text = strip_control(text_of(item))
                elif isinstance(item, Progress):
                    detail = dict(item.detail)
        result = ToolResult(text=text, ok=detail.get("status") == "completed", facts=detail.get("facts") or {})
        if not result.ok and "exit_code" not in (result.facts or {}):
            self.reply("failed", why=text)
        return result

    def _end_message(self, calls: list[ToolCall]) -> None:
        text = "".join(self._text)
        self._text.clear()
        if text.strip() or calls:
            reason = "tool_calls" if calls else "stop"
            self._queue.put_nowait(assistant(text or None, calls, finish_reason=reason))

    async def stream(self, work: Coroutine[Any, Any, None]) -> AsyncGenerator[RuntimeOutput, None]:
        """Runs `work` and yields its output. When the stream is cancelled, it cancels `work` and yields the rest."""

        async def produce() -> None:
            await work
            self._end_message([])

        task = asyncio.create_task(produce())
        task.add_done_callback(lambda _: self._queue.put_nowait(None))
        try:
            while (item := await self._queue.get()) is not None:
                yield item
            await task
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            while not self._queue.empty():
                if (item := self._queue.get_nowait()) is not None:
                    yield item
            raise
        finally:
            task.cancel()
            await asyncio.wait({task})
