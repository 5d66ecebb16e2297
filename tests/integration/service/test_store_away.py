"""The database goes away for a moment and comes back: turns go on, and nothing is written twice."""

import asyncio
from dataclasses import replace

import pytest

from sojourn.core.errors import NotDriving, StoreFull, StoreUnavailable
from sojourn.core.events import Done, Failed, Metadata
from sojourn.core.messages import Message, assistant
from sojourn.core.sessions import new_turn_id
from sojourn.ports.service import TurnRequest
from sojourn.service.local import LocalService
from sojourn.service.recovery import Recovery
from sojourn.service.turn_record import list_active_turns
from sojourn.service.turn_start import begin_turn
from sojourn.service.turn_writer import TurnWriter
from sojourn.testing.app import FakeApp, make_settings
from sojourn.testing.scripted_runtime import PauseGate, SayText
from sojourn.testing.service_steps import ME, ended, follow, of, opened, talk
from sojourn.turn_support import store_retry
from sojourn.turn_support.conversation_history import SessionPast
from tests.servers.flaky_store import Faint


@pytest.fixture
def faint(store):
    return Faint(store)


@pytest.fixture
async def service(home, faint, runtime):
    made = LocalService(FakeApp(store=faint, settings=make_settings(home), runtimes=[runtime]))
    yield made
    await made.close()


async def said(store, session):
    return [one.item.content async for one in store.read(session) if isinstance(one.item, Message)]


@pytest.mark.parametrize("after", [True, False], ids=["was kept", "was not kept"])
async def test_the_pen_keeps_words_once_whether_or_not_they(store, faint, after):
    lease = await store.lease((await store.create()).id, holder="a test", surface="cli")
    writer = TurnWriter(faint, lease, new_turn_id())
    await writer(assistant("a"))
    faint.faints("append", after=after)
    await writer(assistant("b"))
    await writer(assistant("c"))
    assert (await said(store, lease.session), faint.fainted) == (["a", "b", "c"], 1)
    assert len(writer.state.ids) == 3


async def test_the_pen_does_not_wait_for_a_disk_that_is_full(store, monkeypatch):
    lease = await store.lease((await store.create()).id, holder="a test", surface="cli")

    async def full(*_, **__):
        raise StoreFull("The disk is full.")

    monkeypatch.setattr(store, "append", full)
    with pytest.raises(StoreFull):
        async with asyncio.timeout(1):
            await TurnWriter(store, lease, new_turn_id())(assistant("a"))


@pytest.mark.parametrize("after", [True, False])
async def test_a_request_is_kept_once_when_the_line_breaks_at_its_beginning(service, store, faint, after):
    session = await opened(service)
    faint.faints("transact", after=after)
    assert ended(await talk(service, session, "hello")) == ("completed", [])
    assert (await said(store, session), faint.fainted) == (["hello", "hello"], 1)


async def test_the_same_key_starts_one_turn_though_nobody_knew_whether_the_first_was_kept(
    service, store, faint, monkeypatch
):
    session = await opened(service)
    monkeypatch.setattr(store_retry, "WAIT_SECONDS", -1.0)
    faint.faints("transact", after=True)
    with pytest.raises(StoreUnavailable):
        await service.say(session, TurnRequest(text="hello", key="k"), ME)
    turn = await service.say(session, TurnRequest(text="hello", key="k"), ME)
    assert ended(await follow(service, turn)) == ("interrupted", ["interrupted"])
    assert await said(store, session) == ["hello"]


@pytest.mark.parametrize("after", [True, False], ids=["was kept", "was not kept"])
async def test_a_turn_ends_once_though_the_line_breaks_at_its_end_which(service, store, faint, after):
    session = await opened(service)
    faint.faints("transact", after=after, having=lambda work: getattr(work, "func", work).__name__ == "_append_batch")
    kept = await talk(service, session, "hello")
    await service.settle()
    assert (ended(kept), faint.fainted) == (("completed", []), 1)
    assert [one.item.status async for one in store.read(session) if isinstance(one.item, Done)] == ["completed"]
    assert await store.snapshot(list_active_turns) == []
    await store.renew(await store.lease(session, holder="the next", surface="cli"), 0)  # nobody has to wait


