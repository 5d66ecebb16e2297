"""One run of chaos, from the first word to the last look at what came of it."""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from sojourn import config
from sojourn.app import App
from tests.e2e.chaos import Actor, Gateways, Restarts
from tests.e2e.chaos_check import Check, calm
from tests.e2e.chaos_gateway import LOST
from tests.servers.postgres import Server

SEED = 6
SIZES = [(50, 60.0), pytest.param(50, 600.0, marks=pytest.mark.soak)]  # sessions, seconds
# Little patience, so that a dead gateway's work is taken over while somebody looks.
QUICK = {
    "RUNTIME": "echo",
    "TITLES": "no",
    "GATEWAY_LEASE_SECONDS": "1.5",
    "HANDOFF_WAIT_SECONDS": "5",
    "MEMORY_RECALL": "no",
    "TEMPLATES_AUTOMATIC": "no",
    "SKILLS_SHORTLIST": "0",
}


class Enough:
    """What must have happened, or nothing was shown. A slow machine is given more time for it."""

    def __init__(self, seconds: float, actors: Sequence[Actor], gateways: Gateways, restarts: Restarts | None) -> None:
        self._seconds, self._actors, self._gateways, self._restarts = seconds, actors, gateways, restarts

    def told(self) -> Counter[str]:
        return Counter(
            {
                "gateways killed": self._gateways.killed,
                "lines lost": len(self._gateways.met(f"chaos {LOST}")),
                "restarts": self._restarts.done if self._restarts else 0,
            }
        )

    def missing(self) -> list[str]:
        said = sum(len(actor.in_room) for actor in self._actors)
        completed = sum(actor.asked["completed"] for actor in self._actors)
        happened = self.told() + Counter({"said": said, "completed": completed})
        least = {
            "gateways killed": self._seconds / 20,
            "lines lost": 1.0,
            "said": self._seconds / 10,
            "completed": self._seconds / 10,
            "restarts": self._seconds / 30 if self._restarts else 0.0,
        }
        return [name for name, count in least.items() if happened[name] < count]

    async def then(self, over: asyncio.Event) -> None:
        """It is over after its time, and not before enough has happened."""
        await asyncio.sleep(self._seconds)
        until = time.monotonic() + 5 * self._seconds
        while self.missing() and time.monotonic() < until:
            await asyncio.sleep(1)
        over.set()


async def chaos(home: Path, *, seed: int, sessions: int, seconds: float, server: Server | None = None) -> Counter[str]:
    """AssertionError with all that is known, if anything was lost, doubled or stuck, or if too little happened."""
    chance, kit, over = random.Random(seed), App(config.load()), asyncio.Event()
    gateways = Gateways(chance, home.parent / "gateways.log")
    restarts = Restarts(server, random.Random(f"{seed}/server")) if server else None
    try:
        await gateways.start()
        actors = [Actor(n, kit, seed) for n in range(sessions)]
        enough = Enough(seconds, actors, gateways, restarts)
        troubles = [gateways.disturb(over), *([restarts.disturb(over)] if restarts else [])]
        await asyncio.gather(*(actor.run(over) for actor in actors), *troubles, enough.then(over))
        assert not enough.missing(), f"too little of: {enough.missing()}"
        since = time.monotonic()
        await calm(kit, actors, gateways)
        calmed = time.monotonic() - since
        told = await Check(kit, actors, gateways).run()
        told.update({**enough.told(), "seconds to calm": round(calmed)})
        print(f"seed {seed}, {sessions} sessions, {seconds:g} s: {dict(told)}")
        return told
    finally:
        await gateways.close()
        await kit.close()
