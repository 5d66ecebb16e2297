"""Service contract, hand-offs: requested, followed, refused, expired and cancelled, in every implementation alike.

Needs the fixture `store`: the store behind the service, opened a second time, as a gateway's process does.
"""

from __future__ import annotations

import asyncio
from contextlib import aclosing
from dataclasses import replace

import pytest

from sojourn.core.errors import BadInput, Conflict, NotAllowed, NotDriving, NotFound, PlatformDown, SessionBusy
from sojourn.core.handoff import Handoff
from sojourn.core.messages import Json
from sojourn.ports.gateway_store import Heartbeat
from sojourn.ports.service import Service, TurnRequest
from sojourn.ports.store import Store
from sojourn.testing.scripted_runtime import PauseGate, SayText, ScriptedRuntime
from sojourn.testing.service_steps import GUEST, ME, NOBODY, PHONE, SECONDS, opened, talk

NETWORK = "pigeons"


async def start_gateway(store: Store, state: str = "up") -> None:
    """Makes a gateway known that serves one network, and for a minute."""
    health: dict[str, Json] = {"lines": {NETWORK: {"state": state, "problem": "" if state == "up" else "no pigeons"}}}
    await store.heartbeat(Heartbeat(id="gateway", host="here", pid=1, health=health, started_at=1.0), seconds=60)


async def carry(store: Store, handoff: Handoff) -> None:
    """Does a gateway's work on a hand-off, from the claim to its end."""
    claimed = await store.claim_handoff("gateway", id=handoff.id)
    assert claimed is not None
    ready = await store.advance_handoff(claimed, "thread_ready", thread_id="7")
    bound = await store.advance_handoff(ready, "bound", surface=handoff.platform)
    done = await store.advance_handoff(bound, "turn_done")
    await store.complete_handoff(await store.advance_handoff(done, "delivered", message_id="m1"))


async def last_step(service: Service, handoff: Handoff) -> Handoff:
    async with asyncio.timeout(SECONDS), aclosing(service.follow_handoff(handoff)) as steps:
        return [step async for step in steps][-1]


class ServiceHandoffsContract:
    """Hand-offs as a surface asks for them."""

    async def test_a_handoff_is_followed_to_its_end_and_the_receiver_drives(
        self, service: Service, store: Store
    ) -> None:
        await start_gateway(store)
        session = await opened(service)
        handoff = await service.hand_off(session, NETWORK, by=replace(ME, name="Ann"), target="42", wait=True)
        assert (handoff.session, handoff.platform, handoff.target, handoff.state) == (
            session,
            NETWORK,
            "42",
            "requested",
        )
        assert (handoff.from_surface, handoff.by) == ("cli", "Ann")
        states = []
        async with asyncio.timeout(SECONDS), aclosing(service.follow_handoff(handoff)) as steps:
            async for step in steps:
                states.append(step.state)
                if step.state == "requested":
                    await carry(store, handoff)
        assert (states[0], states[-1]) == ("requested", "completed")
        assert (step.thread_id, step.message_id) == ("7", "m1")
        assert (await service.get(session)).driver == NETWORK
        assert (await service.get_handoff(handoff.id)) == step

    async def test_a_handoff_that_is_over_is_followed_by_its_end_alone(self, service: Service, store: Store) -> None:
        await start_gateway(store)
        handoff = await service.hand_off(await opened(service), "web", by=ME)
        await service.cancel_handoff(handoff.id)
        assert (await last_step(service, await service.get_handoff(handoff.id))).state == "cancelled"

    async def test_without_a_surface_the_driver_gives_the_session_away(self, service: Service, store: Store) -> None:
        await start_gateway(store)
        session = await opened(service, PHONE)
        await talk(service, session, "hello", PHONE)
        handoff = await service.hand_off(session, NETWORK, by=replace(ME, surface=""), target="42")
        assert handoff.from_surface == "telegram"

    async def test_what_cannot_arrive_is_refused_at_once(self, service: Service, store: Store) -> None:
        session = await opened(service)
        with pytest.raises(PlatformDown, match="No gateway is running"):
            await service.hand_off(session, NETWORK, by=ME, target="42")
        await start_gateway(store, "down")
        with pytest.raises(PlatformDown, match="no pigeons"):
            await service.hand_off(session, NETWORK, by=ME, target="42")
        await start_gateway(store)
        with pytest.raises(NotFound, match="smoke"):
            await service.hand_off(session, "smoke", by=ME)
        with pytest.raises(BadInput, match="no home channel"):
            await service.hand_off(session, NETWORK, by=ME)
        with pytest.raises(BadInput, match="Hand it off to where"):
            await service.hand_off(session, "", by=ME)
        with pytest.raises(NotFound):
            await service.hand_off(NOBODY, "web", by=ME)

    async def test_only_the_driver_hands_over_and_only_once(self, service: Service, store: Store) -> None:
        await start_gateway(store)
        session = await opened(service)
        await talk(service, session, "hello")
        with pytest.raises(NotDriving):
            await service.hand_off(session, "web", by=PHONE)
        await service.hand_off(session, "web", by=ME)
        with pytest.raises(Conflict):
            await service.hand_off(session, "cli", by=ME)

    async def test_not_in_the_middle_of_a_turn(self, service: Service, store: Store, runtime: ScriptedRuntime) -> None:
        await start_gateway(store)
        runtime.on("slow", SayText("half ", kept=False), PauseGate("go"), SayText("done"))
        session = await opened(service)
        await service.say(session, TurnRequest(text="slow"), ME)
        with pytest.raises(SessionBusy):
            await service.hand_off(session, "web", by=ME)
        runtime.gate("go").open()

    async def test_a_guest_names_no_chat_and_sees_no_session_of_others(self, service: Service, store: Store) -> None:
        await start_gateway(store)
        session = await opened(service, GUEST)
        with pytest.raises(NotAllowed, match="own home channel"):
            await service.hand_off(session, NETWORK, by=GUEST, target="42")
        with pytest.raises(NotFound):
            await service.hand_off(await opened(service), "web", by=GUEST)

    async def test_a_handoff_can_be_cancelled_until_it_has_arrived(self, service: Service, store: Store) -> None:
        await start_gateway(store)
        session = await opened(service)
        await talk(service, session, "hello")
        handoff = await service.hand_off(session, "web", by=ME)
        assert (await service.cancel_handoff(handoff.id)).state == "cancelled"
        with pytest.raises(Conflict):
            await service.cancel_handoff(handoff.id)
        with pytest.raises(NotFound):
            await service.get_handoff(type(handoff.id)("h_0000000000000000"))
        assert (await service.get(session)).driver == "cli"
