"""PlatformAdapter: translates one chat network. The gateway reconnects, retries, splits, de-duplicates and routes.

An optional ability is a protocol of its own (`CanThread`, `CanEdit` …).
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from sojourn.core.places import Place, Sender

Counting = Literal["characters", "utf16", "bytes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformInfo:
    """Properties of a network."""

    name: str
    label: str
    max_chars: int = 4000
    counting: Counting = "characters"  # what max_chars counts
    prefix: str = "/"  # of commands, where the network itself uses /
    owner: str = ""  # the sender whom the network proves to be the owner
    system: bool = False  # programs send events: guests, one for each sender, without pairing, commands and answers


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file attached to a message."""

    name: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    """A button under a message; a press returns `value`, at most 60 ASCII characters."""

    label: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbound:
    """An incoming message. `id` is the network's, the same on redelivery."""

    id: str
    place: Place
    sender: Sender
    text: str
    files: tuple[File, ...] = ()
    at: float = 0.0
    reply_to: str = ""
    mentioned: bool = True  # whether it addresses us; in groups often only a mention does
    named: bool | None = None  # whether it really names us, where `mentioned` is also true for a reply or a thread
    pressed: str = ""  # the value of a button; then `text` is its label and `reply_to` its message


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """A sent message: its place and the network's id."""

    place: Place
    id: str


class PlatformAdapter(Protocol):
    """One account on one network."""

    info: PlatformInfo

    @property
    def account(self) -> str:
        """Identifies the account without revealing its credential; one process at a time uses it."""

    def listen(self) -> AsyncGenerator[Inbound, None]:
        """Yields incoming messages until closed, without our own and those of other bots. The last item is stored when
        the generator is resumed: acknowledge it only then. PlatformDown on a lost connection, KeyRefused."""

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        """Sends one message of at most `max_chars`, Markdown unless `plain`. SendRefused; PlatformDown if the
        connection breaks during the call: the gateway marks the message as possibly delivered."""

    def home(self, chat: str) -> Place:
        """The place of a chat that a person or a setting names, built as for inbound messages. BadInput."""

    async def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class BotProfile:
    """Whom a credential belongs to, as people see it."""

    name: str
    address: str = ""  # how people reach it: @name, a link, an e-mail address
    picture: str = ""  # its address on the web
    start_link: str = ""  # opens a chat with it, with {code} as the first message


@runtime_checkable
class CanIdentify(Protocol):
    async def identify(self) -> BotProfile:
        """Asks the network whom the credential belongs to, without listening. KeyRefused, PlatformDown."""


@runtime_checkable
class CanThread(Protocol):
    async def create_handoff_thread(self, parent: Place, name: str) -> Place:
        """Creates a thread; its next message has this Place's key. ThreadsUnsupported; NoThreadHere says what it is."""


@runtime_checkable
class CanEdit(Protocol):
    async def edit(self, sent: Sent, text: str, *, plain: bool = False) -> None:
        """Replaces the text of a message and removes its buttons. SendRefused."""


@runtime_checkable
class CanAsk(Protocol):
    """Shows buttons. Where the adapter can also `edit`, an edit removes them; else they stay."""

    async def ask(
        self, place: Place, text: str, buttons: Sequence[Button], *, plain: bool = False, reply_to: str = ""
    ) -> Sent:
        """Sends a message with buttons. A press arrives as an Inbound with `pressed`."""


@runtime_checkable
class CanType(Protocol):
    async def typing(self, place: Place) -> None: ...


@runtime_checkable
class CanReact(Protocol):
    async def react(self, sent: Sent, sign: str) -> None:
        """Adds an emoji to any message. SendRefused for one that the network does not have."""


@runtime_checkable
class CanSendFiles(Protocol):
    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent: ...
