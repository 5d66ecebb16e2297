"""What every part of a gateway works with, in one hand."""

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
from sojourn.ports.gateway_store import AccountKey as LineName
from sojourn.ports.gateway_store import Incoming, OutgoingDraft
from sojourn.ports.service import Caller, Service
from sojourn.ports.store import Store
from sojourn.service.home_channels import HomeChannels


@dataclass(slots=True)
class GatewayContext:
    """The store, the service, who is who and what goes where. `owner` names this gateway in every row it works on."""

    kit: AppContext
    owner: str
    lines: dict[LineName, PlatformConnection] = field(default_factory=dict)
    keys: SessionKeys = field(init=False)
    people: Identities = field(init=False)
    homes: HomeChannels = field(init=False)
    places: ConversationBindings = field(init=False)

    def __post_init__(self) -> None:
        self.keys = SessionKeys.of(self.settings)
        self.people = Identities(self.store, self.settings)
        self.homes = HomeChannels(self.store, self.settings)
        self.places = ConversationBindings(self.store, self.service, self.keys)

    @property
    def settings(self) -> Settings:
        return self.kit.settings

    @property
    def store(self) -> Store:
        return self.kit.store

    @property
    def service(self) -> Service:
        return self.kit.service

    @property
    def lease(self) -> float:
        """For how long a row is ours without a sign of life."""
        return float(self.settings["gateway.lease_seconds"])

    def line_to(self, platform: str) -> PlatformConnection | None:
        """The line that serves a platform here, those that are up first."""
        found = [line for (name, _), line in self.lines.items() if name == platform]
        return min(found, key=lambda line: line.state != "up", default=None)

    def speaker(self, platform: str, person: Identity, sender: Sender) -> Caller:
        holder = f"gateway on {socket.gethostname()} (pid {os.getpid()})"
        return Caller(surface=platform, principal=person.principal, holder=holder, name=person.name or sender.name)

    def address(
        self, item: Incoming, place: Place, *, reply_to: str = "", session: SessionId | None = None
    ) -> ReplyTarget:
        """Where the answer to an incoming message goes."""
        return ReplyTarget(
            platform=item.platform,
            account=item.account,
            key=item.place,
            place=place,
            reply_to=reply_to,
            session=session,
        )

    def drafts(self, to: ReplyTarget, key: str, text: str, *, handoff: str = "") -> list[OutgoingDraft]:
        """A text in as many messages as the network needs; only the first one is a reply."""
        line = self.lines.get((to.platform, to.account)) or self.line_to(to.platform)
        most, counting = (line.adapter.info.max_chars, line.adapter.info.counting) if line else (2000, "characters")
        pieces = split_text(text, most - measure_length(DUPLICATE_MARK, counting), counting)
        return [
            to.draft(f"{key}/{n}", piece, handoff=handoff, reply_to=to.reply_to if n == 0 else "")
            for n, piece in enumerate(pieces)
        ]

    async def tell(self, to: ReplyTarget, key: str, text: str) -> None:
        """Puts a text of our own into the outbox; the same key is sent once."""
        await self.store.put_outgoing(self.drafts(to, key, text))
