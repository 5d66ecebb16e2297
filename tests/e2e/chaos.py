"""What chaos is made of: people who carry sessions about, gateways that are killed, a database that goes away."""

from __future__ import annotations

import asyncio
import random
import sys
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, suppress
from functools import partial
from pathlib import Path

from sojourn.app import App
from sojourn.core.errors import SojournError, StoreUnavailable
from sojourn.core.places import Sender
from sojourn.core.sessions import SessionId, TurnId
from sojourn.platforms.rooms import Rooms
from sojourn.ports.service import Caller, TurnRequest
from sojourn.service.handoffs import HandoffRequests
from tests.servers.postgres import Server

GATEWAY = Path(__file__).with_name("chaos_gateway.py")
OWNER = Sender(id="owner")
CLI, WEB = Caller(surface="cli", holder="chaos"), Caller(surface="web", holder="chaos")


class Gateways:
    """Two gateway processes; one that was killed is started again. They tell `log` what they meet."""

    def __init__(self, chance: random.Random, log: Path) -> None:
        self._chance, self._running = chance, list[Process]()
        self.log, self.killed = log, 0

    async def start(self, *, wait: bool = True) -> None:
        with self.log.open("ab") as told:
            while len(self._running) < 2:
                seed = str(self._chance.randrange(10**6))
                command = sys.executable, str(GATEWAY), seed
                one = await asyncio.create_subprocess_exec(*command, stdin=DEVNULL, stdout=PIPE, stderr=told)
                self._running.append(one)
                assert one.stdout
                if wait:
                    async with asyncio.timeout(120):
                        assert await one.stdout.readline() == b"ready\n", self.log.read_text()[-3000:]

    async def disturb(self, over: asyncio.Event) -> None:
        """Now and then one dies, sometimes while it is only starting."""
        while not over.is_set():
            await asyncio.sleep(self._chance.uniform(0.5, 4.0))
            await self._kill(self._running.pop(self._chance.randrange(len(self._running))))
            self.killed += 1
            await asyncio.sleep(self._chance.uniform(0.0, 0.5))
            await self.start(wait=self._chance.random() < 0.8)

    async def _kill(self, one: Process) -> None:
        with suppress(ProcessLookupError):
            one.kill()
        await one.communicate()

    async def close(self) -> None:
        for one in self._running:
            await self._kill(one)

    def met(self, *words: str) -> list[str]:
        """What they told with one of these words in it; all of it without any."""
        lines = self.log.read_text("utf-8", "replace").splitlines()
        return [line for line in lines if not words or any(word in line for word in words)]


class Restarts:
    """A database that is stopped or killed and comes back, mostly soon."""

    def __init__(self, server: Server, chance: random.Random) -> None:
        self._server, self._chance = server, chance
        self.done = 0

    async def disturb(self, over: asyncio.Event) -> None:
        while not over.is_set():
            await asyncio.sleep(self._chance.uniform(3.0, 12.0))
            how = self._chance.choice(("kill", "kill", "immediate", "fast"))
            await self._apart(self._server.kill if how == "kill" else partial(self._server.stop, how))
            away = self._chance.uniform(6.0, 8.0) if self._chance.random() < 0.15 else self._chance.uniform(0.0, 2.0)
            await asyncio.sleep(away)
            await self._apart(self._server.start)
            self.done += 1

    async def _apart(self, work: Callable[[], None]) -> None:
        """In a thread that is not kept waiting by whoever waits for the database."""
        with ThreadPoolExecutor(1) as thread:
            await asyncio.get_running_loop().run_in_executor(thread, work)


class Actor:
    """One session and the person who takes it everywhere."""

    def __init__(self, number: int, kit: App, seed: int) -> None:
        self.number, self.kit, self.room = number, kit, f"room{number}"
        self.chance = random.Random(f"{seed}/{number}")
        self.rooms, self.requests = kit.shared(Rooms), HandoffRequests(kit.store, kit.settings)
        self.session: SessionId | None = None
        self.thread: str | None = None
        self._words = 0
        self.in_room: dict[str, str] = {}  # words → the number of the note
        self.at_desk: dict[str, TurnId] = {}
        self.unsure = set[str]()  # the database went while it was said: it was or it was not
        self.refused = set[str]()
        self.asked = Counter[str]()

    async def run(self, over: asyncio.Event) -> None:
        while self.session is None:
            with suppress(SojournError):
                self.session = (await self.kit.service.open(CLI)).id
        while not over.is_set():
            await asyncio.sleep(self.chance.uniform(0.2, 3.5))
            step = self.chance.choice((self._say, self._say, self._hand_over, self._take))
            with suppress(SojournError):
                await step()

    async def _say(self) -> None:
        assert self.session is not None
        driver = (await self.kit.store.get(self.session)).driver
        self._words += 1
        words = f"actor {self.number} message {self._words}"
        try:
            if driver == "local":
                self.in_room[words] = (await self.rooms.say(self.room, words, OWNER, thread=self.thread)).id
            else:
                by = WEB if driver == "web" else CLI
                self.at_desk[words] = (await self.kit.service.say(self.session, TurnRequest(text=words), by)).id
        except StoreUnavailable:
            self.unsure.add(words)
        except SojournError:
            self.refused.add(words)

    async def _hand_over(self) -> None:
        assert self.session is not None
        platform = self.chance.choice(("local", "local", "cli", "web"))
        target = self.room if platform == "local" else ""
        asked = await self.kit.service.hand_off(self.session, platform, by=Caller(surface=""), target=target)
        try:
            async with asyncio.timeout(90):  # whether it is stuck is seen when everything else is calm
                async with aclosing(self.requests.follow(asked, seconds=5)) as steps:
                    done = [step async for step in steps][-1]
        except TimeoutError:
            self.asked["left behind"] += 1
            return
        self.asked[done.state] += 1
        if done.state == "completed" and platform == "local":
            self.thread = done.thread_id

    async def _take(self) -> None:
        assert self.session is not None
        if self.chance.random() < 0.3:
            await self.kit.service.take_over(self.session, self.chance.choice((CLI, WEB)))
