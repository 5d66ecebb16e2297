"""Gateway store: inbox, outbox, bindings of chats to sessions, heartbeats and credential leases.

A gateway acknowledges a message after storing it in the inbox and sends only what is in the outbox. It claims a row
for a limited time; when that expires, another gateway may claim the row. Payloads are redacted like messages.
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
Topic = Literal["inbox", "outbox", "bindings", "gateways", "handoffs", "records"]  # records: those without a session


@dataclass(frozen=True, slots=True, kw_only=True)
class Incoming:
    """An incoming chat message: waiting → running → done | failed. Messages of one place are processed in order."""

    id: int
    platform: str
    account: str
    message_id: str
    place: str  # the key of the conversation it belongs to
    payload: Json
    state: Literal["waiting", "running", "done", "failed"] = "waiting"
    attempts: int = 0  # claims so far; after the first, check what the last one did
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
    """A message to send. Its key makes it idempotent."""

    key: str
    platform: str
    account: str
    place: str
    payload: Json
    session: SessionId | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Outgoing(OutgoingDraft):
    """An outgoing message: pending → sending → sent → delivered, or failed. Each place keeps its order."""

    id: int
    state: Literal["pending", "sending", "sent", "delivered", "failed"] = "pending"
    attempts: int = 0
    possible_duplicate: bool = False  # it may have been sent: the sender died or got no reply
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
    """The session that a chat place talks to, and the one it talked to before."""

    place: str
    session: SessionId | None  # None: bound to another place now
    previous: SessionId | None = None
    principal: Principal = OWNER
    details: Mapping[str, Json] = field(default_factory=empty_mapping)  # how to reach the place
    revision: int = 0
    updated_at: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Heartbeat:
    """A live gateway and the health of its connections."""

    id: str
    host: str = ""
    pid: int = 0
    health: Mapping[str, Json] = field(default_factory=empty_mapping)
    started_at: float = 0.0
    beat_at: float = 0.0
    until: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class CredentialLease:
    """The exclusive right of one process to use a credential."""

    credential: str  # a name or a hash, never the secret itself
    owner: str
    fence: int
    until: float


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionHealth:
    """Progress of one connection: last message in and out, waiting messages and since when."""

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
    """Incoming messages. Exactly one owner claims a row; an owner whose claim expired gets LeaseLost."""

    async def add_incoming(
        self, platform: str, account: str, message_id: str, *, place: str, payload: Json, files: Sequence[File] = ()
    ) -> Incoming | None:
        """Stores a message durably; None if it was stored before. The caller acknowledges it either way."""

    async def incoming_files(self, item: Incoming) -> tuple[File, ...]:
        """The attached files; deleted when the message is done, because the session has them by then."""

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
        """Claims the oldest message of each place; `out_of_turn`: even behind a running one, to steer or stop it."""

    async def update_incoming(
        self, item: Incoming, *, seconds: float = 60.0, session: SessionId | None = None, turn: TurnId | None = None
    ) -> Incoming:
        """Renews the claim and records session and turn for the next owner. LeaseLost, NotFound."""

    async def finish_incoming(
        self, item: Incoming, state: Literal["done", "failed"] = "done", *, error: str = "", turn: TurnId | None = None
    ) -> Incoming: ...  # `turn`: which answered it
    # finishes a message, and stores what answers it in the same transaction
    async def answer_incoming(self, item: Incoming, drafts: list[OutgoingDraft], turn: TurnId | None) -> Incoming: ...
    async def release_incoming(self, item: Incoming, *, seconds: float = 0.0, error: str = "") -> Incoming:
        """Returns a message to the queue for at least `seconds`."""

    async def incoming(
        self,
        *,
        place: str | None = None,
        session: SessionId | None = None,
        states: Sequence[str] = (),
        limit: int = 100,
    ) -> list[Incoming]: ...  # oldest first


class Outbox(Protocol):
    """Outgoing messages, sent once; `possible_duplicate` marks a row where that is not certain."""

    async def put_outgoing(self, drafts: Sequence[OutgoingDraft]) -> list[Outgoing]:
        """Stores all drafts in one transaction, in order; a known key returns its existing row. NotFound."""

    async def claim_outgoing(
        self, owner: str, *, lines: Sequence[AccountKey] | None = None, limit: int = 1, seconds: float = 60.0
    ) -> list[Outgoing]:
        """Claims the next message of each place. One whose sender died is a possible duplicate."""

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
        """Schedules a retry. `maybe_sent`: the platform did not reply, so the message may have arrived."""

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
    """Bindings of places to sessions. A session has one place at most; binding it elsewhere frees the first."""

    async def bind(
        self,
        place: str,
        session: SessionId,
        *,
        principal: Principal = OWNER,
        details: Mapping[str, Json] | None = None,
        expect: int | None = None,
    ) -> Binding:
        """Binds a session; the earlier one becomes `previous`. `expect`: the revision it must have now (0: none).
        Conflict; NotFound for another person's session."""

    async def binding(self, place: str) -> Binding | None: ...
    async def bindings(
        self, *, session: SessionId | None = None, principal: Principal | None = None, prefix: str = ""
    ) -> list[Binding]: ...  # by place
    async def unbind(self, place: str, *, expect: int | None = None) -> bool: ...  # Conflict


class Gateways(Protocol):
    """Live gateways and their credential leases."""

    async def heartbeat(self, heartbeat: Heartbeat, *, seconds: float = 15.0) -> Heartbeat: ...
    async def gateways(self, *, alive: bool = True) -> list[Heartbeat]: ...  # by id
    async def retire_gateway(self, id: str) -> bool: ...
    async def lease_credential(self, credential: str, owner: str, *, seconds: float = 30.0) -> CredentialLease | None:
        """None while another owner holds it; the owner may call again to renew."""

    async def renew_credential(self, hold: CredentialLease, *, seconds: float = 30.0) -> CredentialLease:
        """Renews a credential lease; 0 seconds release it. LeaseLost."""

    async def line_health(self) -> list[ConnectionHealth]: ...  # by platform and account
    async def prune_journal(self, before: float) -> int:
        """Deletes finished rows and dead gateways older than `before`; returns how many."""


class GatewayStore(Inbox, Outbox, Bindings, Gateways, Protocol):
    """All of the gateway's tables."""

    def watch_gateway(self, *topics: Topic, seconds: float = 2.0) -> AsyncGenerator[None, None]:
        """Yields at once, then after each change of a topic in any process, and at least every `seconds`."""
