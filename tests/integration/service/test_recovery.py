"""Turns that their process could not end are ended by another one."""

import asyncio
import contextlib
from dataclasses import replace

import pytest

from sojourn.core.events import Chunk, Done, Failed, Metadata
from sojourn.core.messages import ToolCall, assistant, tool_result
from sojourn.core.sessions import new_turn_id
from sojourn.ports.service import TurnRequest
from sojourn.processes.identity import this_process
from sojourn.service import local, turn, turn_start, turn_writer
from sojourn.service.recovery import Recovery
from sojourn.service.turn_record import TurnRecord, list_active_turns
from sojourn.testing.scripted_runtime import PauseGate, SayText, ScriptedRuntime
from sojourn.testing.service_steps import (
    ME,
    PHONE,
    collect,
    ended,
    follow,
    is_chunk,
    of,
    opened,
    stages,
    talk,
    transcript,
    unpaired,
    until,
)
from tests.integration.gateway.crashing_store import Killed, Mortal

GONE = {**this_process(), "pid": 4_000_000}


async def abandoned(store, *items, process=GONE, seconds=30.0, state="running") -> TurnRecord:
    """A turn as a process leaves it that dies after having kept these items."""
    session = await store.create()
    begun = TurnRecord(
        session=session.id,
        principal=session.principal,
        said=TurnRequest(text="work"),
        by=ME,
        runtime="scripted",
        process=process,
    )
    if state == "running":
        lease = await store.lease(session.id, holder=begun.holder, surface="cli", seconds=seconds)
        begun = begun.running(lease, session.last_seq)
        if items:
            await store.append(lease, [*begun.opening(), *items], turn=begun.id)
    await store.put_record(begun.to_record())
    return begun


async def test_a_turn_of_a_dead_process_is_ended_at_the_first_thing_that_is_asked(service, store):
    call = ToolCall(id="a", name="terminal")
    begun = await abandoned(
        store,
        assistant(None, [ToolCall(id="z", name="read")]),
        tool_result(ToolCall(id="z", name="read"), "ok"),
        assistant(None, [call]),
        Chunk("I am "),
        Chunk("about"),
    )
    roles = [role for role, _ in await transcript(service, begun.session)]
    assert roles == ["user", "assistant", "tool", "assistant", "tool", "assistant"]
    kept = await follow(service, begun.turn)
    assert ended(kept) == ("interrupted", ["interrupted"])
    [failed] = of(Failed, kept)
    assert ("terminal" in failed.message, failed.retryable) == (True, True)
    assert (await transcript(service, begun.session))[-1] == ("assistant", "I am about")
    assert len(of(Done, kept)[0].messages) == 6
    assert await unpaired(service, begun.session) == []
    assert await store.snapshot(list_active_turns) == []
    assert ended(await talk(service, begun.session, "go on")) == ("completed", [])


async def test_it_is_ended_once_however_many_look(serve, store):
    begun = await abandoned(store, Chunk("well"))
    services = [serve() for _ in range(5)]
    await asyncio.gather(*(one.messages(begun.session) for one in services))
    assert ended(await follow(services[0], begun.turn)) == ("interrupted", ["interrupted"])


async def test_a_request_that_was_accepted_but_not_yet_written_is_not_lost(service, store):
    for state in ("running", "queued"):
        begun = await abandoned(store, state=state)
        kept = await follow(service, begun.turn) if state == "running" else []
        kept = kept or await follow(await again(service), begun.turn)
        assert (len(of(Metadata, kept)), ended(kept)) == (1, ("interrupted", ["interrupted"]))
        assert await transcript(service, begun.session) == [("user", "work")]


async def again(service):
    """The same service, after it has looked around once more."""
    await service._recovery.sweep()
    return service


async def test_a_turn_that_was_over_is_only_taken_off_the_record(service, store):
    begun = await abandoned(store, assistant("yes"), Done())
    assert ended(await follow(service, begun.turn)) == ("completed", [])
    assert await store.snapshot(list_active_turns) == []


async def test_a_turn_of_another_machine_is_left_alone_while_its_lease_holds(service, store):
    begun = await abandoned(store, Chunk("well"), process={**GONE, "host": "elsewhere"})
    assert await service.running(begun.session) == begun.id


