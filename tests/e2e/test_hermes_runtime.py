"""The runtime `hermes` with the real Hermes 0.19 behind a scripted model: what the contract does not ask for."""

import asyncio
import json
import subprocess
import urllib.request
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from sojourn.core.attachments import Attachment
from sojourn.core.errors import (
    KeyRefused,
    NotAllowed,
    RateLimited,
    RuntimeFailed,
    RuntimeTimeout,
    RuntimeUnreachable,
    SojournError,
)
from sojourn.core.events import Chunk
from sojourn.core.messages import ToolCall, assistant, tool_calls_of, tool_result, user
from sojourn.core.sessions import Principal, SessionId
from sojourn.core.settings import Secret
from sojourn.ports.context import ContextBlock
from sojourn.ports.runtime import Observation, SaveState
from sojourn.ports.tool import Question, Reply
from sojourn.runtimes.hermes import HermesSettings
from sojourn.runtimes.hermes.api import HermesApi
from sojourn.runtimes.hermes.runtime import HermesRuntimeAdapter
from sojourn.runtimes.reported_calls import NO_RESULT
from sojourn.testing.hermes_process import HermesProcess, free_port
from sojourn.testing.model_script import Call, Hang, Refuse, Say, Script, Think, Wait
from sojourn.testing.model_server import ModelServer
from sojourn.testing.turn_runner import FakeWorkspace, TurnOutput, make_history, make_turn_input, run_turn, stop_turn

ROOT = Path(__file__).resolve().parents[2]
SLOW = [Say("and so on " * 60, pause=0.05)]
REMOVE = Call("terminal", {"command": "rm -rf /tmp/sojourn_no_such_folder"})
DANGER: list[Script] = [[REMOVE], [Say("All done.")]]
Make = Callable[..., HermesRuntimeAdapter]


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(aside=[Say("A title")]) as model:
        yield model


@pytest.fixture(scope="module")
def running(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HermesProcess]:
    subprocess.run([ROOT / "scripts" / "peer"], check=True, cwd=ROOT)
    hermes = HermesProcess(ROOT / ".venv-hermes", tmp_path_factory.mktemp("hermes"), model_url=model.url, most_runs=2)
    hermes.start()
    yield hermes
    hermes.stop()


@pytest.fixture
def hermes(running: HermesProcess) -> Iterator[HermesProcess]:
    if not running.is_up():
        running.start()
    yield running
    running.go_on()


@pytest.fixture
async def make(hermes: HermesProcess) -> AsyncIterator[Make]:
    made: list[HermesRuntimeAdapter] = []

    def one(**settings: Any) -> HermesRuntimeAdapter:
        known: dict[str, Any] = {"url": hermes.url, "api_key": Secret(hermes.key), "patience_seconds": 1.0}
        made.append(HermesRuntimeAdapter(HermesSettings(**known | settings)))
        return made[-1]

    yield one
    for runtime in made:
        await runtime.close()


def status(hermes: HermesProcess, run: str) -> dict[str, Any]:
    asked = urllib.request.Request(f"{hermes.url}/v1/runs/{run}", headers={"Authorization": f"Bearer {hermes.key}"})
    with urllib.request.urlopen(asked, timeout=5) as reply:
        found: dict[str, Any] = json.load(reply)
        return found


