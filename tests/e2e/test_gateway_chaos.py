"""Chaos: sessions go to and fro between a terminal, a chat and the web, while gateways are killed and lines break.

What must hold in the end: no message is lost, none is answered twice without being marked, no session has two owners,
nothing is stuck.
"""

from __future__ import annotations

import asyncio
import random
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from sojourn import config
from sojourn.compose import App
from sojourn.core.errors import SojournError
from sojourn.core.messages import Message
from sojourn.core.places import Sender
from sojourn.core.sessions import SessionId
from sojourn.gateway.render import AGAIN
from sojourn.gateway.requests import Requests
from sojourn.platforms.local_rooms import TO_HEAR, Rooms
from sojourn.ports.service import Said, Speaker

GATEWAY = Path(__file__).with_name("chaos_gateway.py")
OWNER = Sender(id="owner")
CLI, WEB = Speaker(surface="cli", holder="chaos"), Speaker(surface="web", holder="chaos")


class Gateways:
    """Two gateway processes; one that was killed is started again."""

    def __init__(self, chance: random.Random) -> None:
        self._chance, self._running = chance, list[subprocess.Popen[bytes]]()
        self.killed = 0

    def start(self) -> None:
        while len(self._running) < 2:
            command = [sys.executable, str(GATEWAY), str(self._chance.randrange(10**6))]
            self._running.append(subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL))

    def kill(self) -> None:
        victim = self._running.pop(self._chance.randrange(len(self._running)))
        victim.kill()
        victim.wait()
        self.killed += 1

    def close(self) -> None:
        for one in self._running:
            one.kill()
            one.wait()


class Actor:
    """One session and the person who takes it everywhere."""

    def __init__(self, number: int, kit: App, seed: int) -> None:
        self.number, self.kit, self.room = number, kit, f"room{number}"
        self.chance = random.Random(f"{seed}/{number}")
        self.rooms, self.requests = kit.shared(Rooms), Requests(kit.store, kit.settings)
        self.session: SessionId | None = None
        self.thread: str | None = None
        self.said_in_room = list[str]()
        self.said_at_desk = list[str]()
        self.handed = Counter[str]()

    async def run(self, until: float) -> None:
        while self.session is None:
            with suppress(SojournError):
                self.session = (await self.kit.service.open(CLI)).id
        while time.monotonic() < until:
            step = self.chance.choice((self._say, self._say, self._hand_over, self._take))
            with suppress(SojournError):
                await step()
            await asyncio.sleep(self.chance.uniform(0.0, 0.3))

    async def _say(self) -> None:
        assert self.session is not None
        driver = (await self.kit.store.get(self.session)).driver
        n = len(self.said_in_room) + len(self.said_at_desk)
        words = f"actor {self.number} message {n}"
        if driver == "local":
            await self.rooms.say(self.room, words, OWNER, thread=self.thread)
            self.said_in_room.append(words)
        else:
            by = WEB if driver == "web" else CLI
            await self.kit.service.say(self.session, Said(text=words), by)
            self.said_at_desk.append(words)

    async def _hand_over(self) -> None:
        assert self.session is not None
        platform = self.chance.choice(("local", "cli", "web"))
        target = self.room if platform == "local" else ""
        done = await self.requests.until_over(await self.requests.ask(self.session, platform, target=target), seconds=5)
        self.handed[done.state] += 1
        if done.state == "completed" and platform == "local":
            self.thread = done.thread_id

    async def _take(self) -> None:
        assert self.session is not None
        if self.chance.random() < 0.3:
            await self.kit.service.take(self.session, self.chance.choice((CLI, WEB)))


