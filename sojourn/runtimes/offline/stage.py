"""The stage: what acts puts things on it, whoever watches takes them off, in order."""

from __future__ import annotations

import asyncio
import json
import secrets
from collections.abc import AsyncGenerator, Coroutine, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import Any

from sojourn.core.events import Chunk, Progress
from sojourn.core.messages import Json, Message, ToolCall, assistant, text_of
from sojourn.ports.runtime import RuntimeOutput, TurnInput
from sojourn.runtimes.calling import call_all
from sojourn.text.ansi import strip_control


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What a tool gave back. `missing`: there is no such tool in this session."""

    text: str = ""
    ok: bool = False
    missing: bool = False
    facts: Mapping[str, Json] = field(default_factory=dict)


class Stage:
    """For one turn: saying things and using tools, seen as they happen."""

    def __init__(self, turn: TurnInput) -> None:
        self.turn = turn
        self._shown: asyncio.Queue[RuntimeOutput | None] = asyncio.Queue()
        self._said: list[str] = []

    # for those who act
    def say(self, text: str) -> None:
        """A piece of the answer. It is shown line by line, and kept whole at the end."""
        clean = strip_control(text)
        for line in clean.splitlines(keepends=True):
            self._shown.put_nowait(Chunk(line))
        self._said.append(clean)

    def show(self, item: RuntimeOutput) -> None:
        self._shown.put_nowait(item)

    def has(self, tool: str) -> bool:
        return any(one.name == tool for one in self.turn.tools)

    async def use(self, tool: str, **arguments: Json) -> Outcome:
        """Calls a tool as a model would, so that the transcript reads the same."""
        if not self.has(tool):
            return Outcome(missing=True)
        call = ToolCall(
            id=f"call_{secrets.token_hex(8)}", name=tool, arguments=json.dumps(arguments, ensure_ascii=False)
        )
        self._keep([call])
        text, ended = "", dict[str, Json]()
        async with aclosing(call_all([call], self.turn.tools, self.turn.workspace)) as running:
            async for item in running:
                self.show(item)
                if isinstance(item, Message):
                    text = text_of(item)
                elif isinstance(item, Progress):
                    ended = dict(item.detail)
        return Outcome(text=strip_control(text), ok=ended.get("status") == "completed", facts=ended.get("facts") or {})

    def _keep(self, calls: list[ToolCall]) -> None:
        said = "".join(self._said)
        self._said.clear()
        if said.strip() or calls:
            self.show(assistant(said or None, calls, finish_reason="tool_calls" if calls else "stop"))

    # for those who watch
    async def play(self, acting: Coroutine[Any, Any, None]) -> AsyncGenerator[RuntimeOutput, None]:
        """Everything that happens while `acting` runs. Cancelled, it stops that too and gives what is left."""
        task = asyncio.create_task(acting)
        task.add_done_callback(lambda _: self._shown.put_nowait(None))
        try:
            while (item := await self._shown.get()) is not None:
                yield item
            await task
            self._keep([])
            while not self._shown.empty() and (item := self._shown.get_nowait()) is not None:
                yield item
        except asyncio.CancelledError:
            task.cancel()
            await asyncio.wait({task})
            while not self._shown.empty():
                if (item := self._shown.get_nowait()) is not None:
                    yield item
            raise
        finally:
            task.cancel()
            await asyncio.wait({task})
