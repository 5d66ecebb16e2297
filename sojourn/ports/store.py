"""SessionStore: keeps, numbers, guards. Knows no models, chats or screens."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from sojourn.core.events import Yielded
from sojourn.core.health import Health
from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER, Change, Control, Lease, Principal, Recorded, Session, SessionId, TurnId
from sojourn.ports.admin import StoreAdmin
from sojourn.ports.blobs import BlobStore
from sojourn.ports.gateway_store import GatewayStore
from sojourn.ports.handoffs import HandoffStore
from sojourn.ports.history import History
from sojourn.ports.ingest import Ingest
from sojourn.ports.records import Record, RecordStore
from sojourn.text.query import Snippet

Log = AsyncGenerator[Recorded, None]  # closing it ends the reading


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """Which sessions a list shows. Newest activity first; `before` pages on from the last one shown."""

    principal: Principal = OWNER
    text: str = ""  # words of the title
    sources: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    model: str = ""
    parent: SessionId | None = None
    since: float | None = None
    until: float | None = None
    archived: bool | None = False  # None = both
    pinned: bool | None = None
    limit: int = 50
    before: tuple[float, str] | None = None  # (last_active, id)
    skip: int = 0  # rows left out first: for whoever jumps; paging on is `before`'s


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery:
    """What to look for. Undone rows are never found; summarised and archived ones are."""

    text: str
    principal: Principal = OWNER
    session: SessionId | None = None
    roles: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()  # of the session: all of them
    model: str = ""  # of the session
    archived: bool | None = None  # None: both
    tool: str = ""
    since: float | None = None
    until: float | None = None
    limit: int = 20
    before: int | None = None  # pages on: the `at` of the last hit


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """One message (or title, then seq is 0) that answers, most recently kept first."""

    session: SessionId
    seq: int
    role: str
    timestamp: float
    snippet: Snippet
    title: str | None = None
    source: str = ""
    tool_name: str | None = None
    at: int = 0  # where to page on from


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """What a deletion took away: rows per table, files, and what could not be reached."""

    session: SessionId
    rows: Mapping[str, int]
    sessions: tuple[SessionId, ...] = ()  # it, and the sub-agents that went with it
    files: tuple[str, ...] = ()
    backups: tuple[str, ...] = ()  # copies that may still hold it
    remaining: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class SideWrites:
    """What is kept in the same moment as words in the log: all of it, or nothing."""

    new: tuple[Record, ...] = ()  # Conflict when one is there already
    put: tuple[Record, ...] = ()
    drop: tuple[tuple[str, str], ...] = ()  # kind and key of records that go
    release_lease: bool = False  # the lease ends with it


class SessionStore(Protocol):
    """The sessions, their numbered log, and who may write to it."""

    async def create(
        self,
        *,
        principal: Principal = OWNER,
        source: str = "cli",
        title: str | None = None,
        parent: SessionId | None = None,
        model: str | None = None,
        cwd: str | None = None,
        id: SessionId | None = None,
        details: Mapping[str, Json] | None = None,
    ) -> Session: ...  # TitleTaken, Forgotten

    async def get(
        self, session: SessionId, *, principal: Principal | None = None
    ) -> Session: ...  # with details; NotFound
    async def resolve(self, words: str, *, principal: Principal = OWNER) -> Session:
        """By id, unique beginning of an id, or title. NotFound, Ambiguous."""

    async def find(self, listing: Listing) -> list[Session]: ...
    async def count(self, listing: Listing) -> int: ...  # how many there are, whatever `limit`, `skip` and `before` say
    async def change(self, old: Session, new: Session) -> Session:
        """Title, tags, pin, archive, model, cwd: compare-and-swap on `revision`. Conflict, TitleTaken."""

    async def search(self, search: SearchQuery) -> list[SearchHit]: ...

    # the log
    async def append(
        self, lease: Lease, items: Sequence[Yielded], *, turn: TurnId | None = None, along: SideWrites | None = None
    ) -> list[Recorded]:
        """Kept, in order, before this returns; numbered 1, 2, 3 … for ever. LeaseLost, NotDriving. With nothing to add,
        nothing is done."""

    def read(self, session: SessionId, *, after: int = 0, messages_only: bool = False) -> Log: ...
    def watch(self, session: SessionId, *, after: int = 0) -> Log:
        """`read`, then everything that follows, from any process, until the iterator is closed."""

    async def set_flags(self, lease: Lease, seqs: Sequence[int], *, active: bool, compacted: bool) -> int:
        """Undoes, restores or summarises messages; returns how many rows changed."""

    async def end(self, lease: Lease, reason: str) -> Session:
        """First writer wins: an ended session keeps its reason."""

    # who may write
    async def set_driver(self, session: SessionId, surface: str, *, fence: int | None = None) -> Session:
        """Makes a surface the driver. With `fence`, only if that is still the driver's number. Conflict."""

    async def lease(self, session: SessionId, *, holder: str, surface: str, seconds: float = 30.0) -> Lease:
        """The turn lease. A session without driver gets this surface. SessionBusy, NotDriving."""

    async def renew(self, lease: Lease, seconds: float = 30.0) -> Lease: ...  # 0 lets go. LeaseLost

    # talking to a running turn
    async def send_control(self, session: SessionId, kind: str, payload: Json = None, *, by: str = "") -> Control: ...
    def controls(self, lease: Lease) -> AsyncGenerator[Control, None]:
        """What others say to this turn, each once, until closed. LeaseLost."""

    # the feed of all sessions
    async def changes(self, *, after: int = 0, limit: int = 1000) -> list[Change]: ...
    def watch_changes(self, *, after: int = 0) -> AsyncGenerator[Change, None]: ...
    async def last_change(self) -> int: ...

    # taking away
    async def delete(self, session: SessionId, *, lease: Lease | None = None) -> Removed:
        """Removes a session and its sub-agents. SessionBusy while a turn runs."""

    async def forget(self, session: SessionId) -> Removed:
        """`delete`, and no byte of it stays in the store's own files; a hashed tombstone keeps it away."""

    async def health(self) -> Health:
        """Never raises."""

    async def close(self) -> None: ...


class Store(SessionStore, Ingest, StoreAdmin, BlobStore, RecordStore, HandoffStore, GatewayStore, Protocol):
    """A database of ours: the sum of the store ports. A part asks for the smaller port it uses."""

    def history(self) -> History:
        """Opens the same data for scanners: synchronous, picklable, read-only."""
