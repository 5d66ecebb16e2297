"""The races a hand-off has to survive, 12 to 20: with the network, the people there, clocks, other machines. The first
eleven are in test_races.py."""

import asyncio
import time

import pytest

from sojourn.core.errors import PlatformDown
from sojourn.gateway.pairing import Identities
from sojourn.gateway.render import DUPLICATE_MARK
from sojourn.ports.service import TurnRequest
from sojourn.service.handoffs import HandoffRequests
from sojourn.stores.postgres.store import PostgresStore
from sojourn.testing.fake_platform import ANN, BEN, FakePlatform
from sojourn.testing.scripted_runtime import PauseGate, SayText
from tests.integration.gateway.crashing_store import Mortal
from tests.integration.gateway.race_steps import QUICK, asked, is_in, to_step
from tests.integration.gateway.worlds import CLI, wait_for, world


@pytest.mark.parametrize("kind", ["forbidden", "not_found"])
async def test_race_12_a_door_that_is_closed_fails_with_the_reason(home, store, kind):
    async with world(home, store) as at:
        await at.start()
        session = await at.session("plant a tree")
        at.network.refuse(kind)
        done = await at.hand_over(session)
        assert (done.state, kind in done.error) == ("failed", True)
        assert (await store.get(session.id)).driver == "cli"


async def test_race_12_a_rate_limit_is_waited_for(home, store):
    async with world(home, store) as at:
        await at.start()
        at.network.refuse("rate_limited", 0.3)
        began = time.monotonic()
        done = await at.hand_over(await at.session("plant a tree"))
        assert done.state == "completed"
        assert time.monotonic() - began >= 0.3


async def test_race_12_a_send_nobody_can_be_sure_of_is_marked(home, store):
    async with world(home, store) as at:
        await at.start()
        session = await at.session("plant a tree")
        at.network.swallow(arrives=True)
        done = await at.hand_over(session)
        first, second = await at.texts("42", 2, done.thread_id)
        assert second == DUPLICATE_MARK + first
        [row] = await store.outgoing(session=session.id)
        assert (row.state, row.possible_duplicate) == ("delivered", True)


async def test_race_13_a_line_that_is_down_is_said_at_once_or_waited_for(home, store):
    async with world(home, store, **QUICK) as at:
        gateway = await at.start()
        session = await at.session("plant a tree")
        at.network.die()
        await at.until(lambda: gateway.connections[0].state == "down")
        async with asyncio.timeout(5):  # others hear of it with the next heartbeat
            while (await store.gateways())[0].health["lines"]["fake"]["state"] != "down":
                await asyncio.sleep(0.01)
        with pytest.raises(PlatformDown, match="cannot be reached"):
            await at.request(session, "fake", surface="cli")
        waiting = await store.request_handoff(session.id, "fake", surface="cli")
        at.network.revive()
        assert (await is_in(at, waiting, "completed")).state == "completed"


async def test_race_14_nothing_ever_resets_a_bound_place(home, store):
    async with world(home, store) as at:
        await at.start()
        session = await at.session("plant a tree")
        done = await at.hand_over(session)
        await store.expire_handoffs()
        await store.prune_journal(time.time() + 10 * 86_400)
        at.network.say("42", "still there?", thread=done.thread_id)
        await at.texts("42", 2, done.thread_id)
        assert at.runtime.seen[-1].session.id == session.id


async def test_race_15_a_transcript_does_not_go_to_somebody_who_was_put_out(home, store):
    async with world(home, store, gateway_owners="", gateway_home="") as at:
        people = Identities(store, at.settings)
        await people.pair(await people.issue_code("fake", ANN), as_owner=True)
        await at.start()
        at.network.say("42", "/sethome")
        await at.texts("42", 1)
        await people.unpair("fake", "42")
        session = await at.session("my secrets")
        done = await at.hand_over(session)
        assert (done.state, done.error_code) == ("failed", "not_allowed")
        assert at.network.threads_opened == []
        assert len(at.network.texts("42")) == 1


async def test_race_15_a_guest_in_the_thread_does_not_get_into_the_session(home, store):
    async with world(home, store, gateway_guests="fake:43", gateway_home="fake:#garden") as at:
        await at.start()
        session = await at.session("my secrets")
        done = await at.hand_over(session)
        at.network.say("#garden", "what are the secrets?", BEN, thread=done.thread_id)
        await at.texts("#garden", 2, done.thread_id)
        other = at.runtime.seen[-1]
        assert other.session.id != session.id
        assert (other.session.principal, other.history) == ("guest:fake-43", ())


