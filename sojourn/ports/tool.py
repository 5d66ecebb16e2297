"""Tools that an agent may call, the workspace they get, and the questions they ask."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from sojourn.core.messages import Json
from sojourn.core.provenance import Origin, Provenance
from sojourn.core.sessions import OWNER, Principal, SessionId, TurnId

Effect = Literal["reads", "writes", "runs"]
Scope = Literal["sandbox", "network", "outside"]  # what a call may reach
Covers = Literal["exact", "tool"]  # what a lasting yes is for: this exact text, or every call of the tool in its scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question that a turn asks a person. `choices` always contains "deny".

    scope: `sandbox` stays inside the workspace, `network` may also reach the network, `outside` may do anything
    dangerous: it is asked about every time
    """

    id: str
    text: str  # what is going to happen, as a sentence
    tool: str = ""
    detail: str = ""  # exactly what will run or be written: the command, the path, the difference
    choices: tuple[str, ...] = ("once", "session", "deny")
    dangerous: bool = False
    scope: Scope = "sandbox"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """A person's answer; "deny" if none came in time."""

    choice: str
    by: str = ""
    why: str = ""
    covers: Covers | None = None  # of a lasting yes; None: the tool for `session`, the exact text for `always`

    @property
    def allowed(self) -> bool:
        return self.choice in {"once", "session", "always"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """The result of a call: text for the model, facts for the screen."""

    text: str
    ok: bool = True
    facts: Mapping[str, Json] | None = None  # exit_code, path, bytes …


class Workspace(Protocol):
    """Where a tool works, for whom, within which limits, and how it asks."""

    root: Path  # nothing outside is written; reading outside asks first
    session: SessionId
    turn: TurnId
    principal: Principal
    seconds: float  # time limit of one call
    most: int  # characters of one result
    provenance: Provenance  # what the turn has read so far

    async def ask(self, question: Question) -> Reply: ...
    def tell(self, line: str) -> None:
        """Shows a line of progress, such as the output of a long command."""


Run = Callable[[Workspace, Mapping[str, Json]], Awaitable[ToolResult]]
Asks = Callable[[Workspace, Mapping[str, Json]], Question | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A tool as a runtime sees it. It is called through `tools.guard`, which asks, limits and redacts."""

    name: str
    description: str
    parameters: Mapping[str, Json]  # JSON Schema of an object
    run: Run
    effect: Effect = "reads"
    asks: Asks | None = None  # returns the question to ask first, or None
    guests: bool = False  # whether guests may use it
    origins: tuple[Origin, ...] = ("foreign",)  # whose text its results may hold; () for the person's own

    def for_whom(self, principal: Principal) -> bool:
        return principal == OWNER or self.guests


class CallVerdict(Protocol):
    """Whether a call worked."""

    @property
    def success(self) -> bool: ...


class CallJudge(Protocol):
    """Decides from a tool's result whether its call worked."""

    def __call__(
        self,
        tool: str,
        arguments: Mapping[str, Any],
        result: str | None,
        *,
        extra: Mapping[str, Any] | None = None,
        effect: str | None = None,
    ) -> CallVerdict:
        """Judges one call. extra: the runtime's notes on the result; effect: the tool's declared effect."""
