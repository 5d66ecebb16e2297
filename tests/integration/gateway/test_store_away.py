"""The database goes away for a moment, or the account moves to another gateway: hand-offs and answers go on, once."""

import asyncio

import pytest

from sojourn.core.errors import SessionBusy, StoreUnavailable
from sojourn.gateway.dispatch import MessageDispatcher
from sojourn.gateway.payloads import InboundPayload, encode_payload
from sojourn.gateway.render import DUPLICATE_MARK
from sojourn.ports.gateway_store import CredentialLease
from sojourn.service.local import LocalService
from sojourn.testing.fake_platform import FakePlatform, PlainPlatform
from sojourn.testing.scripted_runtime import PauseGate, SayText
from sojourn.turn_support.conversation_history import SessionPast
from tests.integration.gateway.worlds import world
from tests.servers.flaky_store import Faint

QUICK = {"gateway_lease_seconds": 0.6}
STEPS = ("thread_ready", "bound", "turn_done", "delivered", "completed")


@pytest.mark.parametrize("after", [True, False], ids=["was kept", "was not kept"])
@pytest.mark.parametrize("step", STEPS)
async def test_a_hand_off_is_completed_though_the_line_breaks_at_a_step_that(home, store, step, after):
    call = "complete_handoff" if step == "completed" else "advance_handoff"
    async with world(home, store) as at:
        faint = Faint(store)
        await at.start(store=faint)
        session = await at.session("plant a tree")
        faint.faints(call, after=after, having=lambda _, to="", **__: to in ("", step))
        done = await at.hand_over(session)
        assert (done.state, done.error, faint.fainted) == ("completed", "", 1)
        await at.quiet()
        assert len(at.network.texts("42", done.thread_id)) == 1


async def test_a_hand_off_goes_on_where_the_account_went(home, store):
    """The gateway that carries it lives, but another one has the line now: each must not wait for the other."""
    async with world(home, store, **QUICK) as at:
        at.runtime.on("[Sojourn", PauseGate("go"), SayText("hello"))
        first = await at.start(apart=True)
        second = await at.start(FakePlatform(at.network), apart=True)
        session = await at.session("plant a tree")
        keep, announced = store.add_incoming, asyncio.Event()

        async def announce(platform, account, id, **given):
            await store.renew_credential(
                CredentialLease(credential="fake:bot", owner=first.id, fence=1, until=0.0), seconds=0
            )
            await at.until(lambda: (first.connections[0].state, second.connections[0].state) == ("elsewhere", "up"))
            announced.set()
            return await keep(platform, account, id, **given)

        store.add_incoming = announce
        at.runtime.gate("go").open()
        done = await at.hand_over(session)
        assert (announced.is_set(), done.state, done.owner) == (True, "completed", second.id)
        assert len(at.network.texts("42", done.thread_id)) == 1


async def test_a_hand_off_goes_on_when_the_line_went_to_and_fro(home, store):
    """One has its word in hand, the other one carries it and has the line again: each must not wait for the other."""
    async with world(home, store, **QUICK) as at:
        first = await at.start(apart=True)
        second = await at.start(FakePlatform(at.network), apart=True)
        first._inbox._max_tasks = 0  # it takes nothing for a while
        session = await at.session("plant a tree")
        done = asyncio.create_task(at.hand_over(session))
        await at.rows("waiting", 1)
        line = second.connections[0]
        line.state, line.is_leased = "up", True
        await second._inbox._claim_batch()
        [word] = await at.rows("running", 1)
        assert word.owner == second.id
        line.state, line.is_leased = "elsewhere", False
        first._inbox._max_tasks = 10
        assert (await done).state == "completed"
        assert len(at.network.texts("42", done.result().thread_id)) == 1


async def test_a_line_that_is_down_takes_nothing_from_the_inbox_of_another(home, store):
    async with world(home, store, **QUICK) as at:
        first = await at.start(apart=True)
        second = await at.start(FakePlatform(at.network), apart=True)
        first.connections[0].failures = 6  # it will take its time
        at.network.drop_connections()
        await at.until(lambda: (first.connections[0].state, second.connections[0].state) == ("down", "up"))
        taken = store.claim_incoming

        async def claim(owner, **given):
            assert owner != first.id
            return await taken(owner, **given)

        store.claim_incoming = claim
        at.network.say("42", "who is there?")
        assert await at.texts("42", 1) == ["who is there?"]
        assert not await first._inbox._claim_batch()


async def test_two_sessions_that_arrive_in_one_place_wait_side_by_side(home, store):
    """Words wait for a session that comes to their place; so do two arrivals that another gateway still carries."""
    async with world(home, store) as at:
        await at.start(PlainPlatform(at.network))
        at.network.say("42", "an old story")
        await at.texts("42", 1)
        await at.stop(at.gateways.pop())
        [here] = await store.bindings()
        sessions = [here.session, (await at.session("plant a tree")).id]
        for surface, session in zip(("fake", "cli"), sessions, strict=True):
            await store.request_handoff(session, "fake", surface=surface, target="42")
        [words] = await store.incoming()
        await store.add_incoming("fake", "bot", "m2", place=here.place, payload={**words.payload, "text": "go on"})
        for _ in sessions:
            claimed = await store.claim_handoff("a gateway that dies", seconds=1.0)
            ready = await store.advance_handoff(claimed, "thread_ready", place=here.place)
            letter = InboundPayload(place=FakePlatform(at.network).home("42"), text="It arrives.", handoff=ready.id)
            await store.add_incoming(
                "fake", "bot", f"handoff:{ready.id}", place=here.place, payload=encode_payload(letter)
            )
        await at.start(PlainPlatform(at.network))
        await at.quiet()
        assert sorted(at.network.texts("42")[1:])[-1] == "go on"
        assert not [text for text in at.network.texts("42") if text.startswith("✗")]
        assert [(await store.get_handoff_state(one)).state for one in sessions] == ["completed", "completed"]


