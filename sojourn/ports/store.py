"""Store: sessions, their numbered log, leases and records, as a sum of small protocols."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeVar

from sojourn.core.events import Yielded
from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER, Change, Control, Lease, Principal, Recorded, Session, SessionId, TurnId
from sojourn.ports.gateway_store import GatewayStore
from sojourn.ports.handoffs import HandoffStore
from sojourn.ports.history import History
from sojourn.ports.store_admin import Ingest, StoreAdmin
from sojourn.text.query import Snippet

T = TypeVar("T")
Log = AsyncGenerator[Recorded, None]
Kinds = str | tuple[str, ...]  # of records
SearchOrder = Literal["newest", "relevance"]
HealthState = Literal["healthy", "degraded", "read-only", "recovering"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionFilter:
    """Which sessions are listed or searched. Of several values a session has one; of `tags` it has all."""

    principal: Principal = OWNER
    text: str = ""
    sources: tuple[str, ...] = ()
    programs: tuple[str, ...] = ()
    machines: tuple[str, ...] = ()  # labels
    projects: tuple[str, ...] = ()  # folders
    models: tuple[str, ...] = ()
    tools: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    model: str = ""
    archived: bool | None = None  # None: both
    since: float | None = None
    until: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing(SessionFilter):
    """Filter and page of a session list, newest activity first. `text` are words of the title."""

    parent: SessionId | None = None
    archived: bool | None = False
    trashed: bool = False  # those in the trash, else those that are not
    subagents: bool = True
    pinned: bool | None = None
    limit: int = 50
    before: tuple[float, str] | None = None  # (last_active, id) of the last session shown
    skip: int = 0  # offset, for jumping to a page


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchQuery(SessionFilter):
    """A message search. It never finds undone messages; it does find summarised and archived ones."""

    session: SessionId | None = None
    roles: tuple[str, ...] = ()
    tool: str = ""
    limit: int = 20
    before: int | None = None  # the `at` of the last hit shown
    order: SearchOrder = "newest"  # or "relevance": words may be missing or have other endings; the best come first
    recall_in: SessionId | None = None  # by relevance for this session: neighbours of hits too, not what it has itself


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchHit:
    """A message or title that matches, in the order asked for; the `seq` of a title is 0."""

    session: SessionId
    seq: int
    role: str
    timestamp: float
    snippet: Snippet
    title: str | None = None
    source: str = ""
    tool_name: str | None = None
    at: int = 0  # cursor for the next page
    score: float = 0.0  # by relevance
    text: str = ""  # the whole of it, for recall
    imported: bool = False  # from another program


@dataclass(frozen=True, slots=True, kw_only=True)
class Removed:
    """The result of a deletion: rows per table, files, and what could not be reached."""

    session: SessionId
    rows: Mapping[str, int]
    sessions: tuple[SessionId, ...] = ()  # the session and its sub-agents
    files: tuple[str, ...] = ()
    backups: tuple[str, ...] = ()  # copies that may still hold it
    remaining: tuple[str, ...] = field(default=())


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """The state of the store, the error behind it and the next step."""

    state: HealthState
    store: str  # its address, without passwords
    readable: bool = True
    code: str = "ok"
    error: str = ""
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """A small JSON document under a kind and a key: a runtime's state, a fact, a pairing …"""

    kind: str
    key: str
    value: Json
    principal: Principal = OWNER
    session: SessionId | None = None  # the record is deleted together with this session
    revision: int = 0  # 1 for a new record; grows with each change
    created_at: float = 0.0
    updated_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PendingQuestion:
    """A question that waits for a person. `exact` is the only copy of the text that will run; it is never redacted."""

    id: str
    turn: TurnId
    exact: str
    sha256: str  # of `exact`
    asked_at: float = 0.0


class Transaction(Protocol):
    """The store inside one transaction, without awaiting. Each method is described where the store has it."""

    def create(self, **values: Any) -> Session: ...
    def get(self, session: SessionId, *, principal: Principal | None = None) -> Session: ...
    def change(self, old: Session, new: Session) -> Session: ...
    def set_title(self, session: SessionId, title: str, *, instead_of: str | None = None) -> str | None: ...
    def get_blob(self, session: SessionId, hash: str) -> tuple[bytes, str]: ...
    def set_driver(self, session: SessionId, surface: str, *, fence: int | None = None) -> Session: ...
    def lease(self, session: SessionId, *, holder: str, surface: str, seconds: float = 30.0) -> Lease: ...
    def renew(self, lease: Lease, seconds: float = 30.0) -> Lease: ...
    def send_control(self, session: SessionId, kind: str, payload: Json = None, *, by: str = "") -> Control: ...
    def append(
        self, lease: Lease, items: Sequence[Yielded], *, turn: TurnId | None = None, release: bool = False
    ) -> list[Recorded]: ...
    def set_flags(self, lease: Lease, seqs: Sequence[int], *, active: bool, compacted: bool) -> int: ...
    def read(self, session: SessionId, *, after: int = 0, messages_only: bool = False) -> Iterator[Recorded]: ...
    def put_question(self, session: SessionId, asked: PendingQuestion) -> None: ...
    def put_record(self, record: Record, *, expect: int | None = None) -> Record: ...
    def get_record(self, kind: str, key: str) -> Record | None: ...
    def list_records(
        self, kind: Kinds, *, session: SessionId | None = None, prefix: str = "", after: str = "", limit: int = 1000
    ) -> list[Record]: ...
    def delete_record(self, kind: str, key: str, *, expect: int | None = None) -> bool: ...


