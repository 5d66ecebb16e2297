"""The races a hand-off has to survive, one test each, in the order in which they were written down: 1 to 11, who
carries it and who may write meanwhile. The others are in test_races_outside.py."""

import asyncio
from dataclasses import replace

import pytest

from sojourn.core.errors import Conflict, LeaseLost, NotDriving, NotFound, StoreUnavailable
from sojourn.core.events import Done
from sojourn.core.messages import user
from sojourn.gateway.render import DUPLICATE_MARK
from sojourn.ports.runtime import Compaction
from sojourn.ports.service import TurnRequest
from sojourn.ports.store import Listing
from sojourn.testing.fake_platform import FakePlatform, PlainPlatform
from sojourn.testing.scripted_runtime import EmitFrom, PauseGate, SayText
from tests.integration.gateway.crashing_store import Mortal
from tests.integration.gateway.race_steps import QUICK, asked, is_in, to_step
from tests.integration.gateway.worlds import CLI, wait_for, world


async def test_race_01_a_waiter_that_gives_up_mid_turn_changes_nothing(home, store):
    async with world(home, store) as at:
        at.runtime.otherwise = (PauseGate("go"), SayText("hello"))
        await at.start()
        session = await at.session()
        handoff = await asked(at, session)
        await is_in(at, handoff, "bound")
        with pytest.raises(Conflict):
            await store.cancel_handoff(handoff.id, as_="expired")
        waiting = asyncio.create_task(wait_for(at.requests, handoff, seconds=0.0))
        at.runtime.gate("go").open()
        assert (await waiting).state == "completed"
        assert (await store.get(session.id)).handoff_state == "completed"


CRASHES = {
    "after the claim": ("claim_handoff", lambda *_, **__: True, True),
    "after the thread was opened": ("put_record", lambda record, **_: record.kind == "handoff_place", True),
    "after the place was ready": ("advance_handoff", to_step("thread_ready"), True),
    "before our word was in the inbox": ("add_incoming", lambda *_, **__: True, False),
    "after our word was in the inbox": ("add_incoming", lambda *_, **__: True, True),
    "after the place was bound": ("bind", lambda *_, **__: True, True),
    "after the wheel had moved": ("advance_handoff", to_step("bound"), True),
    "after the turn": ("advance_handoff", to_step("turn_done"), True),
    "before the turn was noted": ("advance_handoff", to_step("turn_done"), False),
    "after delivery": ("advance_handoff", to_step("delivered"), True),
    "before the end was written": ("complete_handoff", lambda *_, **__: True, False),
}


@pytest.mark.parametrize("moment", CRASHES)
async def test_race_02_a_crash_at_any_step_is_resumed(home, store, moment):
    call, having, after = CRASHES[moment]
    async with world(home, store, **QUICK) as at:
        dying = Mortal(store)
        await at.start(store=dying)
        session = await at.session("plant a tree")
        dying.dies(call, having=having, after=after)
        handoff = await asked(at, session)
        await at.until(lambda: dying.dead)
        await at.stop(at.gateways[0])
        await at.start(apart=True)
        done = await is_in(at, handoff, "completed", "failed", "expired")
        assert (done.state, done.error) == ("completed", "")
        assert len(at.network.threads_opened) == 1
        await at.quiet()
        texts = at.network.texts("42", done.thread_id)
        marked = [text for text in texts if text.startswith(DUPLICATE_MARK)]  # it may have left just before the crash
        assert texts
        assert len(marked) <= 1
        assert len(texts) - len(marked) <= 1
        assert (await store.get(session.id)).driver == "fake"


async def test_race_03_of_two_gateways_exactly_one_carries_it(home, store):
    async with world(home, store, **QUICK) as at:
        await at.start(apart=True)
        second = asyncio.create_task(at.start(FakePlatform(at.network), apart=True))
        await second
        sessions = [await at.session(f"number {n}") for n in range(8)]
        done = await asyncio.gather(*(at.hand_over(session) for session in sessions))
        assert {one.state for one in done} == {"completed"}
        assert len(at.network.threads_opened) == 8
        assert all(len(at.network.texts("42", one.thread_id)) == 1 for one in done)


async def test_race_04_the_givers_way_out_touches_nothing(home, store):
    async with world(home, store) as at:
        await at.start()
        session = await at.session("plant a tree")
        before = await store.lease(session.id, holder="chat", surface="cli")
        await store.renew(before, 0)
        await at.hand_over(session)
        with pytest.raises((NotDriving, LeaseLost)):
            await store.end(before, "cli_close")
        with pytest.raises((NotDriving, LeaseLost)):
            await store.append(before, [user("late")])
        with pytest.raises((NotDriving, LeaseLost)):
            await store.delete(session.id, lease=before)
        with pytest.raises(NotDriving):
            await store.lease(session.id, holder="chat", surface="cli")
        now = await store.get(session.id)
        assert (now.ended_at, now.end_reason, now.driver) == (None, None, "fake")