async def test_a_turn_whose_lease_is_over_is_ended_wherever_it_ran(service, store):
    begun = await abandoned(store, Chunk("well"), process={**GONE, "host": "elsewhere"}, seconds=0.0001)
    assert ended(await follow(service, begun.turn)) == ("interrupted", ["interrupted"])


async def test_a_running_service_looks_around_now_and_then(service, store, monkeypatch):
    monkeypatch.setattr(local, "SWEEP_SECONDS", 0.01)
    assert await service.runtimes()
    begun = await abandoned(store, Chunk("well"))
    assert ended(await follow(service, begun.turn)) == ("interrupted", ["interrupted"])


async def test_closing_a_service_interrupts_its_turns_and_says_so(serve, runtime, store):
    service, reader = serve(), serve()
    session = await opened(service)
    runtime.on("count", SayText("one"), PauseGate("never"))
    running = await service.say(session, TurnRequest(text="count"), ME)
    waiting = await service.say(session, TurnRequest(text="next"), ME, when_busy="wait")
    await until(service, running, is_chunk("one"))
    await service.close()
    assert ended(await follow(reader, running)) == ("interrupted", ["interrupted"])
    assert ended(await follow(reader, waiting))[1] == ["interrupted"]
    assert await store.snapshot(list_active_turns) == []


async def test_a_turn_that_lost_its_session_ends_without_a_word(serve, runtime, store):
    service = serve()
    session = await opened(service)
    runtime.on("count", SayText("one"), PauseGate("go"), SayText("two"))
    running = await service.say(session, TurnRequest(text="count"), ME)
    await until(service, running, is_chunk("one"))
    await store.set_driver(session, "telegram")  # by force, as after a hand-over that got no answer
    runtime.gate("go").open()
    await service.settle()
    kept = [one.item async for one in store.read(session)]
    assert not [one for one in kept if isinstance(one, Done) or getattr(one, "text", "") == "two"]
    await service._recovery.sweep()
    assert ended(await follow(service, running)) == ("interrupted", ["interrupted"])


async def test_the_wheel_is_taken_from_a_process_that_does_not_answer(service, store, monkeypatch):

    monkeypatch.setattr(local, "_TAKE_OVER_SECONDS", 0.02)
    begun = await abandoned(store, Chunk("well"), process={**GONE, "host": "elsewhere"})
    assert (await service.take_over(begun.session, PHONE)).driver == "telegram"
    kept = await collect(service, begun.session, lambda one: isinstance(one.item, Done))
    assert [one["to"] for one in stages(kept, "handoff")] == ["telegram"]
    assert ended([one for one in kept if one.turn == begun.id]) == ("interrupted", ["interrupted"])
    assert ended(await talk(service, begun.session, "on", by=PHONE)) == ("completed", [])


async def test_a_session_that_is_deleted_takes_its_turn_with_it(serve, runtime, store):
    service = serve()
    session = await opened(service)
    runtime.on("count", SayText("one"), PauseGate("never"))
    running = await service.say(session, TurnRequest(text="count"), ME)
    await until(service, running, is_chunk("one"))
    await store.set_driver(session, "cli")
    await store.delete(session)
    await service.settle()
    assert await store.snapshot(list_active_turns) == []


async def test_the_lease_is_renewed_for_as_long_as_a_turn_runs(serve, runtime, store, monkeypatch):
    monkeypatch.setattr(turn_writer, "LEASE_SECONDS", 0.06)
    monkeypatch.setattr(turn_start, "LEASE_SECONDS", 0.06)
    service, other = serve(), serve()
    session = await opened(service)
    runtime.on("count", SayText("one"), PauseGate("go"), SayText("two"))
    running = await service.say(session, TurnRequest(text="count"), ME)
    await asyncio.sleep(0.2)  # longer than the lease
    await other.messages(session)  # which looks for turns whose lease is over
    runtime.gate("go").open()
    assert ended(await follow(service, running)) == ("completed", [])