async def drained(kit: App, seconds: float) -> None:
    """Until nothing is under way any more."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        with suppress(SojournError):
            left: list[list[Any]] = [
                await kit.store.list_records(TO_HEAR), await kit.store.incoming(states=("waiting", "running")),
                await kit.store.outgoing(states=("pending", "sending")), await kit.store.list_pending_handoffs(),
            ]  # fmt: skip
            if not any(left):
                return
        await asyncio.sleep(0.2)
    raise AssertionError(f"still under way: {[len(one) for one in left]}: {left}"[:3000])


async def check(kit: App, actors: list[Actor]) -> Counter[str]:
    told = Counter[str]()
    for actor in actors:
        assert actor.session is not None
        notes = await actor.rooms.read(actor.room, limit=0)
        answers = [one.text for one in notes if one.ours and not one.opens]
        sure = Counter(text for text in answers if not text.startswith(AGAIN))
        maybe = Counter(text.removeprefix(AGAIN) for text in answers if text.startswith(AGAIN))
        twice = [words for words in actor.said_in_room if sure[words] > 1]
        assert not twice, f"answered twice: {twice}"
        elsewhere = sum("driven from" in text for text in answers)  # it had just gone to another surface
        unanswered = [words for words in actor.said_in_room if not sure[words] and not maybe[words]]
        assert len(unanswered) <= elsewhere, f"lost: {unanswered} in {answers}"
        kept = [
            one.item.content for one in await kit.service.messages(actor.session)
            if isinstance(one.item, Message) and one.item.role == "user" and one.item.active
        ]  # fmt: skip
        assert not [words for words in actor.said_at_desk if words not in kept], "lost at the desk"
        assert max(Counter(words for words in kept if str(words).startswith("actor")).values(), default=0) <= 1
        assert len(await kit.store.bindings(session=actor.session)) <= 1
        state = await kit.store.get_handoff_state(actor.session)
        assert state is None or not state.is_live, state
        told.update({"said": len(actor.said_in_room) + len(actor.said_at_desk), "maybe twice": sum(maybe.values())})
        told.update(actor.handed)
    return told


async def chaos(home: Path, *, seed: int, sessions: int, seconds: float, disturb: Any = None) -> Counter[str]:
    chance, kit = random.Random(seed), App(config.load())
    gateways = Gateways(chance)
    try:
        gateways.start()
        while not await kit.store.gateways():
            await asyncio.sleep(0.05)
        until = time.monotonic() + seconds
        actors = [Actor(n, kit, seed) for n in range(sessions)]
        acting = [asyncio.create_task(actor.run(until)) for actor in actors]
        while time.monotonic() < until:
            await asyncio.sleep(chance.uniform(0.5, 4.0))
            gateways.kill()
            if disturb is not None and chance.random() < 0.2:
                await asyncio.to_thread(disturb)
            await asyncio.sleep(chance.uniform(0.0, 0.5))
            gateways.start()
        await asyncio.gather(*acting)
        began = time.monotonic()
        await drained(kit, 90)
        told = await check(kit, actors)
        told["seconds to calm"] = round(time.monotonic() - began)
        told["killed"] = gateways.killed
        return told
    finally:
        gateways.close()
        await kit.close()


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Little patience, so that a dead gateway's work is taken over while somebody looks."""
    for name, value in {
        "RUNTIME": "echo", "TITLES": "no", "GATEWAY_LEASE_SECONDS": "1.5", "HANDOFF_WAIT_SECONDS": "5",
        "MEMORY_RECALL": "no", "TEMPLATES_AUTOMATIC": "no", "SKILLS_SHORTLIST": "0",
    }.items():  # fmt: skip
        monkeypatch.setenv(f"SOJOURN_{name}", value)


@pytest.mark.timeout(0)
@pytest.mark.parametrize(
    ("sessions", "seconds"), [(8, 20.0), pytest.param(50, 600.0, marks=pytest.mark.soak)], ids=["slice", "full"]
)
async def test_nothing_is_lost_doubled_or_stuck_on_sqlite(home, sessions, seconds):
    told = await chaos(home, seed=6, sessions=sessions, seconds=seconds)
    print(dict(told))
    assert told["killed"] >= seconds / 10
    assert told["said"] > sessions
    assert told["completed"] > 0


@pytest.mark.timeout(0)
@pytest.mark.parametrize(
    ("sessions", "seconds"), [(8, 15.0), pytest.param(50, 600.0, marks=pytest.mark.soak)], ids=["slice", "full"]
)
async def test_nothing_is_lost_doubled_or_stuck_on_postgres(home, monkeypatch, postgres_url, sessions, seconds):
    monkeypatch.setenv("SOJOURN_DATABASE_URL", postgres_url)
    told = await chaos(home, seed=7, sessions=sessions, seconds=seconds)
    print(dict(told))
    assert told["said"] > sessions
    assert told["completed"] > 0
