"""A gateway on the rooms of `local`, over a line that breaks now and then: `python chaos_gateway.py SEED`.

Its home and store come from the environment, as for any process. It is killed from outside. What it has to say goes to
its error stream, where whoever started it finds it when something went wrong.
"""

import asyncio
import logging
import random
import sys
import time
from collections.abc import AsyncGenerator

from sojourn import config
from sojourn.app import App
from sojourn.core.errors import PlatformDown
from sojourn.core.places import Place
from sojourn.gateway.host import Gateway
from sojourn.platforms.local import Local
from sojourn.ports.platform import Inbound, Sent

LOST = "The line was lost"

logger = logging.getLogger("chaos")


class Flaky(Local):
    """Loses the line: while listening, and for a moment afterwards; while sending, before the message arrived or just
    after."""

    chance = random.Random(0)
    _gone_until = 0.0

    async def listen(self) -> AsyncGenerator[Inbound, None]:
        self._try()
        async for inbound in super().listen():
            yield inbound
            if self.chance.random() < 0.05:
                self._gone_until = time.monotonic() + self.chance.uniform(0.0, 1.5)
                self._try()

    def _try(self) -> None:
        if time.monotonic() < self._gone_until:
            raise self._lost(".")

    def _lost(self, when: str) -> PlatformDown:
        logger.info("%s%s", LOST, when)
        return PlatformDown(LOST + when)

    async def send(self, place: Place, text: str, *, plain: bool = False, reply_to: str = "") -> Sent:
        self._try()
        if self.chance.random() < 0.05:
            raise self._lost(" before anything was said.")
        sent = await super().send(place, text, plain=plain, reply_to=reply_to)
        if self.chance.random() < 0.05:
            raise self._lost(" before the answer came.")
        return sent

    async def create_handoff_thread(self, parent: Place, name: str) -> Place:
        self._try()
        return await super().create_handoff_thread(parent, name)


async def main() -> None:
    kit = App(config.load())
    Flaky.chance = random.Random(int(sys.argv[1]))
    gateway = Gateway(kit, [Flaky(kit)])
    running = asyncio.create_task(gateway.run())
    await gateway.ready.wait()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await running


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(process)d %(name)s %(message)s")
    asyncio.run(main())