@asynccontextmanager
async def line_to(port: int) -> AsyncIterator[tuple[str, Callable[[], None]]]:
    """A line to a port that can be cut: its address, and the scissors. New connections work again."""
    open_now: set[asyncio.StreamWriter] = set()

    async def carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        writer.close()

    async def meet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", port)
        open_now.update((writer, back))
        await asyncio.gather(carry(reader, back), carry(there, writer))

    def cut() -> None:
        for writer in open_now:
            writer.transport.abort()
        open_now.clear()

    async with await asyncio.start_server(meet, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", cut
        cut()


async def run_with(runtime: HermesRuntimeAdapter, *, at_first_word: Callable[[], None]) -> TurnOutput:
    """A turn during which something happens to Hermes."""
    shown, happening = TurnOutput(), None
    try:
        async with aclosing(runtime.run(make_turn_input("Speak."))) as events:
            async for item in events:
                shown.items.append(item)
                if happening is None and isinstance(item, Chunk):
                    happening = asyncio.create_task(asyncio.to_thread(at_first_word))
    except SojournError as error:
        shown.error = error
    assert happening is not None
    await happening
    return shown


# what Hermes is told
async def test_the_prepared_context_and_the_whole_transcript_reach_the_model(make: Make, model: ModelServer) -> None:
    model.play([Say("Two.")])
    call = ToolCall(id="c1", name="look_up", arguments='{"word": "one"}')
    history = make_history(
        user("Count."), assistant("One.", [call]), tool_result(call, "one: a number"), assistant("Done.")
    )
    block = ContextBlock(kind="skill", title="Counting", text="Always count.", origin="skills/count", reason="a match")
    shown = await run_turn(make(), make_turn_input("Go on.", history=history, blocks=(block,)))
    assert shown.answers == ["Two."]
    [asked] = [one for one in model.asked if one.streams]
    assert asked.roles()[-4:] == ["system", "user", "assistant", "user"]
    told = asked.messages[-2]["content"]
    assert all(words in told for words in ("One.", "look_up", '{"word": "one"}', "one: a number", "Done."))
    assert all(words in asked.text("system") for words in ("Always count.", "skills/count", "a match"))


async def test_attached_text_is_read_to_it_and_the_rest_is_named(make: Make, model: ModelServer) -> None:
    model.play([Say("Seen.")])
    note = Attachment(hash="h1", media_type="text/plain", name="note.txt", size=9)
    picture = Attachment(hash="h2", media_type="image/png", name="dog.png", size=4)
    turn = make_turn_input("Look.", attachments=(note, picture), files={"h1": b"buy bread", "h2": b"\x89PNG"})
    assert (await run_turn(make(), turn)).error is None
    said = model.asked[0].last_user_text()
    assert all(words in said for words in ("Look.", "note.txt", "buy bread", "dog.png", "image/png"))


async def test_it_remembers_its_names_and_nothing_else(make: Make, model: ModelServer, hermes: HermesProcess) -> None:
    model.play([Say("Hello.")])
    room = FakeWorkspace(session=SessionId("20261116_080000_ab:cd"))
    [kept] = (await run_turn(make(), make_turn_input("Hi.", room=room))).of(SaveState)
    assert set(kept.state) == {"session_id", "last_run_id", "version"}
    assert kept.state["version"] == "0.19.0"
    assert kept.state["session_id"].startswith("sojourn_20261116_080000_ab-cd-")
    assert status(hermes, kept.state["last_run_id"])["session_id"] == kept.state["session_id"]


async def test_reasoning_is_not_taken_for_the_answer_nor_the_answer_for_reasoning(
    make: Make, model: ModelServer
) -> None:
    model.play([Think("hmm, let me see"), Say("It is four.")])
    shown = await run_turn(make(), make_turn_input("Two and two?"))
    assert (shown.text, shown.progress("thinking")) == ("It is four.", [])


async def test_tools_are_progress_an_observation_and_calls_without_a_made_up_result(
    make: Make, model: ModelServer
) -> None:
    model.play([Say("Let me look. "), Call("terminal", {"command": "echo tool-ran"})], [Say("It ran.")])
    shown = await run_turn(make(), make_turn_input("Run it."))
    called, result, _said = shown.messages
    [call] = tool_calls_of(called)
    assert (call.name, json.loads(call.arguments)) == ("terminal", {"title": "echo tool-ran"})
    assert (result.role, result.tool_call_id, result.content) == ("tool", call.id, NO_RESULT)
    assert shown.text.split() == ["Let", "me", "look.", "It", "ran."]
    [seen] = shown.of(Observation)
    [tool] = seen.data["tools"]
    assert (seen.kind, tool["tool"], tool["preview"], tool["status"]) == (
        "run",
        "terminal",
        "echo tool-ran",
        "completed",
    )


# approvals
@pytest.mark.parametrize(("choice", "status"), [("once", "completed"), ("deny", "failed")])
async def test_the_person_decides_about_what_is_dangerous(
    make: Make, model: ModelServer, choice: str, status: str
) -> None:
    model.play(*DANGER)
    room = FakeWorkspace(answer=choice)
    shown = await run_turn(make(), make_turn_input("Tidy up.", room=room))
    [question] = room.questions
    assert (question.detail, question.dangerous) == ("rm -rf /tmp/sojourn_no_such_folder", True)
    assert set(question.choices) == {"once", "deny"}
    assert shown.progress("tool")[-1]["status"] == status
    assert shown.answers == ["All done."]


async def test_no_answer_in_time_is_a_no_and_is_said(make: Make, model: ModelServer) -> None:
    async def never(question: Question) -> Reply:
        await asyncio.Event().wait()
        raise AssertionError("nobody answers")

    model.play(*DANGER)
    shown = await run_turn(make(approval_seconds=0.3), make_turn_input("Tidy up.", ask=never))
    [told] = shown.progress("approval")
    assert (told["choice"], "Nobody answered" in told["why"]) == ("deny", True)
    assert shown.progress("tool")[-1]["status"] == "failed"
    assert shown.done[0].status == "completed"


# the line
async def test_a_broken_line_loses_nothing(make: Make, model: ModelServer, hermes: HermesProcess) -> None:
    model.play([Say("one two three four five six", pause=0.1)])
    async with line_to(hermes.port) as (url, cut):
        seen = []
        async with aclosing(make(url=url).run(make_turn_input("Count."))) as events:
            async for item in events:
                seen.append(item)
                if isinstance(item, Chunk) and len(seen) < 6:
                    cut()
    text = "".join(item.text for item in seen if isinstance(item, Chunk))
    assert text == "one two three four five six"
    [observed] = [item for item in seen if isinstance(item, Observation)]
    assert observed.data["line_lost"]
    assert observed.data["ended"] == "stop"


async def test_a_question_nobody_could_see_is_denied(make: Make, model: ModelServer, hermes: HermesProcess) -> None:
    model.play([Say("First words. "), Wait(1.0), REMOVE], [Say("All done.")])  # the question comes after the cut
    async with line_to(hermes.port) as (url, cut):
        room, seen = FakeWorkspace(), []
        async with aclosing(make(url=url).run(make_turn_input("Tidy.", room=room))) as events:
            async for item in events:
                seen.append(item)
                if isinstance(item, Chunk) and "First" in item.text:
                    cut()
    assert room.questions == []
    [observed] = [item for item in seen if isinstance(item, Observation)]
    assert [one["choice"] for one in observed.data["approvals"]] == ["deny"]


async def test_a_hermes_that_was_restarted_no_longer_knows_the_run(
    make: Make, model: ModelServer, hermes: HermesProcess
) -> None:
    def restart() -> None:
        hermes.kill()
        hermes.start()

    model.play(SLOW)
    shown = await run_with(make(patience_seconds=30.0), at_first_word=restart)
    assert type(shown.error) is RuntimeFailed
    assert "restarted" in str(shown.error)
    assert shown.text.startswith("and")


async def test_a_hermes_that_stops_answering_in_the_middle_is_given_up(
    make: Make, model: ModelServer, hermes: HermesProcess
) -> None:
    model.play([Say("Warm.")], SLOW)
    assert (await run_turn(make(), make_turn_input("Hi."))).error is None
    shown = await run_with(make(idle_seconds=2.0, patience_seconds=0.1), at_first_word=hermes.pause)
    assert isinstance(shown.error, RuntimeTimeout)
    assert shown.text.startswith("and")


# time, room, keys
async def test_a_turn_that_takes_too_long_fails_and_is_stopped_in_hermes(
    make: Make, model: ModelServer, hermes: HermesProcess
) -> None:
    model.play([Say("Well. "), Hang()])
    runtime = make(most_seconds=1.5)
    shown = await run_turn(runtime, make_turn_input("Speak."))
    assert isinstance(shown.error, RuntimeTimeout)
    await runtime.close()
    assert status(hermes, shown.of(SaveState)[0].state["last_run_id"])["status"] == "cancelled"


async def test_stopping_reaches_hermes_even_when_the_turn_is_cancelled(
    make: Make, model: ModelServer, hermes: HermesProcess
) -> None:
    model.play(SLOW)
    runtime = make()
    shown = await stop_turn(runtime, make_turn_input("Speak."), lambda item: isinstance(item, Chunk))
    await runtime.close()
    assert status(hermes, shown.of(SaveState)[0].state["last_run_id"])["status"] == "cancelled"


async def test_a_run_that_was_accepted_while_the_turn_was_cancelled_is_stopped_too(
    make: Make, model: ModelServer, hermes: HermesProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    model.play(SLOW)
    submit, accepted, told = HermesApi.submit, list[str](), asyncio.Event()

    async def slow_line(api: HermesApi, *given: Any, **more: Any) -> str:
        accepted.append(await submit(api, *given, **more))
        told.set()
        await asyncio.sleep(0.2)
        return accepted[0]

    monkeypatch.setattr(HermesApi, "submit", slow_line)
    runtime = make()
    turn = asyncio.create_task(run_turn(runtime, make_turn_input("Speak.")))
    await told.wait()
    turn.cancel()
    await asyncio.wait({turn})
    await runtime.close()
    assert status(hermes, accepted[0])["status"] == "cancelled"


async def test_a_full_hermes_is_waited_for(make: Make, model: ModelServer) -> None:
    model.play([Say("one two three four five six seven eight", pause=0.1)])
    runtime = make()
    shown = await asyncio.gather(*(run_turn(runtime, make_turn_input("Count.")) for _ in range(4)))
    assert [one.error for one in shown] == [None] * 4
    assert any(one.progress("queued") for one in shown), "two run at once, the others waited"


async def test_a_hermes_that_stays_full_is_said_to_be(
    make: Make, model: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sojourn.runtimes.hermes.runtime._BACKOFF_SECONDS", (0.01,))
    model.play(SLOW)
    runtime = make()
    async with aclosing(runtime.run(make_turn_input("a"))) as one, aclosing(runtime.run(make_turn_input("b"))) as two:
        for busy in (one, two):
            async for item in busy:
                if isinstance(item, Chunk):
                    break
        assert isinstance((await run_turn(runtime, make_turn_input("c"))).error, RateLimited)


async def test_a_wrong_key_says_which_key(make: Make) -> None:
    runtime = make(api_key=Secret("wrong"))
    shown = await run_turn(runtime, make_turn_input("Hi."))
    assert isinstance(shown.error, KeyRefused)
    assert "API_SERVER_KEY" in shown.error.hint
    assert not (await runtime.ready()).ok


async def test_the_key_of_the_model_behind_is_not_confused_with_ours(make: Make, model: ModelServer) -> None:
    model.play([Refuse(401, "scripted bad key")])
    shown = await run_turn(make(), make_turn_input("Hi."))
    assert isinstance(shown.error, KeyRefused)
    assert "its own model" in shown.error.hint


async def test_nobody_there_says_how_to_start_it(make: Make) -> None:
    shown = await run_turn(make(url=f"http://127.0.0.1:{free_port()}"), make_turn_input("Hi."))
    assert isinstance(shown.error, RuntimeUnreachable)
    assert "hermes gateway run" in shown.error.hint


async def test_something_else_at_that_address_is_not_taken_for_hermes(make: Make, model: ModelServer) -> None:
    model.answers["/health"] = {"status": "ok"}
    shown = await run_turn(make(url=model.origin), make_turn_input("Hi."))
    assert isinstance(shown.error, RuntimeFailed)
    assert "url" in shown.error.hint


async def test_an_empty_answer_is_a_failure_and_not_an_answer(make: Make, model: ModelServer) -> None:
    model.play([Say("")])
    shown = await run_turn(make(), make_turn_input("Hi."))
    assert type(shown.error) is RuntimeFailed
    assert shown.text == ""


async def test_guests_do_not_get_hermes_tools_unless_configured(make: Make, model: ModelServer) -> None:
    model.play([Say("Welcome.")])
    room = FakeWorkspace(principal=Principal("guest:ann"))
    with pytest.raises(NotAllowed, match="guests"):
        async with aclosing(make().run(make_turn_input("Hi.", room=room))) as events:
            await anext(events)
    assert (await run_turn(make(guests=True), make_turn_input("Hi.", room=room))).answers == ["Welcome."]


async def test_being_ready_names_the_version(make: Make) -> None:
    ready = await make().ready()
    assert (ready.ok, "0.19.0" in ready.detail) == (True, True)
