"""A gateway on a fake network, with a scripted runtime behind it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any

from sojourn.core.events import Progress
from sojourn.core.handoff import Handoff
from sojourn.core.sessions import Session
from sojourn.gateway.host import Gateway
from sojourn.ports.gateway_store import Incoming
from sojourn.ports.platform import PlatformAdapter
from sojourn.ports.service import Caller, TurnRequest
from sojourn.service.handoffs import HandoffRequests
from sojourn.service.local import LocalService
from sojourn.testing.app import FakeApp, make_settings
from sojourn.testing.fake_platform import FakeNetwork, FakePlatform
from sojourn.testing.scripted_runtime import ScriptedRuntime

CLI = Caller(surface="cli", holder="a test")
OWNERS = {"gateway_owners": "fake:42", "gateway_home": "fake:42"}


async def wait_for(requests: HandoffRequests, handoff: Handoff, **given: Any) -> Handoff:
    """Returns the hand-off when it is over."""
    async with aclosing(requests.follow(handoff, **given)) as steps:
        return [step async for step in steps][-1]


class World:
    """Everything a test wants to touch."""

    def __init__(self, home, store, **settings: Any) -> None:
        self.network, self.runtime, self.store = FakeNetwork(), ScriptedRuntime(), store
        self.settings = make_settings(home, **{"agent_titles": False, **OWNERS, **settings})
        self._stack, self.services = AsyncExitStack(), list[Any]()
        self.kit = self._kit()
        self.service: Any = self.kit.service
        self.requests = HandoffRequests(store, self.settings)
        self.gateways: list[asyncio.Task[None]] = []

    def _kit(self, store: Any = None) -> FakeApp:
        world: dict[str, Any] = {"settings": self.settings, "runtimes": [self.runtime], "make_service": LocalService}
        kit = FakeApp(store=store or self.store, **world)
        self.services.append(kit.service)
        self._stack.push_async_callback(lambda: kit.service.close())
        return kit

    async def start(self, adapter: PlatformAdapter | None = None, *, apart: bool = False, store: Any = None) -> Gateway:
        """A gateway that runs; `apart` gives it a service of its own, like another process has."""
        kit = self._kit(store) if apart or store else self.kit
        gateway = Gateway(kit, [adapter or FakePlatform(self.network)])
        task = asyncio.create_task(gateway.run())
        self.gateways.append(task)
        async with asyncio.timeout(30):
            await gateway.ready.wait()
        return gateway

    async def stop(self, task: asyncio.Task[None]) -> None:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    async def close(self) -> None:
        for task in self.gateways:
            await self.stop(task)
        await self._stack.aclose()

    # steps
    async def session(self, *said: str, title: str | None = None) -> Session:
        """A session of the terminal in which this was said and answered."""
        session = await self.service.open(CLI, title=title)
        for words in said:
            await self.service.say(session.id, TurnRequest(text=words), CLI)
            await self.service.settle()
        return await self.service.get(session.id)

    async def request(
        self, session: Session, platform: str, *, surface: str = "", target: str = "", wait: bool = False
    ) -> Handoff:
        """Requests a hand-off; without a surface in the name of the driver."""
        by = replace(CLI, surface=surface)
        return await self.service.hand_off(session.id, platform, by=by, target=target, wait=wait)

    async def hand_over(self, session: Session, to: str = "fake", **given: Any) -> Handoff:
        platform, _, target = to.partition(":")
        asked = await self.request(session, platform, surface="cli", target=target, wait=True)
        async with asyncio.timeout(30):
            return await wait_for(self.requests, asked, **given)

    async def until(self, condition: Callable[[], Any], seconds: float = 8.0) -> Any:
        """Looks again and again, because the fake network has no bell."""
        async with asyncio.timeout(seconds):
            while not (found := condition()):
                await asyncio.sleep(0.01)
        return found

    async def texts(self, chat: str, count: int, thread: str | None = None) -> list[str]:
        """What our account said there, when it is that many."""
        try:
            await self.until(lambda: len(self.network.texts(chat, thread)) >= count)
        except TimeoutError:
            raise AssertionError(f"only {self.network.texts(chat, thread)}") from None
        return self.network.texts(chat, thread)

    async def rows(self, state: str, count: int) -> list[Incoming]:
        """The incoming messages in that state, when they are that many."""
        async with asyncio.timeout(8):
            while len(found := await self.store.incoming(states=(state,))) < count:
                await asyncio.sleep(0.01)
        return found

    async def steered(self) -> None:
        """Until the running turn has got words in its way."""
        async with asyncio.timeout(8):
            while not any(
                one.item.detail.get("steer")
                for one in [kept async for kept in self.store.read(self.runtime.seen[-1].session.id)]
                if isinstance(one.item, Progress) and one.item.stage == "running"
            ):
                await asyncio.sleep(0.01)

    async def quiet(self) -> None:
        """Until nothing is under way any more."""
        async with asyncio.timeout(30):
            while await self.store.incoming(states=("waiting", "running")) or await self.store.outgoing(
                states=("pending", "sending")
            ):
                await asyncio.sleep(0.01)


@asynccontextmanager
async def world(home, store, **settings: Any) -> AsyncIterator[World]:
    made = World(home, store, **settings)
    try:
        yield made
    finally:
        await made.close()
