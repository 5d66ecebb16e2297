"""What the tests of the twenty races share."""

import asyncio

from tests.integration.gateway.worlds import World

QUICK = {"gateway_lease_seconds": 0.4}


async def asked(at: World, session, to: str = "fake"):
    return await at.request(session, to, surface="cli", wait=True)


async def is_in(at: World, handoff, *states: str):
    async with asyncio.timeout(8):
        while (now := await at.store.get_handoff(handoff.id)).state not in states:
            await asyncio.sleep(0.01)
    return now


def to_step(name: str):
    return lambda _handoff, step, **_: step == name
