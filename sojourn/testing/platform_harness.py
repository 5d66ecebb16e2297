"""Test harness of a platform: controls the network's side, sends messages as people do and reads what was posted."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, Protocol, get_args, runtime_checkable

from sojourn.core.errors import Refusal
from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.ports.platform import Button, File, Inbound, PlatformAdapter

# What the contract tests on a network. What a network cannot do is in its harness's `lacks`, each with the reason.
Trial = Literal[
    "told again",  # a message that was not acknowledged is delivered again to the next listener
    "own messages",  # the network echoes the account's own messages, and the adapter drops them
    "other bots",
    "too long",  # the network refuses messages over its limit
    "bad format",
    "rate limit",
    "forbidden",  # the account may not write there
    "not found",  # the chat is gone
    "a lost line",  # the harness can drop the connections of listeners
    "no line at all",  # the harness can make sending fail
    "a wrong key",
    "files in",  # people can send files
    "a bad name",  # some texts cannot name a chat
    "two people",  # the network tells people apart
]
TIMEOUT_SECONDS = 45.0  # longer than a mailbox without a push is polled
QUIET_SECONDS = 0.3  # for what must not happen

PICTURE = File(name="dot.png", media_type="image/png", data=b"\x89PNG\r\n\x1a\n" + bytes(range(64)))


@dataclass(frozen=True, slots=True, kw_only=True)
class PostedMessage:
    """A message as people see it on the network. `by` is the sender's id there."""

    id: str
    text: str
    by: str = ""
    files: tuple[File, ...] = ()
    buttons: tuple[Button, ...] = ()
    reactions: tuple[str, ...] = ()


@runtime_checkable
class HasButtons(Protocol):
    """A harness of a network with buttons; required if the adapter has `ask`."""

    async def press(self, place: Place, posted: PostedMessage, button: Button, by: Sender) -> None:
        """Presses a button as this person."""
        ...


class PlatformHarness(Protocol):
    """One network with one account of ours on it. See `platform_contract`."""

    lacks: Mapping[str, str]
    secret: str  # the credential, "" if the network needs none
    chats: Mapping[PlaceKind, str]  # for each kind of chat there is, the words that name one (for `home`)
    threads: Sequence[PlaceKind]  # in which of these a thread can be opened
    people: tuple[Sender, Sender]  # two people who write there

    def connect(self) -> PlatformAdapter:
        """Returns an adapter for our account; each call returns another one for the same account."""
        ...

    def connect_wrongly(self) -> PlatformAdapter:
        """Returns an adapter whose credential the network refuses."""
        ...

    async def until_listening(self) -> None:
        """Waits until the adapter is connected, so that it receives what is written from now on."""
        ...

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        """Sends a message to us as this person, with a mention where the network needs one; returns its id."""
        ...

    async def read_messages(self, place: Place) -> list[PostedMessage]:
        """Returns the messages of a chat or thread, from anybody, oldest first."""
        ...

    async def refuse(self, kind: Refusal, retry_after: float | None = None) -> None:
        """Makes the network refuse the next message with this error, once."""
        ...

    async def drop_connections(self) -> None:
        """Drops the connections of all listeners; new connections succeed."""
        ...

    async def break_sending(self) -> None:
        """Makes every message from now on fail without a reply from the network."""
        ...

    async def close(self) -> None: ...


def check_lacks(lacks: Mapping[str, str]) -> None:
    """Checks that every name in `lacks` exists and has a reason."""
    known = set(get_args(Trial))
    assert set(lacks) <= known, f"unknown: {sorted(set(lacks) - known)}"
    assert all(len(why.split()) > 2 for why in lacks.values()), "each needs a reason, in words"


class InboundListener:
    """Listens as the gateway does: asking for the next message acknowledges the last one."""

    def __init__(self, adapter: PlatformAdapter) -> None:
        self._messages: AsyncGenerator[Inbound, None] = adapter.listen()
        self._next: asyncio.Task[Inbound] | None = None

    def open(self) -> None:
        """Starts waiting for the next message, which acknowledges the last one."""
        if self._next is None:
            self._next = asyncio.ensure_future(anext(self._messages))

    async def hear(self, seconds: float = TIMEOUT_SECONDS) -> Inbound:
        """Returns the next message, not yet acknowledged."""
        self.open()
        assert self._next is not None
        waiting, _ = await asyncio.wait({self._next}, timeout=seconds)
        assert waiting, f"nothing was heard within {seconds:g} seconds"
        heard, self._next = self._next, None
        return heard.result()

    async def hears_nothing(self, seconds: float = QUIET_SECONDS) -> None:
        self.open()
        assert self._next is not None
        heard, _ = await asyncio.wait({self._next}, timeout=seconds)
        assert not heard, f"heard {self._next.result()!r}"

    async def close(self) -> None:
        if self._next is not None:
            self._next.cancel()
            with suppress(asyncio.CancelledError, StopAsyncIteration, Exception):
                await self._next
        await self._messages.aclose()
