"""A gateway that dies in the middle of a message: nothing is lost, nothing is said twice."""

import asyncio

import pytest

from sojourn.core.errors import KeyRefused
from sojourn.core.messages import text_of
from sojourn.ports.store import Listing
from sojourn.service import local, turn_start, turn_writer
from sojourn.testing.fake_platform import FakePlatform
from sojourn.testing.scripted_runtime import CallTool, PauseGate, SayText
from tests.integration.gateway.crashing_store import Mortal
from tests.integration.gateway.worlds import world

QUICK = {"gateway_lease_seconds": 0.4}
CRASHES = {
    "before it was kept": ("add_incoming", False, None),
    "after it was kept": ("add_incoming", True, None),
    "after it was claimed": ("claim_incoming", True, None),
    "after the session was opened": ("transact", True, "create"),
    "after the session was noted": ("update_incoming", True, None),
    "after the place was bound": ("bind", True, None),
    "before the turn began": ("transact", False, "begin_turn"),
    "after the turn had begun": ("transact", True, "begin_turn"),
    "before the end of the turn": ("transact", False, "_append_batch"),
    "after the end of the turn": ("transact", True, "_append_batch"),
    "before the message was answered": ("answer_incoming", False, None),
    "after the message was answered": ("answer_incoming", True, None),
    "after the answer was claimed": ("claim_outgoing", True, None),
}


@pytest.mark.parametrize("moment", CRASHES)
async def test_a_message_is_answered_once_whenever_the_gateway_dies(home, store, moment, monkeypatch):
    call, after, work = CRASHES[moment]
    monkeypatch.setattr(turn_writer, "LEASE_SECONDS", 0.5)
    monkeypatch.setattr(turn_start, "LEASE_SECONDS", 0.5)
    monkeypatch.setattr(local, "SWEEP_SECONDS", 0.2)
    async with world(home, store, **QUICK) as at:
        dying = Mortal(store)
        await at.start(store=dying)
        dying.dies(
            call,
            after=after,
            having=lambda *given, **_: not work or getattr(given[0], "func", given[0]).__name__ == work,
        )
        at.network.say("42", "hello there")
        await at.until(lambda: dying.dead)
        await at.stop(at.gateways[0])
        await at.start(apart=True)
        await at.texts("42", 1)
        await at.quiet()
        assert [text.rpartition("\n")[2] for text in at.network.texts("42")] == ["hello there"]
        [session] = [one for one in await at.service.find(Listing()) if one.message_count]
        said = [one.item for one in await at.service.messages(session.id) if one.item.active]
        assert [(one.role, text_of(one)) for one in said] == [("user", "hello there"), ("assistant", "hello there")]


async def test_a_send_that_died_with_its_gateway_is_marked(home, store):
    async with world(home, store, **QUICK) as at:
        dying = Mortal(store)
        await at.start(store=dying)
        dying.dies("finish_outgoing", after=False)
        at.network.say("42", "hello there")
        await at.until(lambda: dying.dead)
        await at.stop(at.gateways[0])
        await at.start(apart=True)
        first, second = await at.texts("42", 2)
        assert (first, second.startswith("↻")) == ("hello there", True)


async def test_a_gateway_that_is_stopped_leaves_its_work_to_the_next(home, store):
    async with world(home, store) as at:
        at.runtime.on("slow", PauseGate("go"), SayText("done"))
        await at.start()
        at.network.say("42", "slow")
        await at.until(lambda: at.runtime.seen)
        await at.stop(at.gateways[0])
        assert [row.state for row in await store.incoming()] == ["waiting"]
        await at.start()
        at.runtime.gate("go").open()
        assert await at.texts("42", 1) == ["done"]
        assert len(at.runtime.seen) == 1  # the turn had gone on without it


