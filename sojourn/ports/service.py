"""Service: all that a surface may ask. In this process or, through `client/`, in another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from sojourn.core.attachments import Attachment
from sojourn.core.sessions import OWNER, Principal, Recorded, Session, SessionId, TurnId
from sojourn.ports.store import Listing, Log, SearchHit, SearchQuery
from sojourn.ports.tool import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Caller:
    """Who is talking, and where from. `holder` is a person's word for the process: "chat on laptop (pid 4711)"."""

    surface: str = "cli"
    principal: Principal = OWNER
    holder: str = ""
    name: str = ""  # the person, where several share a session


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnRequest:
    """One request. Empty fields mean: as the session has it, or the default."""

    text: str
    attachments: tuple[Attachment, ...] = ()
    runtime: str = ""
    model: str = ""
    template: str = ""  # a template's name; "none" for none
    drop: tuple[str, ...] = ()  # context sources or templates that are not wanted
    key: str = ""  # idempotency: the same key in one session starts one turn
    internal: bool = False  # an announcement of ours (a hand-off), not a person's words
    cwd: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """A turn that was started. `after` is the number to watch from to see all of it."""

    id: TurnId
    session: SessionId
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RuntimeInfo:
    """A runtime as a picker shows it."""

    name: str
    label: str
    ok: bool
    detail: str = ""
    hint: str = ""
    models: tuple[str, ...] = ()
    default: bool = False
    steers: bool = False  # whether a running turn hears what is said to it


class Service(Protocol):
    """Turns run to their end whether or not anyone watches; closing a watcher stops nothing."""

    async def open(
        self,
        by: Caller,
        *,
        title: str | None = None,
        model: str | None = None,
        runtime: str = "",
        cwd: str = "",
        parent: SessionId | None = None,
    ) -> Session: ...

    async def say(
        self, session: SessionId, said: TurnRequest, by: Caller, *, when_busy: Literal["refuse", "wait"] = "refuse"
    ) -> Turn:
        """What was said is kept when this returns; the turn runs on by itself. SessionBusy, NotDriving, NotFound."""
        ...

    def watch(self, session: SessionId, *, after: int = 0, principal: Principal = OWNER) -> Log: ...
    async def stop(self, session: SessionId, by: Caller, *, turn: TurnId | None = None) -> bool:
        """Asks the running turn to stop, wherever it runs. False: none is running."""
        ...

    async def answer(self, session: SessionId, question: str, reply: Reply, by: Caller) -> None:
        """Answers a question a turn asked (`progress` stage approval). Only the owner may. NotAllowed, NotFound."""
        ...

    async def steer(self, session: SessionId, text: str, by: Caller) -> None:
        """Tells the running turn something. CannotSteer: its runtime does not listen, so say it as the next turn."""
        ...

    async def take(self, session: SessionId, by: Caller) -> Session:
        """Takes the wheel: from now on this surface drives."""
        ...

    async def undo(self, session: SessionId, by: Caller) -> int:
        """Hides the last request and everything after it; returns how many messages."""
        ...

    async def attach(self, session: SessionId, data: bytes, *, media_type: str, name: str = "") -> Attachment: ...

    # reading
    async def get(self, session: SessionId, *, principal: Principal = OWNER) -> Session: ...
    async def resolve(self, words: str, *, principal: Principal = OWNER) -> Session: ...
    async def find(self, listing: Listing) -> list[Session]: ...
    async def search(self, search: SearchQuery) -> list[SearchHit]: ...
    async def messages(self, session: SessionId, *, principal: Principal = OWNER) -> Sequence[Recorded]: ...
    async def change(self, old: Session, new: Session) -> Session: ...
    async def running(self, session: SessionId) -> TurnId | None: ...
    async def runtimes(self) -> Sequence[RuntimeInfo]: ...
    async def close(self) -> None: ...
