"""ScriptedRuntime: plays the steps that a test has defined for each user message.

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
class SayText:
    """Streams the text word by word; unless `kept` is False, also yields it as a message."""

    text: str
    kept: bool = True


@dataclass(frozen=True, slots=True)
class CallTool:
    """Calls a tool of the turn and yields the call and its result."""

    tool: str
    arguments: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ask:
    """Asks the person, and says what they chose."""

    question: Question


@dataclass(frozen=True, slots=True)
class PauseGate:
    """Waits until the test opens the gate of that name."""

    name: str


@dataclass(frozen=True, slots=True)
class EchoSteering:
    """Says the steering messages that were sent to the running turn."""


@dataclass(frozen=True, slots=True)
class Fail:
    """Raises this error: a SojournError, or any other exception."""

    error: Exception


@dataclass(frozen=True, slots=True)
class ReportCost:
    """Reports what the turn has cost so far, which may exceed its limit."""

    usd: float


@dataclass(frozen=True, slots=True)
class EmitFrom:
    """Yields an item that a function makes of the turn's input."""

    make: Callable[[TurnInput], RuntimeOutput]


@dataclass(frozen=True, slots=True)
class Emit:
    """Yields an item as it is: SaveState, Observation, Compaction, a Message, a Done that comes too early."""

    item: RuntimeOutput


@dataclass(frozen=True, slots=True)
class EndWithoutDone:
    """Ends the turn without a Done."""


Step = SayText | CallTool | Ask | PauseGate | EchoSteering | Fail | ReportCost | EmitFrom | Emit | EndWithoutDone


class GateEvent:
    """An event that any thread may set and any event loop may wait for. It is never cleared."""

    def __init__(self) -> None:
        self._lock, self._is_open = threading.Lock(), False
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    def open(self) -> None:
        with self._lock:
            self._is_open = True
            for loop, event in self._waiting:
                loop.call_soon_threadsafe(event.set)

    async def wait(self) -> None:
        event = asyncio.Event()
        with self._lock:
            if self._is_open:
                return
            self._waiting.append((asyncio.get_running_loop(), event))
        await event.wait()


class ScriptedRuntime:
    """Plays its scripts. A message without a script is repeated word by word."""

    takes_tool_history = True
    steers: Literal[True] = True

    def __init__(self, name: str = "scripted", ready: RuntimeStatus | None = None) -> None:
        self.name, self.label = name, f"Scripted ({name})"
        self.seen: list[TurnInput] = []
        self.usage: dict[str, Json] = {"input_tokens": 7, "output_tokens": 5}
        self.closed = False
        self.otherwise: tuple[Step, ...] | None = None  # the script of messages that have none
        self._ready = ready or RuntimeStatus(ok=True, detail="plays the script of a test", models=("scripted-1",))
        self._scripts: dict[str, tuple[Step, ...]] = {}
        self._gates: dict[str, GateEvent] = {}
        self._numbers = count(1)

    def on(self, message: str, *steps: Step) -> None:
        """Defines the steps of a turn whose user message is exactly this."""
        self._scripts[message] = steps

    def gate(self, name: str) -> GateEvent:
        return self._gates.setdefault(name, GateEvent())

    async def ready(self) -> RuntimeStatus:
        return self._ready

    async def run(self, turn: TurnInput) -> AsyncGenerator[RuntimeOutput, None]:
        self.seen.append(turn)
        for step in self._scripts.get(turn.said) or self.otherwise or (SayText(turn.said),):
            if isinstance(step, EndWithoutDone):
                return
            async for item in self._play(step, turn):
                yield item
        yield Done(usage=self.usage)

    async def close(self) -> None:
        self.closed = True

    async def _play(self, step: Step, turn: TurnInput) -> AsyncGenerator[RuntimeOutput, None]:
        if isinstance(step, SayText):
            for item in _text_items(step.text, step.kept):
                yield item
        elif isinstance(step, CallTool):
            async for item in self._call(step, turn):
                yield item
        elif isinstance(step, Ask):
            reply = await turn.ask(step.question)
            for item in _text_items(f"{reply.choice} {reply.why}".strip()):
                yield item
        elif isinstance(step, PauseGate):
            await self.gate(step.name).wait()
        elif isinstance(step, EchoSteering):
            for item in _text_items(" / ".join(turn.steered())):
                yield item
        elif isinstance(step, Fail):
            raise step.error
        elif isinstance(step, ReportCost):
            turn.may_spend(step.usd)
        elif isinstance(step, EmitFrom):
            yield step.make(turn)
        elif isinstance(step, Emit):
            yield step.item

    async def _call(self, step: CallTool, turn: TurnInput) -> AsyncGenerator[RuntimeOutput, None]:
        call = ToolCall(id=f"call_{next(self._numbers)}", name=step.tool, arguments=json.dumps(dict(step.arguments)))
        yield assistant(None, [call])
        detail: dict[str, Json] = {"call_id": call.id, "tool": step.tool}
        yield Progress("tool", {**detail, "status": "started"})
        started = time.monotonic()
        try:
            result = await self._run_tool(step, turn)
        except asyncio.CancelledError:
            yield tool_result(call, "The turn was stopped.")
            raise
        detail["duration"] = round(time.monotonic() - started, 3)
        detail |= {"status": "completed"} if result.ok else {"status": "failed", "error": result.text}
        yield Progress("tool", detail)
        yield tool_result(call, result.text)

    async def _run_tool(self, step: CallTool, turn: TurnInput) -> ToolResult:
        tool = next((one for one in turn.tools if one.name == step.tool), None)
        if tool is None:
            return ToolResult(text=f"There is no tool {step.tool}.", ok=False)
        try:
            return await tool.run(turn.workspace, step.arguments)
        except SojournError as error:
            return ToolResult(text=str(error), ok=False)


def _text_items(text: str, kept: bool = True) -> list[RuntimeOutput]:
    *words, last = text.split(" ")
    pieces = [*(Chunk(word + " ") for word in words), Chunk(last)]
    return [*pieces, assistant(text)] if kept else [*pieces]
