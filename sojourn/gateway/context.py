"""Dependencies shared by the gateway's parts."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field

from sojourn.core.places import Place, Sender
from sojourn.core.sessions import SessionId
from sojourn.core.settings import Settings
from sojourn.gateway.bindings import ConversationBindings
from sojourn.gateway.connection import PlatformConnection
from sojourn.gateway.pairing import Identities, Identity
from sojourn.gateway.payloads import ReplyTarget, SessionKeys
from sojourn.gateway.render import DUPLICATE_MARK, measure_length, split_text
from sojourn.ports.app import AppContext
from sojourn.ports.gateway_store import AccountKey, Incoming, OutgoingDraft
from sojourn.ports.service import Caller, Service
from sojourn.ports.store import Store
from sojourn.service.home_channels import HomeChannels

_DEFAULT_MAX_CHARS = 2000  # for a network without a connection in this process


@dataclass(slots=True)
class GatewayContext:
    """The application, this gateway's connections and its registries. `owner` marks the rows this gateway claims."""

    app: AppContext
    owner: str
    connections: dict[AccountKey, PlatformConnection] = field(default_factory=dict)
    keys: SessionKeys = field(init=False)
    identities: Identities = field(init=False)
    homes: HomeChannels = field(init=False)
    bindings: ConversationBindings = field(init=False)

    def __post_init__(self) -> None:
        self.keys = SessionKeys.from_settings(self.settings)
        self.identities = Identities(self.store, self.settings)
        self.homes = HomeChannels(self.store, self.settings)
        self.bindings = ConversationBindings(self.store, self.service, self.keys)

    @property
    def settings(self) -> Settings:
        return self.app.settings

    @property
    def store(self) -> Store:
        return self.app.store

    @property
    def service(self) -> Service:
        return self.app.service

    @property
    def lease_seconds(self) -> float:
        """How long a claimed row stays ours without a renewal."""
        return float(self.settings["gateway.lease_seconds"])

    def connection_to(self, platform: str) -> PlatformConnection | None:
        """A connection of this gateway to a platform; one that is up is preferred."""
        candidates = [connection for (name, _), connection in self.connections.items() if name == platform]
        return min(candidates, key=lambda connection: connection.state != "up", default=None)

    def caller(self, platform: str, identity: Identity, sender: Sender) -> Caller:
        holder = f"gateway on {socket.gethostname()} (pid {os.getpid()})"
        return Caller(surface=platform, principal=identity.principal, holder=holder, name=identity.name or sender.name)

    def reply_target(
        self, item: Incoming, place: Place, *, reply_to: str = "", session: SessionId | None = None
    ) -> ReplyTarget:
        """The target of an answer to an incoming message."""
        return ReplyTarget(
            platform=item.platform,
            account=item.account,
            key=item.place,
            place=place,
            reply_to=reply_to,
            session=session,
        )

    def drafts(self, to: ReplyTarget, key: str, text: str, *, handoff: str = "") -> list[OutgoingDraft]:
        """Splits a text into messages of the size the network accepts; only the first one is a reply."""
        connection = self.connections.get((to.platform, to.account)) or self.connection_to(to.platform)
        info = connection.adapter.info if connection else None
        max_chars, counting = (info.max_chars, info.counting) if info else (_DEFAULT_MAX_CHARS, "characters")
        pieces = split_text(text, max_chars - measure_length(DUPLICATE_MARK, counting), counting)
        return [
            to.draft(f"{key}/{n}", piece, handoff=handoff, reply_to=to.reply_to if n == 0 else "")
            for n, piece in enumerate(pieces)
        ]

    async def enqueue_text(self, to: ReplyTarget, key: str, text: str) -> None:
        """Puts a text of the gateway itself into the outbox; the same key is sent once."""
        await self.store.put_outgoing(self.drafts(to, key, text))
