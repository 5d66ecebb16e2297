"""Context sources: what a runtime gets besides the conversation, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from sojourn.core.events import Progress
from sojourn.core.messages import Message
from sojourn.core.provenance import Origin
from sojourn.core.sessions import Session, SessionId
from sojourn.task_graph import TaskGraph

Stage = Literal["memory", "skills", "template", "tasks"]
CONTEXT_STAGES: tuple[Stage, ...] = ("memory", "skills", "template", "tasks")  # in this order


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """What a context source sees of a turn."""

    session: Session
    said: str
    history: tuple[Message, ...] = ()
    runtime: str = ""
    tools: tuple[str, ...] = ()  # names; () = the runtime has its own
    drop: tuple[str, ...] = ()  # names of sources or of a template that are not wanted
    template: str = ""  # the requested template; "" = choose
    budget: int = 2000  # tokens per source
    permissions: str = "ask"  # the permission mode of the session


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextBlock:
    """A text for the runtime, where it comes from and why it is there."""

    kind: str  # summary, recall, fact, note, skill, template, tasks
    title: str
    text: str
    origin: str
    reason: str
    tokens: int = 0
    origins: tuple[Origin, ...] = ()  # whose text it holds, if not the person's own
    sessions: tuple[SessionId, ...] = ()  # past sessions that it quotes

    def render(self) -> str:
        """Renders the block as runtimes send it: title, origin, reason and text."""
        return f"## {self.title} ({self.kind})\nFrom: {self.origin}\nWhy: {self.reason}\n\n{self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextContribution:
    """The result of one source. `examples` are sent but never stored as history."""

    blocks: tuple[ContextBlock, ...] = ()
    examples: tuple[Message, ...] = ()
    graph: TaskGraph | None = None
    shown: tuple[Progress, ...] = ()  # for surfaces, e.g. which template is used and why
    left_out: tuple[str, ...] = ()  # what did not fit the budget, for people


class ContextSource(Protocol):
    """Contributes to turns within a second. A slow or failing source is left out of the turn."""

    name: str
    stage: Stage

    async def contribute(self, request: ContextRequest) -> ContextContribution: ...


@runtime_checkable
class CanLearn(Protocol):
    """A source that learns from finished turns."""

    async def after(self, request: ContextRequest, kept: Sequence[Message], status: str) -> None: ...
