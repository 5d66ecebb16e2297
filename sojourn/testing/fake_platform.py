"""FakePlatform: a chat network in memory, for tests of what stands on platforms.

network = FakeNetwork()
network.say("42", "hello")            # a person writes; FakePlatform(network) hears it
network.texts("42")                   # what stands there
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import count

from sojourn.core.errors import BadInput, KeyRefused, PlatformDown, Refusal, SendRefused, ThreadsUnsupported
from sojourn.core.places import Place, PlaceKind, Sender
from sojourn.ports.platform import Button, File, Inbound, PlatformInfo, Sent
from sojourn.testing.platform_harness import PostedMessage

ANN, BEN = Sender(id="42", name="Ann"), Sender(id="43", name="Ben")
US = "bot"  # our own account
KEY = "fake-key-2718281828"


@dataclass(frozen=True, slots=True)
class _Fault:
    """What the next message meets. `arrives`: it is shown although no answer comes."""

    kind: Refusal | None = None
    retry_after: float | None = None
    arrives: bool = False


class FakeNetwork:
    """Chats beginning with # are groups, those with ! are channels without threads, others are private."""

    def __init__(self, name: str = "fake") -> None:
        self.name = name
        self.posts: dict[tuple[str, str | None], list[PostedMessage]] = {}
        self.edits: list[tuple[str, str]] = []
        self.typed: list[Place] = []
        self.threads_opened: list[tuple[str, str]] = []
        self.threads_refused = ""  # why threads are refused for the moment
        self.before_send: Callable[[Place, str], None] | None = None
        self.held: asyncio.Event | None = None  # sending waits for it
        self.listeners = 0
        self._up = asyncio.Event()
        self._faults: list[_Fault] = []
        self._dead = False
        self._cut = asyncio.Event()
        self._waiting: dict[str, Inbound] = {}  # not acknowledged
        self._came = asyncio.Event()
        self._numbers = count(1)

    # how people use it
    def place(self, chat: str, thread: str | None = None) -> Place:
        kind: PlaceKind = {"#": "group", "!": "channel"}.get(chat[:1], "dm")  # type: ignore[assignment]
        if thread:
            return Place(platform=self.name, chat=chat, kind="thread", thread=thread, parent=chat)
        return Place(platform=self.name, chat=chat, kind=kind)

    def say(
        self,
        chat: str,
        text: str,
        by: Sender = ANN,
        *,
        thread: str | None = None,
        files: Sequence[File] = (),
        id: str = "",
        mentioned: bool = True,
        reply_to: str = "",
    ) -> str:
        """A person writes. The same `id` twice is the same message, told again."""
        id = id or self._post(chat, thread, PostedMessage(id="", text=text, by=by.id, files=tuple(files))).id
        if by.id != US and not by.is_bot:
            self._waiting[id] = Inbound(
                id=id,
                place=self.place(chat, thread),
                sender=by,
                text=text,
                files=tuple(files),
                mentioned=mentioned,
                reply_to=reply_to,
            )
            self._came.set()
        return id

    def read_messages(self, chat: str, thread: str | None = None) -> list[PostedMessage]:
        return list(self.posts.get((chat, thread), ()))

    def texts(self, chat: str, thread: str | None = None) -> list[str]:
        """What our account said there."""
        return [one.text for one in self.read_messages(chat, thread) if one.by == US]

    def press(self, posted: PostedMessage, label: str, by: Sender = ANN) -> str:
        """A person presses a button under a message of ours, as it was when they looked."""
        chat, thread = next(at for at, here in self.posts.items() for one in here if one.id == posted.id)
        value = next(one.value for one in posted.buttons if one.label == label)
        pressed = f"p{next(self._numbers)}"
        self._waiting[pressed] = Inbound(
            id=pressed, place=self.place(chat, thread), sender=by, text=label, pressed=value, reply_to=posted.id
        )
        self._came.set()
        return pressed

    # how it misbehaves
    def refuse(self, kind: Refusal, retry_after: float | None = None, times: int = 1) -> None:
        self._faults += [_Fault(kind, retry_after)] * times

    def swallow(self, *, arrives: bool = True) -> None:
        """The next message gets no answer, though it may arrive."""
        self._faults.append(_Fault(arrives=arrives))

    def drop_connections(self) -> None:
        """Drops every listener."""
        self._cut.set()
        self._cut = asyncio.Event()

    def die(self) -> None:
        self._dead = True
        self.drop_connections()

    def revive(self) -> None:
        self._dead = False

    # the adapter's side
    async def listening(self) -> None:
        while not self.listeners:
            self._up.clear()
            await self._up.wait()

    async def stream_inbound(self) -> AsyncGenerator[Inbound, None]:
        """What waits, again and again until it is acknowledged by `forget`. PlatformDown when the line is cut."""
        if self._dead:
            raise PlatformDown(f"{self.name} does not answer.")
        cut, seen = self._cut, set[str]()
        self.listeners += 1
        self._up.set()
        try:
            while True:
                self._came.clear()
                for id, one in list(self._waiting.items()):
                    if id not in seen:
                        seen.add(id)
                        yield one
                        self._waiting.pop(id, None)
                if not self._came.is_set():
                    await _first(self._came, cut)
                if cut.is_set():
                    raise PlatformDown(f"The line to {self.name} was lost.")
        finally:
            self.listeners -= 1

    async def accept(
        self, place: Place, text: str, files: Sequence[File] = (), *, plain: bool = True, buttons: Sequence[Button] = ()
    ) -> PostedMessage:
        if self.before_send is not None:
            self.before_send(place, text)
        if self.held is not None:
            await self.held.wait()
        if self._dead:
            raise PlatformDown(f"{self.name} does not answer.")
        fault = self._faults.pop(0) if self._faults else None
        if fault is not None and fault.kind is not None:
            raise SendRefused(f"{self.name}: {fault.kind}", kind=fault.kind, retry_after=fault.retry_after)
        if fault is None or fault.arrives:
            posted = self._post(place.chat, place.thread, _ours(text, files, buttons))
        if fault is not None:
            raise PlatformDown(f"{self.name} gave no answer.")
        return posted

    def rewrite(self, sent: Sent, text: str) -> None:
        here = self.posts[(sent.place.chat, sent.place.thread)]
        at = next(n for n, one in enumerate(here) if one.id == sent.id)
        here[at] = replace(here[at], text=text, buttons=())
        self.edits.append((sent.id, text))

    def like(self, sent: Sent, sign: str) -> None:
        here = self.posts[(sent.place.chat, sent.place.thread)]
        at = next(n for n, one in enumerate(here) if one.id == sent.id)
        here[at] = replace(here[at], reactions=(*here[at].reactions, sign))

    def open_thread(self, parent: Place, name: str) -> Place:
        if self.threads_refused or parent.kind == "channel":
            raise ThreadsUnsupported(self.threads_refused or "This channel has no threads.")
        thread = f"t{next(self._numbers)}"
        self.threads_opened.append((parent.chat, name))
        return self.place(parent.chat, thread)

    def _post(self, chat: str, thread: str | None, posted: PostedMessage) -> PostedMessage:
        posted = replace(posted, id=f"m{next(self._numbers)}")
        self.posts.setdefault((chat, thread), []).append(posted)
        return posted


