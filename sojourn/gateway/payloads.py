"""What stands in the journal's rows: a message that came in, and one that goes out, as JSON and back."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from sojourn.core.attachments import Attachment
from sojourn.core.codec import decode_value, encode_value
from sojourn.core.messages import Json
from sojourn.core.places import Place, Sender, build_session_key
from sojourn.core.sessions import SessionId
from sojourn.core.settings import Settings
from sojourn.ports.gateway_store import Incoming, Outgoing, OutgoingDraft
from sojourn.ports.platform import Button, Inbound

NOBODY = Sender(id="sojourn", name="Sojourn", is_bot=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundPayload:
    """Something that came in. `handoff`: it is our own word that a session arrives here."""

    place: Place
    text: str
    sender: Sender = NOBODY
    id: str = ""
    at: float = 0.0
    mentioned: bool = True
    files: int = 0
    handoff: str = ""
    pressed: str = ""  # the value of a button; then `text` is its label


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboundPayload:
    """Something to be sent. `grows`: the turn whose answer it shows while it is written. One that grows or has buttons
    is changed once more, and is `delivered` only then."""

    place: Place
    text: str
    reply_to: str = ""
    handoff: str = ""
    grows: str = ""
    after: int = 0  # from which number of the log on it grows
    buttons: tuple[Button, ...] = ()
    file: Attachment | None = None  # then `text` is what is said where no file can be sent


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionKeys:
    """How places become keys, as the settings want it."""

    per_person_in_groups: bool = True
    per_person_in_threads: bool = False

    @classmethod
    def of(cls, settings: Settings) -> SessionKeys:
        return cls(
            per_person_in_groups=bool(settings["gateway.group_sessions_per_user"]),
            per_person_in_threads=bool(settings["gateway.thread_sessions_per_user"]),
        )

    def key(self, place: Place, sender: Sender | None) -> str:
        return build_session_key(
            place,
            sender,
            group_sessions_per_user=self.per_person_in_groups,
            thread_sessions_per_user=self.per_person_in_threads,
        )

    def own(self, place: Place, sender: Sender) -> str:
        """The key of one person's own conversation there, whatever the settings say."""
        return build_session_key(place, sender, group_sessions_per_user=True, thread_sessions_per_user=True)


def payload_from_inbound(inbound: Inbound) -> InboundPayload:
    return InboundPayload(
        place=inbound.place,
        text=inbound.text,
        sender=inbound.sender,
        id=inbound.id,
        at=inbound.at,
        mentioned=inbound.mentioned,
        files=len(inbound.files),
        pressed=inbound.pressed,
    )


def encode_payload(value: InboundPayload | OutboundPayload) -> Json:
    return {name: inner for name, inner in encode_value(value).items() if inner not in ("", 0, None, [])}


def decode_inbound(item: Incoming) -> InboundPayload:
    return decode_value(InboundPayload, item.payload)


def decode_outbound(item: Outgoing) -> OutboundPayload:
    return decode_value(OutboundPayload, item.payload)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyTarget:
    """Where an answer goes: the line it leaves by, the place, and the key under which that place keeps its order."""

    platform: str
    account: str
    key: str
    place: Place
    session: SessionId | None = None
    reply_to: str = field(default="")

    def draft(self, key: str, text: str, **more: Any) -> OutgoingDraft:
        parcel = replace(OutboundPayload(place=self.place, text=text, reply_to=self.reply_to), **more)
        return OutgoingDraft(
            key=key,
            platform=self.platform,
            account=self.account,
            place=self.key,
            payload=encode_payload(parcel),
            session=self.session,
        )
