"""What runtimes keep beside the transcript is their own."""

import json

from sojourn.ports.runtime import Observation, SaveState
from sojourn.testing.scripted_runtime import Emit, SayText, ScriptedRuntime
from sojourn.testing.service_steps import ME, opened, talk


async def test_the_state_of_one_runtime_is_the_same_to_the_byte_after_a_turn_of_another(serve, store, runtime):
    other = ScriptedRuntime("hermes")
    runtime.on("keep", Emit(SaveState({"graph": {"node": 1, "odd": "日本 \x00"}})), SayText("ok"))
    other.on("keep", Emit(SaveState({"run": "r1"})), Emit(SaveState({"run": "r2"})), SayText("ok"))
    service = serve(runtimes=[runtime, other])
    session = await opened(service)
    await talk(service, session, "keep")
    before = [row for row in await store.export_rows("records", after=None, limit=100) if "agent_state" in row]
    await talk(service, session, "keep", runtime="hermes")
    after = [row for row in await store.export_rows("records", after=None, limit=100) if "agent_state" in row]
    assert [row for row in after if f"{session}/scripted" in row] == before
    found = await store.list_records("agent_state", session=session)
    assert [one.value for one in found] == [{"run": "r2"}, {"graph": {"node": 1, "odd": "日本 \x00"}}]


async def test_observations_are_kept_with_runtime_and_turn(serve, store, runtime):
    runtime.on("work", Emit(Observation("trace", {"n": 1})), Emit(Observation("trace", {"n": 2})), SayText("ok"))
    service = serve()
    session = await opened(service)
    kept = await talk(service, session, "work")
    found = [one.value for one in await store.list_records("observation", session=session)]
    assert [one["data"]["n"] for one in found] == [1, 2]
    assert {(one["runtime"], one["turn"], one["kind"]) for one in found} == {("scripted", kept[0].turn, "trace")}


async def test_undo_takes_back_what_runtimes_remembered(serve, store, runtime):
    runtime.on("keep", Emit(SaveState({"at": 1})), SayText("ok"))
    service = serve()
    session = await opened(service)
    await talk(service, session, "keep")
    await service.undo(session, ME)
    await talk(service, session, "and")
    assert runtime.seen[-1].state == {}


async def test_records_go_with_their_session(serve, store, runtime):
    runtime.on("keep", Emit(SaveState({"at": 1})), Emit(Observation("x", {})), SayText("ok"))
    service = serve()
    session = await opened(service)
    await talk(service, session, "keep", key="k", runtime="scripted")
    await service.settle()
    await store.delete(session)
    left = json.dumps([list(map(str, row)) for row in await store.export_rows("records", after=None, limit=100)])
    assert session not in left