def _ours(text: str, files: Sequence[File], buttons: Sequence[Button]) -> PostedMessage:
    return PostedMessage(id="", text=text, by=US, files=tuple(files), buttons=tuple(buttons))


async def _first(*events: asyncio.Event) -> None:
    tasks = [asyncio.ensure_future(one.wait()) for one in events]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


@dataclass
class PlainPlatform:
    """An account that can only hear and send."""

    network: FakeNetwork
    key: str = KEY
    max_chars: int = 400
    account: str = "bot"
    info: PlatformInfo = field(init=False)

    def __post_init__(self) -> None:
        self.info = PlatformInfo(name=self.network.name, label="Fake", max_chars=self.max_chars)

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        if self.key != KEY:
            raise KeyRefused("The key was refused.", hint="Give the right one.")
        told = self.network.stream_inbound()
        try:
            async for one in told:
                yield one
        finally:
            await told.aclose()

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        if len(text) > self.max_chars:
            raise SendRefused(f"{len(text)} characters are too many.", kind="too_long")
        return Sent(place=place, id=(await self.network.accept(place, text, plain=plain)).id)

    def home(self, chat: str) -> Place:
        if not chat.strip():
            raise BadInput("A chat has a name.", hint="Give one.")
        return self.network.place(chat)

    async def close(self) -> None:
        pass


class ButtonPlatform(PlainPlatform):
    """An account on a network whose buttons cannot be removed."""

    async def ask(
        self, place: Place, text: str, buttons: Sequence[Button], *, plain: bool = False, reply_to: str = ""
    ) -> Sent:
        if len(text) > self.max_chars:
            raise SendRefused(f"{len(text)} characters are too many.", kind="too_long")
        return Sent(place=place, id=(await self.network.accept(place, text, plain=plain, buttons=buttons)).id)


class FakePlatform(ButtonPlatform):
    """An account on a network that can do everything."""

    async def create_handoff_thread(self, parent: Place, name: str) -> Place:
        return self.network.open_thread(parent, name)

    async def edit(self, sent: Sent, text: str, *, plain: bool = False) -> None:
        self.network.rewrite(sent, text)

    async def typing(self, place: Place) -> None:
        self.network.typed.append(place)

    async def react(self, sent: Sent, sign: str) -> None:
        self.network.like(sent, sign)

    async def send_file(self, place: Place, file: File, *, caption: str = "") -> Sent:
        return Sent(place=place, id=(await self.network.accept(place, caption, [file])).id)
