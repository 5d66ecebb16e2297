"""Rigs: what a platform is tried on. A rig is the network's side of the line: it writes as people do, and looks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal, Protocol, get_args, runtime_checkable

from sojourn.core.errors import Refusal
from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.ports.platform import Button, File, Inbound, PlatformAdapter

# What can be tried on a network. What one cannot do stands in its rig's `lacks`, each with the reason.
Trial = Literal[
    "told again",  # what was not acknowledged is told again to the next listener
    "own messages",  # the account's own messages come back to it, and are left out
    "other bots",
    "too long",  # the network refuses what is longer than it takes
    "bad format",
    "rate limit",
    "forbidden",  # the account may not write there
    "not found",  # the chat is gone
    "a lost line",  # the network can drop its listeners
    "no line at all",  # sending can be made to meet a dead line
    "a wrong key",
    "files in",  # people can send files
    "a bad name",  # there are words that cannot name a chat
]
PATIENCE = 10.0  # seconds for what happens on this machine
SILENCE = 0.3  # … and for what must not happen

PICTURE = File(name="dot.png", media_type="image/png", data=b"\x89PNG\r\n\x1a\n" + bytes(range(64)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """A message as people see it on the network. `by` is the sender's id there."""

    id: str
    text: str
    by: str = ""
    files: tuple[File, ...] = ()
    buttons: tuple[Button, ...] = ()
    reactions: tuple[str, ...] = ()


@runtime_checkable
class HasButtons(Protocol):
    """A rig of a network that has buttons: wanted where the adapter has `ask`."""

    async def press(self, place: Place, posted: Posted, button: Button, by: Sender) -> None:
        """A person presses one."""
        ...


class PlatformRig(Protocol):
    """One network with one account of ours on it."""

    lacks: Mapping[str, str]
    secret: str  # the credential, "" if the network needs none
    chats: Mapping[PlaceKind, str]  # for each kind of chat there is, the words that name one (for `home`)
    threads: Sequence[PlaceKind]  # in which of these a thread can be opened
    people: tuple[Sender, Sender]  # two people who write there

    def connect(self) -> PlatformAdapter:
        """The adapter for our account; called again, another one for the same account."""
        ...

    def connect_wrongly(self) -> PlatformAdapter:
        """An adapter whose credential the network refuses."""
        ...

    async def until_listening(self) -> None:
        """Returns when the adapter's line is up, so that what is written now is heard."""
        ...

    async def write(self, place: Place, text: str, by: Sender, *, files: Sequence[File] = ()) -> str:
        """A person writes there, to us (naming us, where only that is heard). Gives the network's id of it."""
        ...

    async def shown(self, place: Place) -> list[Posted]:
        """What stands there, from anybody, oldest first. Threads have their own."""
        ...

    async def refuse(self, kind: Refusal, retry_after: float | None = None) -> None:
        """The next message that is sent is refused like this, once."""
        ...

    async def cut(self) -> None:
        """Drops the line. Whoever connects again gets through."""
        ...

    async def break_sending(self) -> None:
        """From now on nothing that is sent gets an answer."""
        ...

    async def close(self) -> None: ...


def check_lacks(lacks: Mapping[str, str]) -> None:
    """What is lacking is known by name, and there is a reason."""
    known = set(get_args(Trial))
    assert set(lacks) <= known, f"not known: {sorted(set(lacks) - known)}"
    assert all(len(why.split()) > 2 for why in lacks.values()), "each needs a reason, in words"


class Ear:
    """Listens as the gateway does: what was heard is acknowledged when it listens on."""

    def __init__(self, adapter: PlatformAdapter) -> None:
        self._heard: AsyncGenerator[Inbound, None] = adapter.listen()
        self._next: asyncio.Task[Inbound] | None = None

    def open(self) -> None:
        """Begins to listen (on): whatever was heard before is acknowledged by this."""
        if self._next is None:
            self._next = asyncio.ensure_future(anext(self._heard))

    async def hear(self, seconds: float = PATIENCE) -> Inbound:
        """The next thing that is written; it is not acknowledged yet."""
        self.open()
        assert self._next is not None
        waiting, _ = await asyncio.wait({self._next}, timeout=seconds)
        assert waiting, f"nothing was heard within {seconds:g} seconds"
        heard, self._next = self._next, None
        return heard.result()

    async def hears_nothing(self, seconds: float = SILENCE) -> None:
        self.open()
        assert self._next is not None
        heard, _ = await asyncio.wait({self._next}, timeout=seconds)
        assert not heard, f"heard {self._next.result()!r}"

    async def close(self) -> None:
        if self._next is not None:
            self._next.cancel()
            with suppress(asyncio.CancelledError, StopAsyncIteration, Exception):
                await self._next
        await self._heard.aclose()
