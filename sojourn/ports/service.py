"""Service: all that a surface may ask, as a sum of small protocols; in this process, or over HTTP by `client/`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from sojourn.core.attachments import Attachment
from sojourn.core.handoff import Handoff, HandoffId
from sojourn.core.provenance import Provenance
from sojourn.core.sessions import OWNER, Principal, Recorded, Session, SessionId, TurnId
from sojourn.ports.libraries import FactLibrary, SkillLibrary, TemplateLibrary
from sojourn.ports.runtime import RuntimeStatus
from sojourn.ports.store import Listing, Log, PendingQuestion, SearchHit, SearchQuery
from sojourn.ports.tool import Covers, Reply, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """The person who asks and the surface they use. `holder` names the process: "chat on laptop (pid 4711)"."""

    surface: str = "cli"
    principal: Principal = OWNER
    holder: str = ""
    name: str = ""  # the person, where several share a session


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """One request of a turn. An empty field means the session's value, or the default."""

    text: str
    attachments: tuple[Attachment, ...] = ()
    runtime: str = ""
    model: str = ""
    template: str = ""  # a template's name; "none" for none
    drop: tuple[str, ...] = ()  # context sources or templates that are not wanted; "*": none
    key: str = ""  # idempotency: the same key in one session starts one turn
    internal: bool = False  # an announcement of ours (a hand-off), not a person's words
    cwd: str = ""
    attended: bool = True  # False: nobody can answer a question, so each is refused at once
    allow: tuple[str, ...] = ()  # tools that are allowed beforehand, inside the sandbox only
    provenance: Provenance | None = None  # of a text that no person wrote; None: a person did


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A started turn. Watching from the sequence number `after` shows all of it."""

    id: TurnId
    session: SessionId
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeInfo(RuntimeStatus):
    """A runtime as a picker shows it."""

    name: str
    label: str
    default: bool = False
    offered: bool = True  # otherwise it works by name, and no list has it
    steers: bool = False  # whether a running turn hears what is said to it


ExportFormat = Literal["markdown", "jsonl", "html"]


class SessionService(Protocol):
    """Opens, finds and changes sessions. `principal` is the person who asks; the owner sees every session."""

    async def open(
        self,
        by: Caller,
        *,
        title: str | None = None,
        model: str | None = None,
        runtime: str = "",
        cwd: str = "",
        parent: SessionId | None = None,
    ) -> Session:
        """Creates a session that `by.surface` drives. `parent` is the session of which it is a sub-agent's."""

    async def get(self, session: SessionId, *, principal: Principal = OWNER) -> Session: ...  # NotFound
    async def resolve(self, words: str, *, principal: Principal = OWNER) -> Session:
        """The session with this id, title, or unique beginning or part of one. NotFound, Conflict if several match."""

    async def find(self, listing: Listing) -> list[Session]: ...
    async def change(self, old: Session, new: Session) -> Session:
        """Sets title, tags, pin, archive, trash, model or folder. Conflict if `old` is stale, TitleTaken."""

    async def branch(self, session: SessionId, at: int, by: Caller) -> Session:
        """Makes a session that begins with the messages up to the number `at`; the original stays as it is."""


class TranscriptService(Protocol):
    """Reads and searches what sessions contain."""

    async def messages(self, session: SessionId, *, principal: Principal = OWNER) -> Sequence[Recorded]:
        """Every message in order, undone and summarised ones included."""

    def watch(self, session: SessionId, *, after: int = 0, principal: Principal = OWNER) -> Log:
        """Yields messages and events after the sequence number `after`, then each new one as it is stored."""

    async def search(self, search: SearchQuery) -> list[SearchHit]: ...
    async def export(
        self, session: SessionId, format: ExportFormat = "markdown", *, principal: Principal = OWNER
    ) -> str:
        """The session as one Markdown or HTML document without undone messages, or as a JSON line with all of them."""


