"""How long a hand-off takes until the agent speaks, and what one gateway can take in.

Latency: the giver is one process, the gateway (`sojourn gateway run`, rooms of `local`, the runtime `echo`) another.
Load: 10,000 messages of 500 chats on a network in memory, all there at once, one gateway, one SQLite file.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from bench.report import Bar, limit, save_result
from sojourn import config
from sojourn.app import App
from sojourn.core.events import Metadata
from sojourn.core.places import Sender
from sojourn.gateway.host import Gateway
from sojourn.ports.service import Caller
from sojourn.testing.fake_platform import FakeNetwork, PlainPlatform

HANDOFFS = 100
MESSAGES, CHATS = 10_000, 500
IDLE = 10.0


def settings(home: str, **more: str) -> dict[str, str]:
    return {
        **os.environ,
        "SOJOURN_HOME": home,
        "SOJOURN_RUNTIME": "echo",
        "SOJOURN_TITLES": "no",
        "SOJOURN_MEMORY_RECALL": "no",
        "SOJOURN_TEMPLATES_AUTOMATIC": "no",
        "SOJOURN_SKILLS_SHORTLIST": "0",
        **more,
    }


async def latencies(home: str) -> tuple[list[float], list[float], float]:
    """Seconds from the request until the turn starts, and until it is over; and what an idle gateway costs."""
    command = [sys.executable, "-m", "sojourn", "gateway", "run"]
    gateway = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=settings(home))  # noqa: ASYNC220
    assert gateway.stdout
    await asyncio.to_thread(gateway.stdout.readline)
    kit = App(config.load({"home": home}))
    started, over = list[float](), list[float]()
    try:
        await asyncio.sleep(2)
        before = _cpu(gateway.pid)
        await asyncio.sleep(IDLE)
        idle = (_cpu(gateway.pid) - before) / IDLE
        for _ in range(HANDOFFS):
            session = await kit.store.create(source="cli")
            begun = time.time()
            asked = await kit.service.hand_off(session.id, "local", by=Caller(surface="cli"), wait=True)
            async for done in kit.service.follow_handoff(asked):
                asked = done
            assert asked.state == "completed", asked
            over.append(time.time() - begun)
            heads = [kept.at async for kept in kit.store.read(session.id) if isinstance(kept.item, Metadata)]
            started.append(min(heads) - begun)
        return started, over, idle
    finally:
        gateway.terminate()
        gateway.wait()
        gateway.stdout.close()
        await kit.close()


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def load(home: str, messages: int, chats: int) -> dict[str, Any]:
    """The process that is loaded; what it measured."""
    kit = App(config.load({"home": home, "gateway.owners": ",".join(f"fake:{n}" for n in range(chats))}))
    network = FakeNetwork()
    gateway = Gateway(kit, [PlainPlatform(network)])
    begun, used = time.time(), time.process_time()
    for n in range(messages):
        network.say(str(n % chats), f"message {n}", Sender(id=str(n % chats)))
    running = asyncio.create_task(gateway.run())
    while sum(len(network.texts(str(n))) for n in range(chats)) < messages:  # noqa: ASYNC110  it has no bell
        await asyncio.sleep(0.25)
    seconds, used = time.time() - begun, time.process_time() - used
    wrong = [n for n in range(chats) if network.texts(str(n)) != [f"message {m}" for m in range(n, messages, chats)]]
    rows = await kit.store.incoming(states=("done",), limit=messages)
    starts = dict[str, float]()
    for session in {row.session for row in rows if row.session}:
        async for kept in kit.store.read(session):
            if isinstance(kept.item, Metadata):
                starts[kept.item.turn_id] = kept.at
    waits = [starts[row.turn] - row.received_at for row in rows if row.turn in starts]
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await kit.close()
    return {
        "seconds": seconds,
        "per_second": messages / seconds,
        "wrong": len(wrong),
        "p50_wait": statistics.median(waits),
        "p95_wait": statistics.quantiles(waits, n=20)[-1],
        "cpu_ms": used / messages * 1000,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def loaded(home: str, messages: int, chats: int) -> dict[str, Any]:
    command = [sys.executable, "-m", "bench.handoff", home, str(messages), str(chats)]
    said = subprocess.run(command, capture_output=True, text=True, env=settings(home), check=True)
    found: dict[str, Any] = json.loads(said.stdout.splitlines()[-1])
    return found


async def main() -> None:
    os.environ.update(settings("/nowhere"))
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as folder:
        started, over, idle = await latencies(folder)
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as folder:
        full = loaded(folder, MESSAGES, CHATS)
    median = statistics.median(started) * 1000
    bars = [
        limit("hand-off, request → the agent's turn starts, median", median, "ms", most=100),
        limit("… 95th of 100", statistics.quantiles(started, n=20)[-1] * 1000, "ms", most=250),
        limit("hand-off, request → completed, median", statistics.median(over) * 1000, "ms", most=1000),
        limit("an idle gateway", idle * 100, "% of a core", most=2),
        Bar("10,000 messages of 500 chats", full["per_second"], None, "per second", None, "reported", True),
        Bar("… waiting for their turn, 95th of 100", full["p95_wait"], None, "s", None, "reported", True),
        Bar("… processor time for each message", full["cpu_ms"], None, "ms", None, "reported", True),
        Bar("… memory", full["megabytes"], None, "MB", None, "reported", True),
        limit("… chats answered wrongly", full["wrong"], "chats", most=0),
    ]
    save_result("handoff", bars, {"started": started, "over": over, "load": full})
    sys.exit(0 if all(one.met for one in bars) else 1)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(asyncio.run(load(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))))
    else:
        asyncio.run(main())
