"""A process that runs turns until it is killed, and the runtime it runs them with, as a plugin of somebody else.

python slow_agent.py HOME              one session: two steps, then a tool that never ends; and a request that waits
python slow_agent.py HOME SESSION …    turns in these sessions, one after the other, for ever
"""

import asyncio
import os
import sys
from collections.abc import AsyncGenerator
from itertools import count
from typing import Any

from sojourn import config
from sojourn.app import App
from sojourn.built_in_plugins import BUILT_INS
from sojourn.core.events import Chunk, Done, Progress
from sojourn.core.messages import ToolCall, assistant, tool_result
from sojourn.core.sessions import SessionId
from sojourn.plugins import Registry, ThirdParty
from sojourn.ports.plugin import Plugin
from sojourn.ports.runtime import RuntimeOutput, RuntimeStatus, SaveState, TurnInput
from sojourn.ports.service import Caller, TurnRequest
from sojourn.testing.service_steps import follow

ME = Caller(surface="cli", holder="a process that will be killed")


class Slow:
    name, label, takes_tool_history = "slow", "Slow", True

    async def ready(self) -> RuntimeStatus:
        return RuntimeStatus(ok=True)

    async def run(self, turn: TurnInput) -> AsyncGenerator[RuntimeOutput, None]:
        for step in range(3):
            call = ToolCall(id=f"{turn.turn}-{step}", name="terminal", arguments=f'{{"step": {step}}}')
            yield Chunk(f"Step {step}. ")
            yield assistant(f"Step {step}. ", [call])
            yield Progress("tool", {"call_id": call.id, "tool": "terminal", "status": "started"})
            if step == 2 and turn.said == "hang":
                yield Chunk("Now I wait")
                await asyncio.Event().wait()
            yield tool_result(call, f"result of {step}")
        yield SaveState({"turn": turn.turn})
        yield Chunk("All done.")
        yield assistant("All done.")
        yield Done(usage={"output_tokens": 3})

    async def close(self) -> None: ...


def make(kit: Any) -> Slow:
    return Slow()


plugin = Plugin(name="slow", summary="For tests.", runtimes={"slow": "tests.e2e.slow_agent:make"})


def app(home: str) -> App:
    store = [one for one in BUILT_INS if one.name == "sqlite"]
    registry = Registry(store, third_party=lambda: [ThirdParty("slow", "tests.e2e.slow_agent")])
    return App(config.load({"home": home, "agent.runtime": "slow"}), registry)


async def hang(home: str) -> None:
    service = app(home).service
    session = (await service.open(ME)).id
    turn = await service.say(session, TurnRequest(text="hang", key="once"), ME)
    async for kept in service.watch(session):
        if isinstance(kept.item, Chunk) and kept.item.text == "Now I wait":
            break
    waiting = await service.say(session, TurnRequest(text="and then"), ME, when_busy="wait")
    print(session, turn.id, waiting.id, flush=True)
    await asyncio.Event().wait()


async def work(home: str, sessions: list[SessionId]) -> None:
    service = app(home).service

    async def one(session: SessionId) -> None:
        for number in count():
            turn = await service.say(session, TurnRequest(text=f"request {number}", key=f"{os.getpid()}-{number}"), ME)
            await follow(service, turn)
            print(session, turn.id, flush=True)

    await asyncio.gather(*map(one, sessions))


if __name__ == "__main__":
    home, *sessions = sys.argv[1:]
    asyncio.run(work(home, [SessionId(one) for one in sessions]) if sessions else hang(home))
