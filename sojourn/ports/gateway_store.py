"""The gateway's journal: what came in, what goes out, which chat talks to which session, and who is at work.

Nothing is acknowledged before it is in the inbox, and nothing is sent that is not in the outbox. Whoever works on a
row holds it for a while; if its time runs out, somebody else takes it up. Texts are redacted like messages.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from sojourn.core.events import empty_mapping
from sojourn.core.messages import Json
from sojourn.core.sessions import OWNER, Principal, SessionId, TurnId
from sojourn.ports.platform import File

AccountKey = tuple[str, str]  # platform and account: one credential, one connection
Topic = Literal[
    "inbox", "outbox", "bindings", "gateways", "handoffs", "records"  # those that belong to no session
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """A message of a chat: waiting → running → done | failed. Rows of a place are worked on one after another."""

    id: int
    platform: str
    account: str
    message_id: str
    place: str  # the key of the conversation it belongs to
    payload: Json
    state: Literal["waiting", "running", "done", "failed"] = "waiting"
    attempts: int = 0  # how often it was taken up; more than once: look first what became of the last time
    owner: str = ""
    fence: int = 0
    until: float = 0.0
    next_try_at: float = 0.0
    session: SessionId | None = None
    turn: TurnId | None = None
    error: str = ""
    received_at: float = 0.0
    finished_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingDraft:
    """Something to be sent. The same key is sent once, however often it is put."""

    key: str
    platform: str
    account: str
    place: str
    payload: Json
    session: SessionId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing:
    """Something on its way: pending → sending → sent → delivered, or failed. Each place keeps its order."""

    id: int
    key: str
    platform: str
    account: str
    place: str
    payload: Json
    session: SessionId | None = None
    state: Literal["pending", "sending", "sent", "delivered", "failed"] = "pending"
    attempts: int = 0
    possible_duplicate: bool = False  # it may have been sent before: whoever sent it died, or heard no answer
    owner: str = ""
    fence: int = 0
    until: float = 0.0
    next_try_at: float = 0.0
    message_id: str = ""  # the platform's, once sent
    error: str = ""
    created_at: float = 0.0
    sent_at: float | None = None
    finished_at: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Binding:
    """A place and the session it talks to. What was there before can be brought back."""

    place: str
    session: SessionId | None  # None: it went to another place
    previous: SessionId | None = None
    principal: Principal = OWNER
    details: Mapping[str, Json] = field(default_factory=empty_mapping)  # how to reach the place
    revision: int = 0
    updated_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """A gateway that is alive. `health` says per platform how it gets on."""

    id: str
    host: str = ""
    pid: int = 0
    health: Mapping[str, Json] = field(default_factory=empty_mapping)
    started_at: float = 0.0
    beat_at: float = 0.0
    until: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialLease:
    """The right to use one credential. One process has it at a time."""

    credential: str  # a name or a hash, never the secret itself
    owner: str
    fence: int
    until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionHealth:
    """Whether a line makes progress: what came last, what went last, what waits and since when."""

    platform: str
    account: str
    waiting: int = 0
    oldest_waiting: float | None = None
    last_received: float | None = None
    pending: int = 0
    oldest_pending: float | None = None
    last_sent: float | None = None
    failed: int = 0


class Inbox(Protocol):
    """Claims go to exactly one owner; a row whose owner died is claimed again. LeaseLost tells a late owner."""

    async def add_incoming(
        self, platform: str, account: str, message_id: str, *, place: str, payload: Json, files: Sequence[File] = ()
    ) -> Incoming | None:
        """On disk when this returns; None if that message was kept before. Acknowledge it either way."""

    async def incoming_files(self, item: Incoming) -> tuple[File, ...]:
        """What came along, as it came; gone when it is done, because by then the session has them."""

    async def claim_incoming(
        self,
        owner: str,
        *,
        lines: Sequence[AccountKey] | None = None,
        place: str | None = None,
        out_of_turn: bool = False,
        limit: int = 1,
        seconds: float = 60.0,
    ) -> list[Incoming]:
        """The oldest, one of each place. `ahead` takes what waits behind a running one (to steer or to stop it)."""

    async def update_incoming(
        self, item: Incoming, *, seconds: float = 60.0, session: SessionId | None = None, turn: TurnId | None = None
    ) -> Incoming:
        """Renews, and keeps what it became: that is what an heir needs to know. LeaseLost, NotFound."""

    async def finish_incoming(
        self, item: Incoming, state: Literal["done", "failed"] = "done", *, error: str = "", turn: TurnId | None = None
    ) -> Incoming: ...  # `turn`: which answered it
    async def release_incoming(self, item: Incoming, *, seconds: float = 0.0, error: str = "") -> Incoming:
        """Lets it wait again, for at least so long."""

    async def incoming(
        self,
        *,
        place: str | None = None,
        session: SessionId | None = None,
        states: Sequence[str] = (),
        limit: int = 100,
    ) -> list[Incoming]: ...  # oldest first


class Outbox(Protocol):
    """What is put is sent once; where that cannot be known, the row says so."""

    async def put_outgoing(self, drafts: Sequence[OutgoingDraft]) -> list[Outgoing]:
        """All of them or none, in this order; one whose key is known comes back as it stands. NotFound."""

    async def claim_outgoing(
        self, owner: str, *, lines: Sequence[AccountKey] | None = None, limit: int = 1, seconds: float = 60.0
    ) -> list[Outgoing]:
        """The next of each place; a place waits for its first one. One whose sender died is a possible duplicate."""

    async def renew_outgoing(self, item: Outgoing, *, seconds: float = 60.0) -> Outgoing: ...
    async def finish_outgoing(
        self,
        item: Outgoing,
        state: Literal["sent", "delivered", "failed"] = "sent",
        *,
        message_id: str = "",
        error: str = "",
    ) -> Outgoing: ...  # LeaseLost; `delivered` may follow `sent`

    async def release_outgoing(
        self, item: Outgoing, *, seconds: float, error: str = "", maybe_sent: bool = False
    ) -> Outgoing:
        """Tries again after so long (what the platform asked for). `maybe_sent`: no answer came, it may be there."""

    async def outgoing(
        self,
        *,
        place: str | None = None,
        session: SessionId | None = None,
        states: Sequence[str] = (),
        limit: int = 100,
        newest: bool = False,
    ) -> list[Outgoing]: ...  # oldest first, unless the newest are wanted


class Bindings(Protocol):
    """A session is bound to one place at most: binding it elsewhere frees the first."""

    async def bind(
        self,
        place: str,
        session: SessionId,
        *,
        principal: Principal = OWNER,
        details: Mapping[str, Json] | None = None,
        expect: int | None = None,
    ) -> Binding:
        """The session that was there becomes `previous`. `expect` is the revision that was seen (0: none there).
        NotFound for another person's session, Conflict."""

    async def binding(self, place: str) -> Binding | None: ...
    async def bindings(
        self, *, session: SessionId | None = None, principal: Principal | None = None, prefix: str = ""
    ) -> list[Binding]: ...  # by place
    async def unbind(self, place: str, *, expect: int | None = None) -> bool: ...  # Conflict


class Gateways(Protocol):
    """Who is at work, and who may use which credential."""

    async def heartbeat(self, heartbeat: Heartbeat, *, seconds: float = 15.0) -> Heartbeat: ...
    async def gateways(self, *, alive: bool = True) -> list[Heartbeat]: ...  # by id
    async def retire_gateway(self, id: str) -> bool: ...
    async def lease_credential(self, credential: str, owner: str, *, seconds: float = 30.0) -> CredentialLease | None:
        """None while another one has it; its owner may ask again to renew."""

    async def renew_credential(
        self, hold: CredentialLease, *, seconds: float = 30.0
    ) -> CredentialLease: ...  # 0 lets go. LeaseLost
    async def line_health(self) -> list[ConnectionHealth]: ...  # by platform and account
    async def prune_journal(self, before: float) -> int:
        """Removes finished rows and dead gateways older than that; returns how many."""


class GatewayStore(Inbox, Outbox, Bindings, Gateways, Protocol):
    """All of it, and a bell."""

    def watch_gateway(self, *topics: Topic, seconds: float = 2.0) -> AsyncGenerator[None, None]:
        """Yields at once, then whenever one of these may have changed, in any process, and at least every so many
        seconds. What happens while a reader is busy is told when it comes back."""
