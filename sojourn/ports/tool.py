"""Tools: what an agent can do, each a plain function. Its name, docstring and hints are its schema."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER, Principal, SessionId, TurnId

Effect = Literal["reads", "writes", "runs"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a turn asks a person before it goes on. `choices` always holds "deny"."""

    id: str
    text: str  # what is about to happen, in a sentence
    tool: str = ""
    detail: str = ""  # the command, the path, the difference
    choices: tuple[str, ...] = ("once", "session", "deny")
    dangerous: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What the person chose. No answer in time is "deny", and says so."""

    choice: str
    by: str = ""
    why: str = ""

    @property
    def allowed(self) -> bool:
        return self.choice in {"once", "session", "always"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool gives back: the words for the model, and facts about them for the screen."""

    text: str
    ok: bool = True
    facts: Mapping[str, Json] | None = None  # exit_code, path, bytes …


class Workspace(Protocol):
    """What a tool is given: where it may work, for whom, and whom to ask."""

    root: Path  # nothing outside is written; reading outside asks first
    session: SessionId
    turn: TurnId
    principal: Principal
    seconds: float  # the time one call may take
    most: int  # the characters one result may have

    async def ask(self, question: Question) -> Reply: ...
    def tell(self, line: str) -> None:
        """A line of progress for whoever watches: a long command's output, a page's address."""


Run = Callable[[Workspace, Mapping[str, Json]], Awaitable[ToolResult]]
Asks = Callable[[Workspace, Mapping[str, Json]], Question | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool as a runtime sees it. Whoever calls it uses `tools.guard`, which asks, limits and redacts."""

    name: str
    description: str
    parameters: Mapping[str, Json]  # JSON Schema of an object
    run: Run
    effect: Effect = "reads"
    asks: Asks | None = None  # the question to put first, or None when this call needs none
    guests: bool = False  # whether guests may use it

    def for_whom(self, principal: Principal) -> bool:
        return principal == OWNER or self.guests


class CallVerdict(Protocol):
    """Whether a call worked."""

    @property
    def success(self) -> bool: ...


class CallJudge(Protocol):
    """Tells from a tool's result whether its call worked."""

    def __call__(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        result: str | None,
        *,
        extra: Mapping[str, Any] | None = None,
        effect: str | None = None,
    ) -> CallVerdict:
        """Judges one call.

        tool, arguments: the call as the model made it.
        result: the text the tool returned; None if it returned nothing.
        extra: what the runtime noted beside the result. effect: what the tool says it changed.
        """