class SessionTable(Protocol):
    """Creates, finds, changes and deletes sessions."""

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

    # with its details; NotFound, also if it is not `principal`'s
    async def get(self, session: SessionId, *, principal: Principal | None = None) -> Session: ...
    # by its id, a unique beginning of one, or its title; NotFound, Ambiguous
    async def resolve(self, words: str, *, principal: Principal = OWNER) -> Session: ...
    async def find(self, listing: Listing) -> list[Session]: ...
    async def count(self, listing: Listing) -> int: ...  # regardless of `limit`, `skip` and `before`
    async def branch(self, session: SessionId, at: int, *, source: str) -> Session: ...  # with messages up to `at`
    async def count_facets(self, listing: Listing) -> dict[str, dict[str, int]]: ...  # sessions by facet and value
    async def change(self, old: Session, new: Session) -> Session:
        """Sets title, tags, pin, archive, trash, model, folder if `old.revision` is current. Conflict, TitleTaken."""

    async def set_title(self, session: SessionId, title: str, *, instead_of: str | None = None) -> str | None:
        """Sets a title unless the person has set another than `instead_of`; a taken one gets a free number."""

    async def delete(self, session: SessionId, *, lease: Lease | None = None) -> Removed: ...  # its sub-agents, too
    # deletes a session, overwrites its bytes in the store's files, and leaves a hash that blocks re-import
    async def forget(self, session: SessionId) -> Removed: ...


class SessionLog(Protocol):
    """Appends to, reads and searches the log of sessions. Items are numbered 1, 2, 3 … per session."""

    async def append(self, lease: Lease, items: Sequence[Yielded], *, turn: TurnId | None = None) -> list[Recorded]:
        """Stores items in one transaction before it returns. An answered approval removes its pending question, and
        `done` all of them. LeaseLost, NotDriving."""

    async def redact(self, items: Sequence[Yielded]) -> list[Yielded]: ...  # for `Transaction.append`
    async def get_question(self, session: SessionId, id: str) -> PendingQuestion | None: ...
    async def list_waiting(self) -> list[SessionId]: ...  # sessions with a question that waits
    # With `before`, read yields what is below it, newest first.
    def read(self, session: SessionId, *, after: int = 0, before: int = 0, messages_only: bool = False) -> Log: ...
    # reads, then yields each new item from any process until the iterator is closed
    def watch(self, session: SessionId, *, after: int = 0) -> Log: ...
    async def search(self, search: SearchQuery) -> list[SearchHit]: ...
    # undoes, restores or marks messages as summarised; returns the number of changed rows
    async def set_flags(self, lease: Lease, seqs: Sequence[int], *, active: bool, compacted: bool) -> int: ...
    async def end(self, lease: Lease, reason: str) -> Session: ...  # an ended session keeps its first reason


class Leases(Protocol):
    """The driver of a session, its turn lease, and controls for the process that holds the lease."""

    # `fence`: only if this is still the driver's fence, else Conflict
    async def set_driver(self, session: SessionId, surface: str, *, fence: int | None = None) -> Session: ...
    # of the turn; a session without a driver gets this surface. SessionBusy, NotDriving
    async def lease(self, session: SessionId, *, holder: str, surface: str, seconds: float = 30.0) -> Lease: ...
    async def renew(self, lease: Lease, seconds: float = 30.0) -> Lease: ...  # 0 releases it. LeaseLost
    async def send_control(self, session: SessionId, kind: str, payload: Json = None, *, by: str = "") -> Control: ...
    # yields each control of this turn once, until closed; LeaseLost
    def controls(self, lease: Lease) -> AsyncGenerator[Control, None]: ...


class ChangeFeed(Protocol):
    """The feed of changes to all sessions."""

    async def changes(self, *, after: int = 0, limit: int = 1000) -> list[Change]: ...
    def watch_changes(self, *, after: int = 0) -> AsyncGenerator[Change, None]: ...
    async def last_change(self) -> int: ...


class SessionStore(SessionTable, SessionLog, Leases, ChangeFeed, Protocol):
    """Sessions and everything in them."""

    async def transact(self, work: Callable[[Transaction], T]) -> T:
        """Runs `work` in one transaction, on disk when this returns. It may run twice: it must have no other effect."""

    async def snapshot(self, work: Callable[[Transaction], T]) -> T: ...  # runs `work`, which only reads
    async def health(self) -> Health: ...  # never raises
    async def close(self) -> None: ...


class RecordStore(Protocol):
    """Records by kind and key. Keys are compared exactly and listed in order."""

    async def put_record(self, record: Record, *, expect: int | None = None, lease: Lease | None = None) -> Record:
        """Stores a record, redacted like messages.

        expect: the revision it must have now (0: it must not exist), else Conflict; None overwrites any
        lease: write only while this lease is held; else LeaseLost, NotDriving
        """

    async def get_record(self, kind: str, key: str) -> Record | None: ...
    async def list_records(
        self,
        kind: str,
        *,
        principal: Principal | None = None,
        session: SessionId | None = None,
        prefix: str = "",
        after: str = "",
        limit: int = 1000,
    ) -> list[Record]: ...

    async def delete_record(self, kind: str, key: str, *, expect: int | None = None) -> bool: ...
    async def stamp_records(self, kind: str, principal: Principal) -> str: ...  # changes with each change of one


class BlobStore(Protocol):
    """Attachments by content hash, each stored once and deleted with the last session that has it."""

    async def put_blob(self, session: SessionId, data: bytes, *, media_type: str, name: str = "") -> str: ...
    async def get_blob(self, session: SessionId, hash: str) -> tuple[bytes, str]: ...  # bytes, media type; NotFound


class Store(SessionStore, Ingest, StoreAdmin, BlobStore, RecordStore, HandoffStore, GatewayStore, Protocol):
    """A whole database: the sum of the store ports. A part asks for the smallest port it uses."""

    def history(self) -> History:
        """Opens the same data for scanners: synchronous, picklable, read-only."""
