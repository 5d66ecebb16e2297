"""A gateway on the rooms of `local`, over a line that breaks now and then: `python chaos_gateway.py SEED`.

Its home and store come from the environment, as for any process. It is killed from outside.
"""

import asyncio
import random
import sys
from collections.abc import AsyncGenerator

from sojourn import config
from sojourn.compose import App
from sojourn.core.errors import PlatformDown
from sojourn.core.places import Place
from sojourn.gateway.host import Gateway
from sojourn.platforms.local import Local
from sojourn.ports.platform import Inbound, Sent


class Flaky(Local):
    """Loses the line while listening, and while sending: before the message arrived, or just after."""

    chance = random.Random(0)

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        async for inbound in super().listen():
            yield inbound
            if self.chance.random() < 0.02:
                raise PlatformDown("The line was lost.")

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        if self.chance.random() < 0.02:
            raise PlatformDown("The line was lost before anything was said.")
        sent = await super().send(place, text, plain=plain, reply_to=reply_to)
        if self.chance.random() < 0.02:
            raise PlatformDown("The line was lost before the answer came.")
        return sent


async def main() -> None:
    kit = App(config.load())
    Flaky.chance = random.Random(int(sys.argv[1]))
    gateway = Gateway(kit, [Flaky(kit)])
    running = asyncio.create_task(gateway.run())
    await gateway.ready.wait()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await running


asyncio.run(main())
