"""The base of the test servers of Discord, Slack and Telegram: a web server with configurable faults."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from typing import Any, Generic, Protocol, TypeVar

from aiohttp import web

from sojourn.core.errors import Refusal
from sojourn.ports.platform import PlatformAdapter
from sojourn.testing.platform_harness import InboundListener, PlatformHarness, PostedMessage
from tests.servers.aiohttp_server import serving


class Wire(Protocol):
    """Such a server. `faults` are what it answers next, one each; when it is dead it hangs up on whoever sends."""

    url: str
    faults: list[Any]
    dead: bool

    def app(self) -> web.Application: ...
    async def drop_connections(self) -> None: ...


W = TypeVar("W", bound=Wire)


@asynccontextmanager
async def wired(server: W) -> AsyncIterator[W]:
    """It serves, and knows where."""
    async with serving(server.app()) as url:
        server.url = url
        yield server


class WiredHarness(Generic[W]):
    """The part of a harness that only its server knows."""

    server: W

    def refusals(self, retry_after: float | None) -> Mapping[str, Exception]:
        """How the network says no, for each kind it has."""
        raise NotImplementedError

    async def refuse(self, kind: Refusal, retry_after: float | None = None) -> None:
        self.server.faults.append(self.refusals(retry_after)[kind])

    async def drop_connections(self) -> None:
        await self.server.drop_connections()

    async def break_sending(self) -> None:
        self.server.dead = True

    async def close(self) -> None: ...


def join_captions(posts: Sequence[PostedMessage]) -> list[PostedMessage]:
    """Joins a caption and its file where they are two messages: people see them one below the other."""
    shown = list[PostedMessage]()
    for one in posts:
        is_captioned = one.files and shown and not shown[-1].files
        shown.append(replace(one, text=shown.pop().text) if is_captioned else one)
    return shown


@asynccontextmanager
async def hearing(harness: PlatformHarness, adapter: PlatformAdapter) -> AsyncIterator[InboundListener]:
    """What the adapter hears, from when it listens."""
    ear = InboundListener(adapter)
    ear.open()
    await harness.until_listening()
    yield ear
    await ear.close()
