"""ScriptedRuntime: plays what a test has written down for each request, so that a turn goes exactly one way.

runtime = ScriptedRuntime()
runtime.on("tidy up", Call("write_file", {"path": "a"}), Say("Done."))
runtime.on("count", Say("one "), Gate("go"), Say("two"))     # waits until the test opens `runtime.gate("go")`
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncGenerator, Callable, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Literal

from sojourn.core.errors import SojournError
from sojourn.core.events import Chunk, Done, Progress
from sojourn.core.messages import Json, ToolCall, assistant, tool_result
from sojourn.ports.runtime import RuntimeOutput, RuntimeStatus, TurnInput
from sojourn.ports.tool import Question, ToolResult


@dataclass(frozen=True, slots=True)
class Say:
    """Shows the text in pieces, one for each word; unless `kept` is False, keeps all of it as a message."""

    text: str
    kept: bool = True


@dataclass(frozen=True, slots=True)
class Call:
    """Calls one of the turn's tools and keeps the call and its result."""

    tool: str
    arguments: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ask:
    """Asks the person, and says what they chose."""

    question: Question


@dataclass(frozen=True, slots=True)
class Gate:
    """Waits until the test opens the gate of that name."""

    name: str


@dataclass(frozen=True, slots=True)
class Listen:
    """Says what was said to the running turn meanwhile."""


@dataclass(frozen=True, slots=True)
class Fail:
    """Fails with this error: one of ours, or any other exception."""

    error: Exception


@dataclass(frozen=True, slots=True)
class Spend:
    """Says what the turn has cost so far, which may be too much."""

    usd: float


@dataclass(frozen=True, slots=True)
class Do:
    """Whatever else: makes items of the turn's input."""

    make: Callable[[TurnInput], RuntimeOutput]


@dataclass(frozen=True, slots=True)
class Give:
    """Yields an item as it is: Remember, Observed, Compacted, a Message, a Done that comes too early."""

    item: RuntimeOutput


@dataclass(frozen=True, slots=True)
class Vanish:
    """Ends without saying that it is done."""


Step = Say | Call | Ask | Gate | Listen | Fail | Spend | Do | Give | Vanish


class Door:
    """Closed until somebody opens it, in this thread or another; then open for good."""

    def __init__(self) -> None:
        self._lock, self._open = threading.Lock(), False
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    def open(self) -> None:
        with self._lock:
            self._open = True
            for loop, event in self._waiting:
                loop.call_soon_threadsafe(event.set)

    async def passed(self) -> None:
        event = asyncio.Event()
        with self._lock:
            if self._open:
                return
            self._waiting.append((asyncio.get_running_loop(), event))
        await event.wait()


class ScriptedRuntime:
    """Plays its scripts. What nobody wrote a script for is repeated, word by word."""

    takes_tool_history = True
    steers: Literal[True] = True

    def __init__(self, name: str = "scripted", ready: RuntimeStatus | None = None) -> None:
        self.name, self.label = name, f"Scripted ({name})"
        self.seen: list[TurnInput] = []
        self.usage: dict[str, Json] = {"input_tokens": 7, "output_tokens": 5}
        self.closed = False
        self.otherwise: tuple[Step, ...] | None = None  # what to do when nothing is written for what is said
        self._ready = ready or RuntimeStatus(ok=True, detail="plays what a test has written", models=("scripted-1",))
        self._scripts: dict[str, tuple[Step, ...]] = {}
        self._doors: dict[str, Door] = {}
        self._numbers = count(1)

    def on(self, said: str, *steps: Step) -> None:
        """What to do when exactly this is said."""
        self._scripts[said] = steps

    def gate(self, name: str) -> Door:
        return self._doors.setdefault(name, Door())

    async def ready(self) -> RuntimeStatus:
        return self._ready

    async def run(self, turn: TurnInput) -> AsyncGenerator[RuntimeOutput, None]:
        self.seen.append(turn)
        for step in self._scripts.get(turn.said) or self.otherwise or (Say(turn.said),):
            if isinstance(step, Vanish):
                return
            async for item in self._play(step, turn):
                yield item
        yield Done(usage=self.usage)

    async def close(self) -> None:
        self.closed = True

    async def _play(self, step: Step, turn: TurnInput) -> AsyncGenerator[RuntimeOutput, None]:
        if isinstance(step, Say):
            for item in _said(step.text, step.kept):
                yield item
        elif isinstance(step, Call):
            async for item in self._call(step, turn):
                yield item
        elif isinstance(step, Ask):
            reply = await turn.ask(step.question)
            for item in _said(f"{reply.choice} {reply.why}".strip()):
                yield item
        elif isinstance(step, Gate):
            await self.gate(step.name).passed()
        elif isinstance(step, Listen):
            for item in _said(" / ".join(turn.steered())):
                yield item
        elif isinstance(step, Fail):
            raise step.error
        elif isinstance(step, Spend):
            turn.may_spend(step.usd)
        elif isinstance(step, Do):
            yield step.make(turn)
        elif isinstance(step, Give):
            yield step.item

    async def _call(self, step: Call, turn: TurnInput) -> AsyncGenerator[RuntimeOutput, None]:
        call = ToolCall(id=f"call_{next(self._numbers)}", name=step.tool, arguments=json.dumps(dict(step.arguments)))
        yield assistant(None, [call])
        shown: dict[str, Json] = {"call_id": call.id, "tool": step.tool}
        yield Progress("tool", {**shown, "status": "started"})
        began = time.monotonic()
        try:
            result = await self._result(step, turn)
        except asyncio.CancelledError:
            yield tool_result(call, "The turn was stopped.")
            raise
        shown["duration"] = round(time.monotonic() - began, 3)
        shown |= {"status": "completed"} if result.ok else {"status": "failed", "error": result.text}
        yield Progress("tool", shown)
        yield tool_result(call, result.text)

    async def _result(self, step: Call, turn: TurnInput) -> ToolResult:
        tool = next((one for one in turn.tools if one.name == step.tool), None)
        if tool is None:
            return ToolResult(text=f"There is no tool {step.tool}.", ok=False)
        try:
            return await tool.run(turn.workspace, step.arguments)
        except SojournError as error:
            return ToolResult(text=str(error), ok=False)


def _said(text: str, kept: bool = True) -> list[RuntimeOutput]:
    *words, last = text.split(" ")
    pieces = [*(Chunk(word + " ") for word in words), Chunk(last)]
    return [*pieces, assistant(text)] if kept else [*pieces]
