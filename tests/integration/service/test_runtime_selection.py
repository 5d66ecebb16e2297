"""Which runtime answers."""

import asyncio
import threading

import pytest

from sojourn.core.errors import MissingPackage, RuntimeFailed
from sojourn.core.events import Metadata
from sojourn.ports.runtime import RuntimeStatus
from sojourn.ports.service import TurnRequest
from sojourn.service.local import LocalService
from sojourn.testing.app import FakeApp, make_settings
from sojourn.testing.scripted_runtime import PauseGate, SayText, ScriptedRuntime
from sojourn.testing.service_steps import ME, ended, follow, is_chunk, of, opened, talk, until
from sojourn.testing.store_steps import ingest, make_transcript
from sojourn.turn_support import runtime_readiness

NOT_READY = RuntimeStatus(ok=False, detail="no key", hint="Set one.")


class Broken(ScriptedRuntime):
    def __init__(self, name, error) -> None:
        super().__init__(name)
        self.error = error

    async def ready(self):
        if self.error is None:
            await asyncio.Event().wait()
        raise self.error


async def default_of(service) -> list[str]:
    return [one.name for one in await service.runtimes() if one.default]


@pytest.mark.parametrize(("native", "chosen"), [(None, "native"), (NOT_READY, "offline")])
async def test_a_ready_model_is_preferred_and_offline_is_the_rest(serve, native, chosen):
    names = [ScriptedRuntime("echo"), ScriptedRuntime("offline"), ScriptedRuntime("native", native)]
    service = serve(runtimes=names)
    assert await default_of(service) == [chosen]
    kept = await talk(service, await opened(service), "hello")
    assert of(Metadata, kept)[0].runtime == chosen


async def test_an_example_works_by_name_and_is_offered_only_if_it_is_the_default(serve):
    names = [ScriptedRuntime("native"), ScriptedRuntime("echo")]
    service = serve(runtimes=names)
    assert {one.name: one.offered for one in await service.runtimes()} == {"native": True, "echo": False}
    kept = await talk(service, await opened(service), "hello", runtime="echo")
    assert of(Metadata, kept)[0].runtime == "echo"
    service = serve(runtimes=names, agent_runtime="echo")
    assert {one.name: one.offered for one in await service.runtimes()} == {"native": True, "echo": True}


async def test_the_setting_wins(serve):
    service = serve(runtimes=[ScriptedRuntime("native"), ScriptedRuntime("other")], agent_runtime="other")
    assert await default_of(service) == ["other"]
    kept = await talk(service, await opened(service), "hello")
    assert of(Metadata, kept)[0].runtime == "other"


async def test_one_that_is_broken_or_slow_does_not_hide_the_others(serve, monkeypatch):
    monkeypatch.setattr(runtime_readiness, "_READY_TIMEOUT_SECONDS", 0.02)
    service = serve(
        runtimes=[
            Broken("slow", None),
            Broken("odd", ZeroDivisionError("by zero")),
            Broken("bare", MissingPackage("It needs a package.", hint="pip install it")),
            ScriptedRuntime("fine"),
        ]
    )
    found = {one.name: one for one in await service.runtimes()}
    assert [name for name, one in found.items() if one.ok] == ["fine"]
    assert "0.02 seconds" in found["slow"].detail
    assert found["odd"].detail == "ZeroDivisionError: by zero"
    assert found["bare"].hint == "pip install it"


async def test_nobody_ready_is_said_and_nothing_is_kept(serve, store):
    service = serve(runtimes=[ScriptedRuntime("native", NOT_READY)])
    session = await opened(service)
    with pytest.raises(RuntimeFailed, match="No runtime is ready"):
        await talk(service, session, "hello")
    assert (await store.get(session)).last_seq == 0


async def test_the_model_of_an_imported_session_belongs_to_where_it_came_from(serve, store):
    [brought] = await ingest(store, make_transcript("abc", "hello", model="opus-99"))
    service = serve()
    kept = await talk(service, brought.session, "go on")
    assert of(Metadata, kept)[0].model == ""
    kept = await talk(service, brought.session, "go on", model="mine-1")
    assert of(Metadata, kept)[0].model == "mine-1"
    kept = await talk(service, brought.session, "go on")
    assert of(Metadata, kept)[0].model == "mine-1"


async def test_loading_a_runtime_for_long_holds_up_no_other_turn(home, store, runtime):
    loaded = threading.Event()

    class Heavy(FakeApp):
        def runtime(self, name):
            if name == "heavy":
                loaded.wait(20)
            return super().runtime(name)

    heavy = ScriptedRuntime("heavy")
    service = LocalService(Heavy(store=store, settings=make_settings(home), runtimes=[runtime, heavy]))
    try:
        runtime.on("count", SayText("one"), PauseGate("go"), SayText("two"))
        turn = await service.say(await opened(service), TurnRequest(text="count", runtime="scripted"), ME)
        await until(service, turn, is_chunk("one"))
        slow = await service.say(await opened(service), TurnRequest(text="hello", runtime="heavy"), ME)
        runtime.gate("go").open()
        assert ended(await follow(service, turn)) == ("completed", [])
        loaded.set()
        assert ended(await follow(service, slow)) == ("completed", [])
    finally:
        await service.close()
