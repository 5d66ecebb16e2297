"""Runs single turns of a runtime in tests: builds their input without a service and collects their output."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sojourn.core.attachments import Attachment
from sojourn.core.errors import SojournError
from sojourn.core.events import Chunk, Done, Progress
from sojourn.core.messages import Json, Message, text_of, tool_calls_of
from sojourn.core.provenance import Provenance
from sojourn.core.sessions import OWNER, Principal, Session, SessionId, TurnId, new_session_id, new_turn_id
from sojourn.ports.runtime import HistoryEntry, Runtime, RuntimeOutput, TurnInput
from sojourn.ports.tool import Question, Reply, Run, Tool


@dataclass(kw_only=True)
class FakeWorkspace:
    """A workspace for tests: a folder, and a person who gives the same answer to every question."""

    root: Path = field(default_factory=Path.cwd)
    session: SessionId = field(default_factory=new_session_id)
    turn: TurnId = field(default_factory=new_turn_id)
    principal: Principal = OWNER
    seconds: float = 30.0
    most: int = 20_000
    provenance: Provenance = field(default_factory=Provenance)
    answer: str = "once"
    questions: list[Question] = field(default_factory=list)
    told: list[str] = field(default_factory=list)

    async def ask(self, question: Question) -> Reply:
        self.questions.append(question)
        return Reply(choice=self.answer, by="a test")

    def tell(self, line: str) -> None:
        self.told.append(line)


def make_turn_input(
    said: str, *, room: FakeWorkspace | None = None, files: Mapping[str, bytes] | None = None, **fields: Any
) -> TurnInput:
    """Builds the input that a service would. `files`: bytes of attachments by hash; `fields`: fields of TurnInput."""
    room = room or FakeWorkspace()

    async def read_attachment(attachment: Attachment) -> bytes:
        return dict(files or {})[attachment.hash]

    prepared: dict[str, Any] = {
        "session": Session(id=room.session),
        "turn": room.turn,
        "said": said,
        "workspace": room,
        "ask": room.ask,
        "read_attachment": read_attachment,
        **fields,
    }
    return TurnInput(**prepared)


def make_history(*messages: Message) -> tuple[HistoryEntry, ...]:
    """Returns messages as history entries, numbered from 1."""
    return tuple(HistoryEntry(at, message) for at, message in enumerate(messages, 1))


def make_tool(name: str, run: Run, description: str = "For tests.", /, **parameters: str) -> Tool:
    """Makes a tool whose parameters are strings: `make_tool("read", run, path="which file")`."""
    schema: Mapping[str, Json] = {
        "type": "object",
        "properties": {key: {"type": "string", "description": meaning} for key, meaning in parameters.items()},
        "required": list(parameters),
    }
    return Tool(name=name, description=description, parameters=schema, run=run)


@dataclass(kw_only=True)
class TurnOutput:
    """The items that a turn yielded, in order, and how it ended."""

    items: list[RuntimeOutput] = field(default_factory=list)
    error: SojournError | None = None
    cancelled: bool = False

    def of(self, kind: type[Any]) -> list[Any]:
        return [item for item in self.items if isinstance(item, kind)]

    @property
    def text(self) -> str:
        """The streamed text."""
        return "".join(item.text for item in self.of(Chunk))

    @property
    def messages(self) -> list[Message]:
        return self.of(Message)

    @property
    def answers(self) -> list[str]:
        """The texts of the assistant's messages."""
        return [text_of(one) for one in self.messages if one.role == "assistant" and text_of(one)]

    @property
    def done(self) -> list[Done]:
        return self.of(Done)

    def progress(self, stage: str) -> list[Mapping[str, Json]]:
        return [item.detail for item in self.of(Progress) if item.stage == stage]


def find_unpaired_calls(messages: Sequence[Message]) -> list[str]:
    """Returns the ids of tool calls without a result, and of results without a call."""
    wrong: list[str] = []
    waiting: list[str] = []
    for message in messages:
        if message.role == "assistant":
            wrong += waiting
            waiting = [call.id for call in tool_calls_of(message)]
        elif message.role == "tool" and message.tool_call_id in waiting:
            waiting.remove(message.tool_call_id)
        elif message.role == "tool":
            wrong.append(f"result {message.tool_call_id}")
    return wrong + waiting


async def run_turn(runtime: Runtime, turn: TurnInput) -> TurnOutput:
    """Runs a turn to its end, as a service would."""
    shown = TurnOutput()
    await _fill(shown, runtime.run(turn))
    return shown


async def stop_turn(runtime: Runtime, turn: TurnInput, when: Callable[[RuntimeOutput], bool]) -> TurnOutput:
    """Runs a turn and cancels it, as a service does, after the first item for which `when` is true.

    Collects what the runtime yields after that too, such as results of running tool calls.
    """
    shown, reached = TurnOutput(), asyncio.Event()
    task = asyncio.create_task(_fill(shown, runtime.run(turn), lambda item: reached.set() if when(item) else None))
    waiting = asyncio.create_task(reached.wait())
    await asyncio.wait({task, waiting}, return_when=asyncio.FIRST_COMPLETED)
    waiting.cancel()
    for _ in range(3):  # let it begin to wait
        await asyncio.sleep(0)
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        shown.cancelled = True
    return shown


async def _fill(
    shown: TurnOutput,
    events: AsyncGenerator[RuntimeOutput, None],
    seen: Callable[[RuntimeOutput], object] = lambda _: None,
) -> None:
    try:
        async with aclosing(events):
            async for item in events:
                shown.items.append(item)
                seen(item)
    except SojournError as error:
        shown.error = error
