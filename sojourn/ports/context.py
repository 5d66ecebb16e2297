"""Context: what is put before a runtime besides the conversation, and why each piece is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from sojourn.core.events import Progress
from sojourn.core.messages import Message
from sojourn.core.sessions import Session
from sojourn.core.tasks import TaskGraph

Stage = Literal["memory", "skills", "template", "tasks"]
CONTEXT_STAGES: tuple[Stage, ...] = ("memory", "skills", "template", "tasks")  # asked in this order


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextRequest:
    """What a source looks at: the session, what was said, and what was said before."""

    session: Session
    said: str
    history: tuple[Message, ...] = ()
    runtime: str = ""
    tools: tuple[str, ...] = ()  # the names this session has; () = the runtime brings its own
    drop: tuple[str, ...] = ()  # what the person does not want this time: names of sources or of a template
    template: str = ""  # the template the person asked for; "" = choose
    budget: int = 2000  # tokens this source may use


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextBlock:
    """Words for the runtime. `origin` says where they came from, `reason` why they are here."""

    kind: str  # summary, recall, fact, note, skill, template, tasks
    title: str
    text: str
    origin: str
    reason: str
    tokens: int = 0

    def render(self) -> str:
        """Renders the block as runtimes send it: title, origin, reason and text."""
        return f"## {self.title} ({self.kind})\nFrom: {self.origin}\nWhy: {self.reason}\n\n{self.text}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextContribution:
    """What one source brings. `examples` are ephemeral: sent, never kept as history."""

    blocks: tuple[ContextBlock, ...] = ()
    examples: tuple[Message, ...] = ()
    graph: TaskGraph | None = None
    shown: tuple[Progress, ...] = ()  # what surfaces are told: used template X because …
    left_out: tuple[str, ...] = ()  # what the budget had no room for, in words


class ContextSource(Protocol):
    """Answers within a second or says nothing; a failing source never fails the turn."""

    name: str
    stage: Stage

    async def contribute(self, request: ContextRequest) -> ContextContribution: ...


@runtime_checkable
class CanLearn(Protocol):
    """A source that looks at a turn when it is over: to summarise, to count what helped."""

    async def after(self, request: ContextRequest, kept: Sequence[Message], status: str) -> None: ...
