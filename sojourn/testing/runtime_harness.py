"""Test harness of a runtime: puts the model behind it into a situation."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, get_args

from sojourn.core.messages import Json
from sojourn.ports.runtime import Runtime
from sojourn.ports.tool import Tool, ToolResult, Workspace
from sojourn.testing.model_script import Break, Call, Garbage, Hang, ModelRequest, Refuse, Say, Script, Think
from sojourn.testing.model_server import ModelServer
from sojourn.testing.turn_runner import make_tool

# What can happen behind a runtime.
Situation = Literal[
    "says",  # it answers GREETING
    "says terminal bytes",  # it answers COLOURED, in small pieces
    "thinks",  # it reasons THOUGHT before it answers GREETING
    "calls a tool",  # once, which answers, and then it answers GREETING
    "calls two tools",  # at once, each of which waits for the other
    "calls a tool that fails",
    "calls a tool that never ends",
    "speaks slowly",  # at least ten seconds of words
    "is unreachable",
    "refuses the key",
    "is busy",  # for good
    "is busy once",  # and then it answers GREETING
    "has an error",  # of its own, for good
    "dies while speaking",
    "hangs",  # takes the request and says nothing; the harness gives the runtime a short timeout
    "answers garbage",
]
# What a runtime may be able to do besides.
Ability = Literal[
    "usage",  # it counts tokens
    "closes upstream",  # when it is stopped, the model is, too
    "sees context",  # blocks, history and examples reach the model behind it, where the harness can look
    "our tools",  # tools of the turn are called by it, through `tool.run`
    "remembers",  # yields Remember
]
GREETING = "Good morning, dear reader."
THOUGHT = "They seem friendly."
COLOURED = "\x1b[1;31mRed\x1b[0m alert\x07 \x1b]0;owned\x07and\x9b2J calm\r\n\tagain.\x00"
COLOURED_PLAIN = "Red alert and calm\n\tagain."
SLOW = "and so it went on and on " * 40


class RuntimeHarness(Protocol):
    """What the contract needs of a runtime. `lacks`: each Situation or Ability it does not have, with the reason."""

    runtime: Runtime
    lacks: Mapping[str, str]
    tools: Sequence[Tool]  # what the turn is given

    def arrange(self, situation: Situation) -> str:
        """Puts the model into that situation; returns the user message that starts it."""
        ...

    def read_requests(self) -> list[ModelRequest]:
        """Returns the requests of turns that reached the model since the last `arrange`."""
        ...


def check_lacks(lacks: Mapping[str, str]) -> None:
    """Checks that every name in `lacks` exists and has a reason."""
    known = {*get_args(Situation), *get_args(Ability)}
    assert set(lacks) <= known, f"unknown: {sorted(set(lacks) - known)}"
    assert all(len(why.split()) > 2 for why in lacks.values()), "each needs a reason, in words"


class ContractTools:
    """Tools that answer, fail, wait for each other, or never end. One object for one event loop."""

    def __init__(self) -> None:
        self._barrier = asyncio.Barrier(2)
        self.called: list[tuple[str, Mapping[str, Json]]] = []
        self.stopped = asyncio.Event()  # the endless one was told to stop

    def all(self) -> tuple[Tool, ...]:
        return (
            make_tool("look_up", self._look_up, "Looks something up.", word="what to look up"),
            make_tool("meet", self._meet, "Waits for its companion.", name="who comes"),
            make_tool("fail", self._fail, "Fails.", word="whatever"),
            make_tool("linger", self._linger, "Never ends.", word="whatever"),
        )

    async def _look_up(self, at: Workspace, given: Mapping[str, Json]) -> ToolResult:
        self.called.append(("look_up", given))
        return ToolResult(text=f"{given.get('word')}: a word", facts={"found": 1})

    async def _meet(self, at: Workspace, given: Mapping[str, Json]) -> ToolResult:
        self.called.append(("meet", given))
        async with asyncio.timeout(5):  # alone it would wait for ever
            await self._barrier.wait()
        return ToolResult(text=f"{given.get('name')} was met")

    async def _fail(self, at: Workspace, given: Mapping[str, Json]) -> ToolResult:
        return ToolResult(text="There is no such word.", ok=False)

    async def _linger(self, at: Workspace, given: Mapping[str, Json]) -> ToolResult:
        try:
            await asyncio.Event().wait()
        finally:
            self.stopped.set()
        raise AssertionError("it never ends")


class ModelHarness:
    """A runtime with a scripted model server. Configure the runtime with a timeout of a second and a short back-off."""

    def __init__(self, model: ModelServer, runtime: Runtime, lacks: Mapping[str, str] | None = None) -> None:
        self.model, self.runtime, self.lacks = model, runtime, dict(lacks or {})
        self.contract_tools = ContractTools()
        self.tools: Sequence[Tool] = self.contract_tools.all()

    def scripts(self, situation: Situation) -> list[Script]:
        """Returns what the model does, one script for each request. Subclasses override what differs."""
        greet: Script = [Say(GREETING)]
        known: dict[Situation, list[Script]] = {
            "says": [greet],
            "says terminal bytes": [[Say(COLOURED, size=3)]],
            "thinks": [[Think(THOUGHT), Say(GREETING)]],
            "calls a tool": [[Say("Let me see. "), Call("look_up", {"word": "sojourn"})], greet],
            "calls two tools": [[Call("meet", {"name": "Ann"}), Call("meet", {"name": "Bob"})], greet],
            "calls a tool that fails": [[Call("fail", {"word": "x"})], greet],
            "calls a tool that never ends": [
                [Say("Wait. "), Call("look_up", {"word": "y"}), Call("linger", {"word": "z"})],
                greet,
            ],
            "speaks slowly": [[Say(SLOW, pause=0.05)]],
            "is unreachable": [greet],
            "refuses the key": [[Refuse(401, "scripted bad key")]],
            "is busy": [[Refuse(429, "scripted: too many", {"retry-after": "0"})]],
            "is busy once": [[Refuse(429, "scripted: too many", {"retry-after": "0"})], greet],
            "has an error": [[Refuse(500)]],
            "dies while speaking": [[Say("I was about to say "), Break()]],
            "hangs": [[Hang()]],
            "answers garbage": [[Say("And then "), Garbage()]],
        }
        return known[situation]

    def arrange(self, situation: Situation) -> str:
        self.model.play(*self.scripts(situation))
        if situation == "is unreachable":
            self.model.stop()
        return "Hello there."

    def read_requests(self) -> list[ModelRequest]:
        return [asked for asked in self.model.asked if asked.streams]