@pytest.mark.parametrize("deaf", [asyncio.CancelledError, GeneratorExit])
async def test_a_runtime_that_does_not_listen_cannot_keep_a_turn_from_ending(serve, monkeypatch, deaf):
    monkeypatch.setattr(turn, "STOP_GRACE_SECONDS", 0.02)
    door = asyncio.Event()

    class Deaf:
        name, label, takes_tool_history = "deaf", "Deaf", True

        async def run(self, given):
            yield Chunk("one")
            while not door.is_set():
                try:
                    await door.wait()
                except deaf:
                    continue

    service = serve(runtimes=[Deaf()])
    session = await opened(service)
    running = await service.say(session, TurnRequest(text="count", runtime="deaf"), ME)
    await until(service, running, is_chunk("one"))
    assert await service.stop(session, ME)
    assert ended(await follow(service, running)) == ("cancelled", [])
    door.set()


async def test_a_stop_that_nobody_heard_does_not_stop_the_next_turn(service, store, runtime):
    session = await opened(service)
    await store.send_control(session, "stop", {"turn": new_turn_id()})
    await store.send_control(session, "stop", None)
    assert ended(await talk(service, session, "hello")) == ("completed", [])


async def test_a_runtime_that_cancels_itself_has_failed(serve):
    class Quitter(ScriptedRuntime):
        async def run(self, given):
            yield Chunk("one")
            raise asyncio.CancelledError

    service = serve(runtimes=[Quitter()])
    assert ended(await talk(service, await opened(service), "go")) == ("failed", ["runtime_failed"])


async def test_nothing_is_written_after_done_whatever_a_runtime_left_behind(serve, monkeypatch):
    monkeypatch.setattr(turn, "STOP_GRACE_SECONDS", 0.01)
    door = asyncio.Event()

    class Haunted(ScriptedRuntime):
        async def run(self, given):
            yield Chunk("one")
            while True:
                with contextlib.suppress(asyncio.CancelledError):
                    await door.wait()
                    given.workspace.tell("still here")
                    yield Chunk("boo")

    service = serve(runtimes=[Haunted()])
    session = await opened(service)
    running = await service.say(session, TurnRequest(text="go"), ME)
    await until(service, running, is_chunk("one"))
    await service.stop(session, ME)
    await follow(service, running)
    door.set()
    await service.settle()
    kept = [one.item async for one in service._store.read(session)]
    assert isinstance(kept[-1], Done)


async def test_a_dead_process_that_waited_does_not_keep_others_waiting(service, store):
    begun = await abandoned(store, state="queued")
    assert ended(await talk(service, begun.session, "hello")) == ("completed", [])
    await service.settle()
    await service._recovery.sweep()
    assert await store.snapshot(list_active_turns) == []


async def test_a_process_that_is_killed_while_it_ends_a_turn_leaves_no_half_of_it(service, store):
    """Otherwise the next turn began within it."""
    first, dying = await abandoned(store, state="queued"), Mortal(store)
    dying.dies("transact")
    with pytest.raises(Killed):
        await Recovery(dying, lambda _: False).sweep()
    second = await service.say(first.session, TurnRequest(text="next"), ME)
    await follow(service, second)
    kept = [(one.turn, type(one.item)) async for one in store.read(first.session)]
    bounds = [one for one in kept if one[1] in (Metadata, Done)]
    assert bounds == [(first.id, Metadata), (first.id, Done), (second.id, Metadata), (second.id, Done)]


async def test_of_two_turns_that_died_the_one_that_ran_ends_before_the_one_that_waited_begins(service, store):
    """Whoever ends them: the first may be refused to one who comes at a bad moment, and the second not."""
    first = await abandoned(store, Chunk("well"))
    waited = replace(first, id=new_turn_id(), state="queued", since=first.since + 1, said=TurnRequest(text="next"))
    await store.put_record(waited.to_record())
    await store.set_driver(first.session, "cli")  # which ends the lease
    await service._recovery.end(waited)
    await service._recovery.sweep()
    kept = [(one.turn, type(one.item)) async for one in store.read(first.session)]
    bounds = [one for one in kept if one[1] in (Metadata, Done)]
    assert bounds == [(first.id, Metadata), (first.id, Done), (waited.id, Metadata), (waited.id, Done)]
    assert await store.snapshot(list_active_turns) == []
