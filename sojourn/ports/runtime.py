"""Runtime: takes one prepared input, yields events and messages. Closing the generator stops it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from sojourn.core.attachments import Attachment
from sojourn.core.events import Yielded, empty_mapping
from sojourn.core.messages import Json, Message
from sojourn.core.sessions import Session, TurnId
from sojourn.ports.context import ContextBlock
from sojourn.ports.tool import Question, Reply, Tool, Workspace
from sojourn.task_graph import TaskGraph


@dataclass(frozen=True, slots=True)
class SaveState:
    """Replaces the state that this runtime gets back in its next turn of the session."""

    state: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Observation:
    """A note about how the runtime worked, stored beside the answer."""

    kind: str
    data: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """Replaces the messages `seqs` in the live transcript with a summary."""

    seqs: tuple[int, ...]
    summary: str


RuntimeOutput = Yielded | SaveState | Observation | Compaction


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A message of the live transcript, its sequence number, and the blocks that it was sent with and may be again."""

    seq: int
    message: Message
    blocks: tuple[ContextBlock, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnInput:
    """Everything a runtime needs for a turn."""

    session: Session
    turn: TurnId
    said: str
    internal: bool = False  # Sojourn wrote it (a hand-off notice), not a person
    attachments: tuple[Attachment, ...] = ()
    history: tuple[HistoryEntry, ...] = ()  # the live transcript before this request, oldest first
    blocks: tuple[ContextBlock, ...] = ()
    examples: tuple[Message, ...] = ()  # ephemeral tool history, see ports.context
    graph: TaskGraph | None = None
    tools: tuple[Tool, ...] = ()
    workspace: Workspace
    model: str = ""  # "" = the runtime's default
    state: Mapping[str, Json] = field(default_factory=empty_mapping)  # from its last SaveState
    read_attachment: Callable[[Attachment], Awaitable[bytes]]
    ask: Callable[[Question], Awaitable[Reply]]
    steered: Callable[[], tuple[str, ...]] = tuple  # takes the texts a person sent meanwhile
    may_spend: Callable[[float], None] = lambda _: None  # takes the cost so far. SpendingLimit


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeStatus:
    """Whether a runtime can work now."""

    ok: bool
    detail: str = ""  # "llama3 on http://127.0.0.1:11434", or what is missing
    hint: str = ""
    models: tuple[str, ...] = ()


class Runtime(Protocol):
    """Answers turns. `run` yields Chunk, Progress and Message, and ends with one Done that has the usage.

    It fails by raising a SojournError, which the service turns into `error` and `done`. The tool Message of every call
    comes before the next assistant Message.
    """

    name: str
    label: str
    takes_tool_history: bool  # False: `examples` come as a text block

    async def ready(self) -> RuntimeStatus: ...  # within two seconds, without side effects
    def run(self, turn: TurnInput) -> AsyncGenerator[RuntimeOutput, None]: ...
    async def close(self) -> None: ...


@runtime_checkable
class CanSteer(Protocol):
    """A runtime that takes text during a turn by calling `turn.steered()`."""

    steers: Literal[True]


@runtime_checkable
class HasOwnTools(Protocol):
    """A runtime whose agent has tools of its own, unknown to us; it does not get ours."""

    brings_tools: Literal[True]


@runtime_checkable
class CanComplete(Protocol):
    """A runtime that can complete text outside any turn, for titles and summaries."""

    async def complete(self, instructions: str, text: str, *, most_tokens: int = 400) -> str: ...
