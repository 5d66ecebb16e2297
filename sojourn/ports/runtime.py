"""Runtime: one prepared input in, events and messages out. Stopping it is closing the generator."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, runtime_checkable

from sojourn.core.attachments import Attachment
from sojourn.core.events import Yielded, empty_mapping
from sojourn.core.messages import Json, Message
from sojourn.core.sessions import Session, TurnId
from sojourn.core.tasks import TaskGraph
from sojourn.ports.context import ContextBlock
from sojourn.ports.tool import Question, Reply, Tool, Workspace


@dataclass(frozen=True, slots=True)
class SaveState:
    """What this runtime wants to find again next time: the whole of its own state, replaced at once.
    No other runtime sees or changes it."""

    state: Mapping[str, Json]


@dataclass(frozen=True, slots=True)
class Observation:
    """Something worth keeping about how the runtime worked, never part of the visible answer."""

    kind: str
    data: Mapping[str, Json]


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """Older messages were summarised: these numbers leave the live transcript, `summary` takes their place."""

    seqs: tuple[int, ...]
    summary: str


RuntimeOutput = Yielded | SaveState | Observation | Compaction


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A message of the live transcript and its number."""

    seq: int
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnInput:
    """Everything a runtime is told. It is prepared before; a runtime asks for nothing else."""

    session: Session
    turn: TurnId
    said: str
    internal: bool = False  # an announcement of ours (a hand-off), not a person's words
    attachments: tuple[Attachment, ...] = ()
    history: tuple[HistoryEntry, ...] = ()  # the live transcript before this request, oldest first
    blocks: tuple[ContextBlock, ...] = ()
    examples: tuple[Message, ...] = ()  # ephemeral tool history, see ports.context
    graph: TaskGraph | None = None
    tools: tuple[Tool, ...] = ()
    workspace: Workspace
    model: str = ""  # "" = the runtime's default
    state: Mapping[str, Json] = field(default_factory=empty_mapping)  # what this runtime remembered last time
    read_attachment: Callable[[Attachment], Awaitable[bytes]]
    ask: Callable[[Question], Awaitable[Reply]]
    steered: Callable[[], tuple[str, ...]] = tuple  # what the person said meanwhile; each once
    may_spend: Callable[[float], None] = lambda _: None  # called with the cost so far; raises SpendingLimit


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeStatus:
    """Whether a runtime can work now, found out within two seconds and without side effects."""

    ok: bool
    detail: str = ""  # "llama3 on http://127.0.0.1:11434", or what is missing
    hint: str = ""
    models: tuple[str, ...] = ()


class Runtime(Protocol):
    """`run` yields Chunk, Progress and Message as things happen, and ends with exactly one Done (usage filled in).
    Failing is raising a SojournError; the service turns it into `error` and `done`. Every tool call in a yielded
    assistant Message is followed by its tool Message before the next assistant Message, also when it is stopped."""

    name: str
    label: str
    takes_tool_history: bool  # whether `examples` can be sent as messages; else they come as a block

    async def ready(self) -> RuntimeStatus: ...
    def run(self, turn: TurnInput) -> AsyncGenerator[RuntimeOutput, None]: ...
    async def close(self) -> None: ...


@runtime_checkable
class CanSteer(Protocol):
    """A runtime that hears what is said to a running turn: it asks `turn.steered()` now and then.
    Where it cannot, such words wait and become the next turn."""

    steers: Literal[True]


@runtime_checkable
class HasOwnTools(Protocol):
    """A runtime whose agent has tools of its own. Ours are not given to it, and which ones it has we do not know."""

    brings_tools: Literal[True]


@runtime_checkable
class CanComplete(Protocol):
    """A runtime that can answer one plain question outside any turn: for titles and summaries."""

    async def complete(self, instructions: str, text: str, *, most_tokens: int = 400) -> str: ...


Status = Literal["completed", "failed", "cancelled", "interrupted"]
