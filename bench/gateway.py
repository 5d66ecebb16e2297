"""What a message in a chat costs: heard, stored, answered by `echo` and delivered, by one gateway process as shipped.

The chat network is in the same process, so its work counts too. The second run counts statements, and those of turns
that come without a gateway; the difference is the gateway's own.
"""

from __future__ import annotations

import asyncio
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from functools import partial

from bench.peer import ROOT
from bench.report import at_least, limit, save_result
from bench.statement_counts import Counts, StatementCounts
from sojourn import config
from sojourn.app import App
from sojourn.core.places import Sender
from sojourn.gateway.host import Gateway
from sojourn.ports.service import Caller, TurnRequest
from sojourn.testing.fake_platform import FakeNetwork, PlainPlatform

CHATS, MESSAGES = 60, 10  # messages in each chat
COUNTED = 50
WORDS = 20
ME = Caller(surface="bench", holder="a measurement")


def say(chat: str, number: int) -> str:
    """A text that no other message is like, as in `bench/turn`."""
    return " ".join(f"word{chat[-2:]}x{number}y{at}" for at in range(WORDS))


async def exchange(network: FakeNetwork, messages: int, chats: int = CHATS) -> float:
    """People write in some chats at once, and again when they are answered; returns the seconds it took."""
    began = time.monotonic()

    async def talk(chat: str) -> None:
        before = len(network.texts(chat))
        for number in range(messages):
            network.say(chat, say(chat, number), Sender(id=chat))
            while len(network.texts(chat)) < before + number + 1:  # noqa: ASYNC110  it has no bell
                await asyncio.sleep(0.02)

    await asyncio.gather(*(talk(f"chat-{number}") for number in range(chats)))
    return time.monotonic() - began


async def run(*, is_counted: bool) -> dict[str, float]:
    logging.disable()
    counts = StatementCounts() if is_counted else None
    owners = ",".join(f"fake:chat-{number}" for number in range(CHATS))
    kit = App(config.load({"gateway.owners": owners, "agent.runtime": "echo"}))
    network = FakeNetwork()
    running = asyncio.create_task(Gateway(kit, [PlainPlatform(network, account="bench")]).run())
    await network.listening()
    await exchange(network, 2)
    if counts is not None:
        return await _count(kit, network, counts, running)
    before = time.process_time()
    seconds = await exchange(network, MESSAGES)
    cpu, sent = time.process_time() - before, CHATS * MESSAGES
    await _stop(kit, running)
    return {"per second": sent / seconds, "CPU ms": cpu / sent * 1000}


async def _count(
    kit: App, network: FakeNetwork, counts: StatementCounts, running: asyncio.Task[None]
) -> dict[str, float]:
    await _settle(counts)
    await exchange(network, COUNTED, 1)  # one by one: what comes at once shares its transactions
    message = _share(await _settle(counts), COUNTED)
    session = (await kit.service.open(ME)).id
    for number in range(COUNTED):
        if number % MESSAGES == 0:
            session = (await kit.service.open(ME)).id
        await kit.service.say(session, TurnRequest(text=say("turn", number)), ME)
        while await kit.service.running(session):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    turn = _share(await _settle(counts), COUNTED)
    await _stop(kit, running)
    return {
        f"{name} of a {what}": getattr(found, name)
        for what, found in (("message", message), ("turn", turn))
        for name in Counts._fields
    }


async def _settle(counts: StatementCounts) -> Counts:
    await asyncio.sleep(2)
    return counts.take()


def _share(found: Counts, count: int) -> Counts:
    return Counts(*(value / count for value in found))


async def _stop(kit: App, running: asyncio.Task[None]) -> None:
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await kit.close()


def start(word: str) -> dict[str, float]:
    """In a process and a home of its own."""
    with tempfile.TemporaryDirectory(prefix="sojourn-bench-") as home:
        env = {**os.environ, "SOJOURN_HOME": home, "HOME": home}
        command = [sys.executable, "-m", "bench.gateway", word]
        output = subprocess.run(command, env=env, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
        found: dict[str, float] = json.loads(output.splitlines()[-1])
        return found


def main() -> int:
    if len(sys.argv) > 1:
        print(json.dumps(asyncio.run(run(is_counted=sys.argv[1] == "counted"))))
        return 0
    cost, work = start("timed"), start("counted")
    own = partial(_difference, work)
    bars = [
        at_least("messages of one process", cost["per second"], "messages/s", least=160),
        limit("CPU of a message, its turn included", cost["CPU ms"], "ms", most=6),
        limit("write transactions beside those of the turn", own("writes"), "", most=6),
        limit("statements beside those of the turn", own("statements"), "", most=30),
    ]
    save_result("gateway", bars, {**cost, **work})
    return 0


def _difference(work: dict[str, float], name: str) -> float:
    return work[f"{name} of a message"] - work[f"{name} of a turn"]


if __name__ == "__main__":
    sys.exit(main())
