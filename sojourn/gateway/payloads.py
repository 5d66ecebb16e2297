"""The JSON payloads of inbox and outbox rows, and the reply target."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sojourn.core.attachments import Attachment
from sojourn.core.messages import Json
from sojourn.core.places import Place, Sender, build_session_key
from sojourn.core.sessions import SessionId
from sojourn.core.settings import Settings
from sojourn.ports.gateway_store import Incoming, Outgoing, OutgoingDraft
from sojourn.ports.platform import Button, Inbound
from sojourn.text.codec import decode_value, encode_value
from sojourn.text.redaction import mark_identifiers

_SOJOURN = Sender(id="sojourn", name="Sojourn", is_bot=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class InboundPayload:
    """A message that came in. `handoff` marks the gateway's own announcement that a session arrives."""

    place: Place
    text: str
    sender: Sender = _SOJOURN
    id: str = ""
    at: float = 0.0
    mentioned: bool = True
    named: bool | None = None
    reply_to: str = ""
    files: int = 0
    handoff: str = ""
    pressed: str = ""  # the value of a button; then `text` is its label


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboundPayload:
    """A message to send. One with `grows` or `buttons` is edited later, and is `delivered` only after that."""

    place: Place
    text: str
    reply_to: str = ""
    handoff: str = ""
    grows: str = ""  # the turn whose answer is streamed into this message
    buttons: tuple[Button, ...] = ()
    file: Attachment | None = None  # then `text` is sent where no file can be sent


class SessionKeys:
    """Builds session keys from places, as the settings say."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def key(self, place: Place, sender: Sender | None) -> str:
        return build_session_key(
            place,
            sender,
            group_sessions_per_user=self._settings["gateway.group_sessions_per_user"],
            thread_sessions_per_user=self._settings["gateway.thread_sessions_per_user"],
        )

    def personal_key(self, place: Place, sender: Sender) -> str:
        """The key of one person's own conversation in a place, whatever the settings say."""
        return build_session_key(place, sender, group_sessions_per_user=True, thread_sessions_per_user=True)


def payload_from_inbound(inbound: Inbound) -> InboundPayload:
    return InboundPayload(
        place=inbound.place,
        text=inbound.text,
        sender=inbound.sender,
        id=inbound.id,
        at=inbound.at,
        mentioned=inbound.mentioned,
        named=inbound.named,
        reply_to=inbound.reply_to,
        files=len(inbound.files),
        pressed=inbound.pressed,
    )


def encode_payload(payload: InboundPayload | OutboundPayload) -> Json:
    """Leaves out what is empty. `False` stays: what does not mention us must not come back as something that does."""
    fields = encode_value(payload).items()
    return mark_identifiers({name: one for name, one in fields if one is False or one not in ("", 0, None, [])})


def decode_inbound(item: Incoming) -> InboundPayload:
    return decode_value(InboundPayload, item.payload)


def decode_outbound(item: Outgoing) -> OutboundPayload:
    return decode_value(OutboundPayload, item.payload)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplyTarget:
    """Where an answer goes: the account that sends it, the place, and the conversation key that keeps the order."""

    platform: str
    account: str
    key: str
    place: Place
    session: SessionId | None = None
    reply_to: str = ""

    def draft(self, key: str, text: str, **fields: Any) -> OutgoingDraft:
        """An outbox row; `fields` are further fields of OutboundPayload."""
        payload = replace(OutboundPayload(place=self.place, text=text, reply_to=self.reply_to), **fields)
        return OutgoingDraft(
            key=key,
            platform=self.platform,
            account=self.account,
            place=self.key,
            payload=encode_payload(payload),
            session=self.session,
        )