async def test_a_turn_that_lost_its_driver_while_its_beginning_was_unsure_is_ended(service, store, faint, monkeypatch):
    """Its opening was stored, which nobody knew; then another surface took over: it must not stand without an end."""
    session = await opened(service)
    faint.faints("transact", after=True)
    transact = store.transact

    async def and_gone(work):
        done = await transact(work)
        await store.set_driver(session, "web")
        monkeypatch.setattr(store, "transact", transact)
        return done

    monkeypatch.setattr(store, "transact", and_gone)
    await service.say(session, TurnRequest(text="hello"), ME)
    await service.settle()
    await Recovery(store, lambda _: False).sweep()
    log_ = [type(one.item) async for one in store.read(session) if isinstance(one.item, (Metadata, Done))]
    assert (log_, await store.snapshot(list_active_turns)) == ([Metadata, Done], [])


async def test_a_turn_whose_past_cannot_be_read_was_interrupted_and_has_not_failed(service, monkeypatch):
    def away(*_, **__):
        raise StoreUnavailable("It cannot be reached.")

    monkeypatch.setattr(SessionPast, "is_current", lambda *_: False)  # it has to be read again
    monkeypatch.setattr("sojourn.service.agent.read_past", away)
    kept = await talk(service, await opened(service), "hello")
    assert (of(Done, kept)[0].status, of(Failed, kept)[0].retryable) == ("interrupted", True)


# waiting behind a turn
async def waiting(service, runtime, session):
    """A turn that runs until the gate is opened, and one that waits behind it."""
    runtime.on("slow", PauseGate("go"), SayText("done"))
    first = await service.say(session, TurnRequest(text="slow"), ME)
    second = await service.say(session, TurnRequest(text="next"), ME, when_busy="wait")
    return first, second


async def test_a_request_that_waits_outlives_a_store_that_is_away(service, faint, runtime):
    session = await opened(service)
    _, second = await waiting(service, runtime, session)
    faint.faints("snapshot", after=False, times=3)
    while faint.fainted < 3:
        await asyncio.sleep(0.01)
    runtime.gate("go").open()
    assert ended(await follow(service, second)) == ("completed", [])


async def test_a_request_that_waits_waits_for_a_hand_off_too_and_is_told(service, store, runtime, monkeypatch):
    session = await opened(service)
    _, second = await waiting(service, runtime, session)
    transact, refused = store.transact, asyncio.Event()

    async def after_a_hand_off(work):
        if work.func is begin_turn and not refused.is_set():
            await store.request_handoff(session, "fake", surface="cli")  # SessionBusy while the first one runs
            refused.set()
        return await transact(work)

    monkeypatch.setattr(store, "transact", after_a_hand_off)
    runtime.gate("go").open()
    await refused.wait()
    claimed = await store.claim_handoff("a gateway")
    await store.complete_handoff(await store.advance_handoff(claimed, "bound", surface="fake"))
    kept = await follow(service, second)
    assert (of(Failed, kept)[0].code, of(Done, kept)[0].status) == (NotDriving.code, "failed")
    assert await store.snapshot(list_active_turns) == []


async def test_a_turn_that_was_driven_out_at_this_moment_ends_before_the_next_begins(service, store, runtime):
    session = await opened(service)
    runtime.on("slow", PauseGate("never"))
    first = await service.say(session, TurnRequest(text="slow"), ME)

    await store.set_driver(session, "web")  # by force: the first turn has lost its lease, and does not know it yet
    second = await service.say(session, TurnRequest(text="next"), replace(ME, surface="web"))
    await follow(service, second)
    log = [(one.turn, type(one.item)) async for one in store.read(session) if isinstance(one.item, (Metadata, Done))]
    assert log == [(first.id, Metadata), (first.id, Done), (second.id, Metadata), (second.id, Done)]
