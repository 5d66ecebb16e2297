"""PlatformAdapter: a chat network, translated. Reconnecting, retrying, splitting, de-duplicating and routing are
the gateway's; an adapter decides nothing. An ability is a method; lacking it is not failing."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, runtime_checkable

from sojourn.core.places import Place, Sender

Counting = Literal["characters", "utf16", "bytes"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformInfo:
    """What the gateway has to know about a network."""

    name: str
    label: str
    max_chars: int = 4000
    counting: Counting = "characters"  # what max_chars counts
    prefix: str = "/"  # how commands begin where / belongs to the network itself
    owner: str = ""  # the sender the network itself proves to be the owner of this installation, if it can
    system: bool = False  # events of a machine, not words of a person: no pairing, no answer to strangers


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """A file that came with a message or goes with one."""

    name: str
    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Button:
    """Something to press under a message. `value` comes back then: at most 60 letters, digits and signs of ASCII."""

    label: str
    value: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Inbound:
    """Something that was written. `id` is the network's own and the same when it is told again."""

    id: str
    place: Place
    sender: Sender
    text: str
    files: tuple[File, ...] = ()
    at: float = 0.0
    reply_to: str = ""
    mentioned: bool = True  # whether it speaks to us; in groups often only what names us does
    pressed: str = ""  # the value of a button; then `text` is its label, and `reply_to` the message it stood under


@dataclass(frozen=True, slots=True, kw_only=True)
class Sent:
    """Where it went, and what the network calls it."""

    place: Place
    id: str


class PlatformAdapter(Protocol):
    """One account on one network."""

    info: PlatformInfo

    @property
    def account(self) -> str:
        """Which account this is, without giving its credential away: one process at a time uses it."""

    def listen(self) -> AsyncGenerator[Inbound, None]:
        """What comes in, until closed. When the generator is resumed after an item, that item is safely kept: only
        then is it acknowledged to the network. Losing the line is raised as PlatformDown; a wrong credential as
        KeyRefused. Own messages and those of other bots are left out."""

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        """One message of at most max_chars, Markdown unless `plain`. SendRefused, PlatformDown. A call that is cut off
        by a lost line raises PlatformDown: the gateway marks it as possibly delivered."""

    def home(self, chat: str) -> Place:
        """The place a person names in words or settings, built as for inbound messages. BadInput."""

    async def close(self) -> None: ...


@runtime_checkable
class CanThread(Protocol):
    async def create_handoff_thread(self, parent: Place, name: str) -> Place:
        """A fresh thread, as a Place with the key its next message will have. ThreadsUnsupported says why not, and
        NoThreadHere what `parent` is instead."""


@runtime_checkable
class CanEdit(Protocol):
    async def edit(self, sent: Sent, text: str, *, plain: bool = False) -> None:
        """Shows this instead; buttons that stood under it are gone. SendRefused."""


@runtime_checkable
class CanAsk(Protocol):
    """Has buttons. Whoever has them can also `edit`, so that a question can be shown as answered."""

    async def ask(
        self, place: Place, text: str, buttons: Sequence[Button], *, plain: bool = False, reply_to: str = ""
    ) -> Sent:
        """Like `send`, with buttons. Who presses one is heard like who writes: an Inbound with `pressed`, kept before
        the network is told that it was heard."""


@runtime_checkable
class CanType(Protocol):
    async def typing(self, place: Place) -> None: ...


@runtime_checkable
class CanReact(Protocol):
    async def react(self, sent: Sent, sign: str) -> None:
        """Puts an emoji to a message, ours or another's. SendRefused for a sign the network does not have."""


@runtime_checkable
class CanSendFiles(Protocol):
    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent: ...
