"""Chaos: sessions go to and fro between a terminal, a chat and the web, while gateways are killed, lines break and the
database goes away.

What must hold in the end: no message is lost, none is answered twice without being marked, no session has two owners,
nothing is stuck. SQLite is a file and cannot be restarted; there, the gateways that are killed have it open.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import Counter
from pathlib import Path

import pytest

from sojourn import config
from sojourn.compose import App
from tests.e2e.chaos import Actor, Gateways, Restarts
from tests.e2e.chaos_check import Check, calm
from tests.e2e.chaos_gateway import LOST
from tests.rigs.own_postgres import Server, own_server

SEED = 6
SIZES = [(20, 30.0), pytest.param(50, 600.0, marks=pytest.mark.soak)]


async def chaos(home: Path, *, seed: int, sessions: int, seconds: float, server: Server | None = None) -> Counter[str]:
    chance, kit = random.Random(seed), App(config.load())
    gateways = Gateways(chance, home.parent / "gateways.log")
    restarts = Restarts(server, random.Random(f"{seed}/server")) if server else None
    try:
        await gateways.start()
        until = time.monotonic() + seconds
        actors = [Actor(n, kit, seed) for n in range(sessions)]
        troubles = [gateways.disturb(until), *([restarts.disturb(until)] if restarts else [])]
        await asyncio.gather(*(actor.run(until) for actor in actors), *troubles)
        over = time.monotonic()
        await calm(kit, actors, gateways)
        calmed = time.monotonic() - over
        told = await Check(kit, actors, gateways).run()
        told.update({"seconds to calm": round(calmed), "gateways killed": gateways.killed})
        told.update({"lines lost": len(gateways.met(f"chaos {LOST}")), "restarts": restarts.done if restarts else 0})
        print(f"seed {seed}, {sessions} sessions, {seconds:g} s: {dict(told)}")
        return told
    finally:
        await gateways.close()
        await kit.close()


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    """Little patience, so that a dead gateway's work is taken over while somebody looks."""
    for name, value in {
        "RUNTIME": "echo", "TITLES": "no", "GATEWAY_LEASE_SECONDS": "1.5", "HANDOFF_WAIT_SECONDS": "5",
        "MEMORY_RECALL": "no", "TEMPLATES_AUTOMATIC": "no", "SKILLS_SHORTLIST": "0",
    }.items():  # fmt: skip
        monkeypatch.setenv(f"SOJOURN_{name}", value)


def was_chaos(told: Counter[str], seconds: float) -> None:
    """Otherwise nothing was shown. What a slow machine gets done in that time is not the question."""
    assert told["gateways killed"] >= seconds / 20
    assert told["lines lost"] >= 1
    assert told["said in rooms"] >= seconds / 10
    assert told["completed"] >= seconds / 10


@pytest.mark.timeout(0)
@pytest.mark.parametrize(("sessions", "seconds"), SIZES, ids=["slice", "full"])
async def test_nothing_is_lost_doubled_or_stuck_on_sqlite(home, sessions, seconds):
    was_chaos(await chaos(home, seed=SEED, sessions=sessions, seconds=seconds), seconds)


@pytest.mark.timeout(0)
@pytest.mark.postgres
@pytest.mark.soak  # until every seed has passed with the server going away
@pytest.mark.parametrize(("sessions", "seconds"), SIZES, ids=["slice", "full"])
async def test_nothing_is_lost_doubled_or_stuck_on_postgres(home, monkeypatch, postgres_server, sessions, seconds):
    """Its own server: `postgres_server` is asked for what it sets up, and is others' to use."""
    with own_server() as server:
        monkeypatch.setenv("SOJOURN_DATABASE_URL", server.url())
        told = await chaos(home, seed=SEED, sessions=sessions, seconds=seconds, server=server)
    was_chaos(told, seconds)
    assert told["restarts"] >= seconds / 30