async def test_what_was_interrupted_before_anything_was_done_is_asked_again(home, store):
    async with world(home, store) as at:
        at.runtime.on("slow", PauseGate("go"), SayText("done"))
        await at.start(apart=True)
        at.network.say("42", "slow")
        await at.until(lambda: at.runtime.seen)
        [kit_service] = [one for one in at.services if one is not at.service]
        await at.stop(at.gateways[0])
        await kit_service.close()  # the process ends in order: its turn is interrupted, and says so
        at.runtime.gate("go").open()
        await at.start()
        assert await at.texts("42", 1) == ["done"]
        [session] = await at.service.find(Listing())
        said = [one.item for one in await at.service.messages(session.id) if one.item.active]
        assert [one.role for one in said] == ["user", "assistant"]


async def test_what_was_interrupted_after_a_tool_had_run_is_said(home, store):
    async with world(home, store) as at:
        at.runtime.on("slow", CallTool("nothing"), PauseGate("go"), SayText("done"))
        await at.start(apart=True)
        at.network.say("42", "slow")
        await at.until(lambda: at.runtime.seen)
        [session] = await at.service.find(Listing())
        async with asyncio.timeout(5):
            while (await at.service.get(session.id)).message_count < 3:
                await asyncio.sleep(0.01)
        [other] = [one for one in at.services if one is not at.service]
        await at.stop(at.gateways[0])
        await other.close()
        await at.start()
        [text] = await at.texts("42", 1)
        assert text.startswith("✗")
        assert len(at.runtime.seen) == 1


# lines
async def test_a_lost_line_is_taken_up_again(home, store):
    async with world(home, store) as at:
        gateway = await at.start()
        at.network.drop_connections()
        await at.until(lambda: gateway.connections[0].state == "down")
        at.network.say("42", "still there?")
        assert await at.texts("42", 1) == ["still there?"]
        assert gateway.connections[0].state == "up"


async def test_a_credential_is_used_by_one_gateway_and_fails_over(home, store):
    async with world(home, store, **QUICK) as at:
        first = await at.start(apart=True)
        second = await at.start(FakePlatform(at.network), apart=True)
        assert (first.connections[0].state, second.connections[0].state) == ("up", "elsewhere")
        assert at.network.listeners == 1
        await at.stop(at.gateways[0])
        await at.until(lambda: second.connections[0].state == "up")
        at.network.say("42", "who is there?")
        assert await at.texts("42", 1) == ["who is there?"]


async def test_a_wrong_key_is_seen_in_the_health(home, store):
    async with world(home, store) as at:
        gateway = await at.start(FakePlatform(at.network, key="wrong"))
        await at.until(lambda: gateway.connections[0].state == "refused")
        health = (await gateway.health())["lines"]["fake"]
        assert (health["state"], health["problem"]) == ("refused", "The key was refused.")
        assert KeyRefused.code == "key_refused"


async def test_a_broken_adapter_does_not_take_the_gateway_down(home, store):
    class Broken(FakePlatform):
        async def send(self, place, text, *, plain=False, reply_to=""):
            if "boom" in text:
                raise ZeroDivisionError("boom")
            return await super().send(place, text, plain=plain, reply_to=reply_to)

    async with world(home, store) as at:
        await at.start(Broken(at.network))
        at.network.say("42", "boom")
        at.network.say("43", "/whoami")
        at.network.say("#garden", "hello")
        assert await at.texts("#garden", 1) == ["hello"]


async def test_formatting_that_is_refused_comes_as_plain_text(home, store):
    async with world(home, store) as at:
        await at.start()
        at.network.refuse("bad_format")
        at.network.say("42", "*hello")
        assert await at.texts("42", 1) == ["*hello"]


async def test_health_is_progress(home, store):
    async with world(home, store) as at:
        gateway = await at.start()
        at.network.refuse("rate_limited", 30)
        at.network.say("42", "hello")
        async with asyncio.timeout(5):
            while not (await gateway.health())["lines"]["fake"].get("pending"):
                await asyncio.sleep(0.01)
        health = (await gateway.health())["lines"]["fake"]
        assert health["last_received"]
        assert health["oldest_pending"]
        assert not health["last_sent"]
