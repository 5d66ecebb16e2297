"""Dependencies shared by the gateway's parts."""

from __future__ import annotations

import os
import socket

from sojourn.core.places import Place, Sender
from sojourn.core.sessions import SessionId
from sojourn.gateway.bindings import ConversationBindings
from sojourn.gateway.connection import PlatformConnection
from sojourn.gateway.pairing import Identities, Identity
from sojourn.gateway.pairing_invitations import PairingInvitations
from sojourn.gateway.payloads import ReplyTarget, SessionKeys
from sojourn.gateway.render import split_messages
from sojourn.ports.app import AppContext
from sojourn.ports.gateway_store import AccountKey, Incoming, OutgoingDraft
from sojourn.ports.platform import PlatformAdapter, PlatformInfo
from sojourn.ports.service import Caller, Service
from sojourn.ports.store import Store
from sojourn.turn_support.handoff_destinations import HomeChannels

_DEFAULT_MAX_CHARS = 2000  # for a network without a connection in this process


class GatewayContext:
    """The application, this gateway's connections and its registries. `owner` marks the rows this gateway claims."""

    def __init__(self, app: AppContext, owner: str) -> None:
        self.owner, self.settings = owner, app.settings
        self.store: Store = app.store
        self.service: Service = app.service
        self.connections: dict[AccountKey, PlatformConnection] = {}
        self.lease_seconds = float(app.settings["gateway.lease_seconds"])  # of a claimed row
        self.keys = SessionKeys(app.settings)
        self.identities = Identities(app.store, app.settings)
        self.invitations = PairingInvitations(app.store)
        self.homes = HomeChannels(app.store, app.settings)
        self.bindings = ConversationBindings(app.store, app.service, self.keys)

    def find_adapter(self, to: ReplyTarget) -> PlatformAdapter | None:
        """The adapter that sends to a target, if this gateway has it."""
        connection = self.connections.get((to.platform, to.account))
        return connection.adapter if connection is not None else None

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
        adapter = self.find_adapter(to)
        if adapter is None and (connection := self.connection_to(to.platform)):
            adapter = connection.adapter
        info = adapter.info if adapter else PlatformInfo(name=to.platform, label="", max_chars=_DEFAULT_MAX_CHARS)
        return [
            to.draft(f"{key}/{n}", piece, handoff=handoff, reply_to=to.reply_to if n == 0 else "")
            for n, piece in enumerate(split_messages(text, info))
        ]

    async def enqueue_text(self, to: ReplyTarget, key: str, text: str) -> None:
        """Puts a text of the gateway itself into the outbox; the same key is sent once."""
        await self.store.put_outgoing(self.drafts(to, key, text))