async def test_race_05_no_turn_starts_while_it_is_leaving(home, store):
    async with world(home, store) as at:
        await at.start()
        at.network.held = asyncio.Event()
        session = await at.session("plant a tree")
        handoff = await store.request_handoff(session.id, "nobody serves this", surface="cli")
        with pytest.raises(Conflict, match="handed to"):
            await at.service.say(session.id, TurnRequest(text="one more thing"), CLI)
        await store.cancel_handoff(handoff.id)
        await at.service.say(session.id, TurnRequest(text="never mind"), CLI)
        await at.service.settle()
        assert at.runtime.seen[-1].said == "never mind"


async def test_race_06_late_writes_of_the_giver_are_refused(home, store):
    async with world(home, store) as at:
        await at.start()
        session = await at.session("plant a tree")
        late = await store.lease(session.id, holder="a background task", surface="cli", seconds=0.05)
        await asyncio.sleep(0.06)  # it was slow, and its time ran out
        done = await at.hand_over(session)
        with pytest.raises((NotDriving, LeaseLost)):
            await store.append(late, [user("from the background"), Done()])
        kept = [one.item.content for one in await at.service.messages(session.id)]
        assert not any("from the background" in words for words in kept)
        assert done.state == "completed"


async def test_race_07_words_in_the_thread_wait_behind_the_announcement(home, store):
    async with world(home, store) as at:
        at.runtime.otherwise = (PauseGate("go"), SayText("hello from here"))
        await at.start()
        session = await at.session()
        handoff = await asked(at, session)
        now = await is_in(at, handoff, "bound")
        at.runtime.on("I was quicker", SayText("you were"))
        at.network.say("42", "I was quicker", thread=now.thread_id)
        await at.rows("waiting", 1)
        at.runtime.gate("go").open()
        assert await at.texts("42", 2, now.thread_id) == ["hello from here", "you were"]
        assert [turn.session.id for turn in at.runtime.seen] == [session.id] * 2


async def test_race_08_what_is_written_in_the_home_chat_during_the_switch_is_not_lost(home, store):
    async with world(home, store) as at:
        at.runtime.on("slow story", PauseGate("story"), SayText("the end"))
        await at.start(PlainPlatform(at.network))
        new = await at.session()
        at.network.say("42", "slow story")
        await at.until(lambda: at.runtime.seen)
        [old] = [one for one in await at.service.find(Listing()) if one.id != new.id]
        handoff = await asked(at, new)
        await is_in(at, handoff, "thread_ready")
        at.network.say("42", "which one is this?")
        await at.rows("waiting", 2)
        at.runtime.gate("story").open()
        texts = await at.texts("42", 3)
        assert (texts[0], texts[2]) == ("the end", "which one is this?")
        assert at.runtime.seen[-1].session.id == new.id
        assert (await store.binding("fake:dm:42")).previous == old.id


async def test_race_09_a_second_request_is_refused_and_a_bound_session_moves(home, store):
    async with world(home, store) as at:
        await at.start()
        session = await at.session("plant a tree")
        first = await store.request_handoff(session.id, "nobody serves this", surface="cli")
        for to in ("fake", "fake"):
            with pytest.raises(Conflict, match="handed to"):
                await at.request(session, to, surface="cli")
        await store.cancel_handoff(first.id)
        one = await at.hand_over(session)
        two = await at.request(session, "fake", target="#garden", surface="fake")
        two = await wait_for(at.requests, two)
        assert [binding.place for binding in await store.bindings(session=session.id)] == [two.place]
        assert (await store.binding(one.place)).session is None


async def test_race_10_summarising_keeps_the_id(home, store):
    async with world(home, store) as at:
        await at.start()
        session = await at.session("a long story", "and longer")
        compacted = EmitFrom(lambda turn: Compaction(seqs=tuple(p.seq for p in turn.history[:2]), summary="A story."))
        at.runtime.otherwise = (compacted, SayText("hello"))
        done = await at.hand_over(session)
        at.runtime.otherwise = None
        at.network.say("42", "go on", thread=done.thread_id)
        await at.texts("42", 2, done.thread_id)
        assert at.runtime.seen[-1].session.id == session.id
        assert "A story." in [past.message.content for past in at.runtime.seen[-1].history]


async def test_race_11_a_session_that_goes_away_before_the_claim(home, store):
    async with world(home, store) as at:
        await at.start()
        session = await at.session("plant a tree")
        handoff = await store.request_handoff(session.id, "nobody serves this", surface="cli")
        with pytest.raises(Conflict):
            await store.delete(session.id)
        await store.cancel_handoff(handoff.id)
        await store.delete(session.id)
        with pytest.raises(NotFound):
            await at.request(session, "fake")
        archived = await at.session("another")
        await at.service.change(archived, replace(archived, archived=True))
        assert (await at.hand_over(archived)).state == "completed"
        assert (await at.hand_over(await at.session())).state == "completed"


async def test_a_store_that_dies_is_seen_as_dead(store):
    """The tests above believe in this."""
    dying = Mortal(store)
    dying.dies("create")
    with pytest.raises(StoreUnavailable):
        await dying.create()
    assert len(await store.find(Listing())) == 1
    with pytest.raises(StoreUnavailable):
        await dying.find(Listing())