async def test_what_was_sent_is_not_sent_again_because_that_could_not_be_noted(home, store):
    async with world(home, store) as at:
        faint = Faint(store)
        await at.start(store=faint)
        faint.faints("finish_outgoing", after=False, times=2)
        at.network.say("42", "hello")
        await at.texts("42", 1)
        await at.quiet()
        assert (at.network.texts("42"), faint.fainted) == (["hello"], 2)


async def test_a_send_that_ended_in_an_unknown_error_is_marked_when_it_is_repeated(home, store):
    class Odd(FakePlatform):
        async def send(self, *given, **more):
            sent = await super().send(*given, **more)
            if len(at.network.texts("42")) == 1:
                raise KeyError("an answer nobody understands")
            return sent

    async with world(home, store) as at:
        await at.start(Odd(at.network))
        at.network.say("42", "hello")
        assert await at.texts("42", 2) == ["hello", f"{DUPLICATE_MARK}hello"]


async def test_words_that_were_cut_off_are_asked_again_though_they_cannot_be_taken_back(home, store, monkeypatch):
    async def busy(_, session, by):
        raise SessionBusy(session, holder="another", surface="fake", since=0.0)

    async with world(home, store) as at:
        at.runtime.on("slow", PauseGate("go"), SayText("done"))
        await at.start(apart=True)
        at.network.say("42", "slow")
        await at.until(lambda: at.runtime.seen)
        [other] = [one for one in at.services if one is not at.service]
        await at.stop(at.gateways[0])
        await other.close()
        monkeypatch.setattr(LocalService, "undo", busy)
        at.runtime.gate("go").open()
        await at.start()
        assert await at.texts("42", 1) == ["done"]


async def test_words_that_are_cut_off_each_time_are_answered_with_that(home, store, monkeypatch):
    def away(*_, **__):
        raise StoreUnavailable("It cannot be reached.")

    monkeypatch.setattr(SessionPast, "is_current", lambda *_: False)  # it has to be read again
    monkeypatch.setattr("sojourn.service.agent.read_past", away)
    async with world(home, store) as at:
        await at.start()
        at.network.say("42", "hello")
        assert await at.texts("42", 1) == ["✗ It cannot be reached."]
        await at.quiet()


async def test_an_heir_goes_on_in_the_session_the_words_had_gone_to(home, store):
    """Meanwhile that session was handed elsewhere, and the place is empty: the words must not be answered twice."""
    async with world(home, store, **QUICK) as at:
        await at.start()
        first = await at.hand_over(await at.session("plant a tree"))
        at.runtime.on("slow", PauseGate("go"), SayText("done"))
        at.network.say("42", "slow", thread=first.thread_id)
        await at.until(lambda: at.runtime.seen[-1].said == "slow")
        await at.stop(at.gateways.pop())
        [row] = await store.incoming(states=("waiting",))
        assert row.session == first.session
        await store.bind("fake:dm:elsewhere", first.session)
        at.runtime.gate("go").open()
        await at.start()
        assert (await at.texts("42", 2, first.thread_id))[1:] == ["done"]
        assert [turn.said for turn in at.runtime.seen].count("slow") == 1
        assert [one.place for one in await store.bindings(session=first.session)] == ["fake:dm:elsewhere"]


async def test_a_row_that_could_not_be_renewed_in_time_is_not_worked_on_twice_at_once(home, store, monkeypatch):
    async with world(home, store, gateway_lease_seconds=0.3) as at:
        at.runtime.on("slow", PauseGate("go"), SayText("done"))
        note, handle, under_way, most = store.update_incoming, MessageDispatcher.handle, [0], [0]

        async def late(item, **given):
            return await note(item, **{**given, "seconds": -1.0})

        async def counted(self, item, place):
            under_way[0] += 1
            most[0] = max(most[0], under_way[0])
            try:
                await handle(self, item, place)
            finally:
                under_way[0] -= 1

        monkeypatch.setattr(MessageDispatcher, "handle", counted)
        monkeypatch.setattr(store, "update_incoming", late)
        await at.start()
        at.network.say("42", "slow")
        async with asyncio.timeout(8):
            while not (rows := await store.incoming()) or rows[0].attempts < 3:
                await asyncio.sleep(0.01)
        monkeypatch.setattr(store, "update_incoming", note)
        at.runtime.gate("go").open()
        assert await at.texts("42", 1) == ["done"]
        await at.quiet()
        assert (most, len(at.runtime.seen), at.network.texts("42")) == ([1], 1, ["done"])