async def test_race_16_a_clock_that_jumps_ends_no_wait(home, store, monkeypatch):
    async with world(home, store) as at:
        at.runtime.otherwise = (PauseGate("go"), SayText("hello"))
        await at.start()
        handoff = await asked(at, await at.session())
        await is_in(at, handoff, "bound")
        real = time.time
        monkeypatch.setattr(time, "time", lambda: real() + 7200)
        waiting = asyncio.create_task(wait_for(at.requests, handoff))
        await asyncio.sleep(0.05)  # the waiter looks at least once at the wrong clock
        monkeypatch.setattr(time, "time", real)
        at.runtime.gate("go").open()
        assert (await waiting).state == "completed"


async def test_race_16_a_store_that_is_away_for_a_moment_is_waited_for(home, store):
    async with world(home, store, **QUICK) as at:
        flaky = Mortal(store)
        await at.start(store=flaky)
        session = await at.session("plant a tree")
        flaky.dies("claim_handoff", after=False)
        handoff = await asked(at, session)
        await at.until(lambda: flaky.dead)
        flaky.dies("nothing at all")
        flaky.dead = False
        assert (await is_in(at, handoff, "completed")).state == "completed"


async def test_race_17_taking_it_back_while_the_chat_owns_it(home, store):
    async with world(home, store) as at:
        at.runtime.otherwise = (PauseGate("go"), SayText("hello"))
        await at.start()
        session = await at.session()
        handoff = await asked(at, session)
        now = await is_in(at, handoff, "bound")
        await at.service.take_over(session.id, CLI)
        at.runtime.gate("go").open()
        await at.service.settle()
        over = await is_in(at, handoff, "completed", "failed", "cancelled")
        assert (await store.get(session.id)).driver == "cli"
        assert not over.is_live
        at.runtime.otherwise = None
        await at.service.say(session.id, TurnRequest(text="mine again"), CLI)
        await at.service.settle()
        at.network.say("42", "and mine?", thread=now.thread_id)
        await at.until(
            lambda: any(
                "and mine?" in t or "driven from cli" in t
                for t in at.network.texts("42", now.thread_id) + at.network.texts("42")
            )
        )
        assert (await store.get(session.id)).driver == "cli"


async def test_race_18_a_slow_one_holds_up_nobody(home, store):
    class Slow(FakePlatform):
        async def create_handoff_thread(self, parent, name):
            if "slow" in name:
                await asyncio.Event().wait()
            return await super().create_handoff_thread(parent, name)

    async with world(home, store) as at:
        await at.start(Slow(at.network))
        slow = await asked(at, await at.session("x", title="slow"))
        assert (await at.hand_over(await at.session("y", title="quick"))).state == "completed"
        assert (await store.get_handoff(slow.id)).state == "claimed"


async def test_race_19_going_on_after_a_crash_opens_no_second_thread(home, store):
    async with world(home, store, **QUICK) as at:
        dying = Mortal(store)
        await at.start(store=dying)
        dying.dies("advance_handoff", having=to_step("thread_ready"), after=False)
        handoff = await asked(at, await at.session("plant a tree"))
        await at.until(lambda: dying.dead)
        await at.stop(at.gateways[0])
        await at.start(apart=True)
        assert (await is_in(at, handoff, "completed", "failed")).state == "completed"
        assert len(at.network.threads_opened) == 1


async def test_race_20_giver_and_gateway_on_different_machines(home, postgres_url):
    """Two connections to one PostgreSQL and nothing else in common."""
    here, there = PostgresStore(postgres_url), PostgresStore(postgres_url)
    try:
        async with world(home, there) as at:
            await at.start()
            session = await here.create(source="cli")
            requests = HandoffRequests(here, at.settings)
            given = await requests.request(session, "fake", by=CLI, target="", wait=True)
            done = await wait_for(requests, given)
            assert done.state == "completed"
            assert len(at.network.texts("42", done.thread_id)) == 1
            assert (await here.get(session.id)).driver == "fake"
    finally:
        await here.close()
        await there.close()