class TurnService(Protocol):
    """Starts turns. A turn runs to its end whether or not anyone watches."""

    async def say(
        self, session: SessionId, said: TurnRequest, by: Caller, *, when_busy: Literal["refuse", "wait"] = "refuse"
    ) -> Turn:
        """Stores the request before it returns; the turn runs in the background. SessionBusy, NotDriving, NotFound."""

    async def attach(self, session: SessionId, data: bytes, *, media_type: str, name: str = "") -> Attachment:
        """Stores a file with the session, to be named in the next request. BadInput if it is too large."""

    async def running(self, session: SessionId) -> TurnId | None: ...
    async def runtimes(self) -> Sequence[RuntimeInfo]: ...


class TurnControlService(Protocol):
    """Controls a running turn from any process, or takes the last one back."""

    async def stop(self, session: SessionId, by: Caller, *, turn: TurnId | None = None) -> bool:
        """Asks the running turn to stop, wherever it runs. False if none is running."""

    async def answer(self, session: SessionId, question: str, reply: Reply, by: Caller) -> None:
        """Answers an approval question of a turn (`progress`, stage `approval`). Only the owner may.
        NotAllowed, NotFound."""

    async def get_question(self, session: SessionId, question: str, by: Caller) -> PendingQuestion:
        """A question that waits, with the exact text. Only the owner may. NotAllowed, NotFound."""

    async def steer(self, session: SessionId, text: str, by: Caller) -> None:
        """Passes text to the running turn. CannotSteer if its runtime does not listen: say it as the next turn."""

    async def undo(self, session: SessionId, by: Caller) -> int:
        """Hides the last request and everything after it; returns the number of hidden messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Approval:
    """What a person allowed for longer than once. `text` is the redacted beginning of what it covers exactly."""

    id: str
    choice: Literal["session", "always"]
    tool: str
    scope: Scope
    covers: Covers
    text: str
    by: str
    session: SessionId | None
    given_at: float


class ApprovalService(Protocol):
    """Lists and revokes lasting approvals. Only the owner may: NotAllowed."""

    async def list_approvals(self, by: Caller) -> Sequence[Approval]: ...
    async def revoke_approval(self, id: str, by: Caller) -> Approval:
        """In force at once, in running turns too. NotFound."""

    async def take_notices(self, by: Caller) -> Sequence[str]:
        """What the owner has to be told once, such as what an upgrade has changed; each is returned once."""


class HandoffService(Protocol):
    """Moves a session from one surface to another."""

    async def take_over(self, session: SessionId, by: Caller) -> Session:
        """Makes `by.surface` the driver at once, also in the middle of a turn."""

    async def hand_off(
        self, session: SessionId, platform: str, *, by: Caller, target: str = "", wait: bool = False
    ) -> Handoff:
        """Requests a hand-off, which a gateway then carries out.

        `platform` is a chat network, `cli` or `web`; `target` a chat there (default: the home channel).
        `by.surface` gives the session away; empty means its driver. With `wait` the request expires after the
        setting `handoff.wait_seconds` unless a gateway picks it up, else after an hour.
        SessionBusy during a turn, NotDriving, Conflict during another hand-off, NotAllowed for a guest who names a
        target; PlatformDown, NotFound or BadInput if it could not arrive.
        """

    def follow_handoff(self, handoff: Handoff) -> AsyncGenerator[Handoff, None]:
        """Yields the hand-off now and after each step until it is over. Expires it if no gateway picks it up in
        time."""

    async def get_handoff(self, id: HandoffId) -> Handoff: ...  # NotFound
    async def cancel_handoff(self, id: HandoffId) -> Handoff: ...  # Conflict from `bound` on


class Service(
    SessionService,
    TranscriptService,
    TurnService,
    TurnControlService,
    ApprovalService,
    HandoffService,
    FactLibrary,
    SkillLibrary,
    TemplateLibrary,
    Protocol,
):
    """All that a surface may ask. Closing a watcher stops nothing; `close` ends the turns of this process."""

    async def close(self) -> None: ...
