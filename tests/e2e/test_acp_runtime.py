"""The runtime `acp`: with `hermes acp`, and with a small agent that has the manners Hermes does not have."""

import asyncio
import json
import os
import shlex
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from sojourn.core.attachments import Attachment
from sojourn.core.errors import BadConfig, KeyRefused, NotAllowed, RuntimeFailed, RuntimeTimeout, RuntimeUnreachable
from sojourn.core.events import Chunk
from sojourn.core.messages import Message, assistant, tool_calls_of, user
from sojourn.core.sessions import Principal
from sojourn.ports.context import ContextBlock
from sojourn.ports.runtime import HistoryEntry, Observation, SaveState
from sojourn.ports.tool import Question, Reply
from sojourn.runtimes.acp import AcpSettings, prompt_call
from sojourn.runtimes.acp.runtime import AcpRuntime
from sojourn.testing.hermes_process import HermesProcess
from sojourn.testing.model_script import Call, Refuse, Say
from sojourn.testing.model_server import ModelServer
from sojourn.testing.turn_runner import FakeWorkspace, TurnOutput, make_turn_input, run_turn, stop_turn

ROOT = Path(__file__).resolve().parents[2]
AGENT = Path(__file__).with_name("acp_agent.py")
Make = Callable[..., AcpRuntime]
pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def make() -> AsyncIterator[Make]:
    """A runtime with the peculiar agent; words are manners of it, names are settings. The same again is the same one,
    so that not every test has to wait until a process is there."""
    made: dict[str, AcpRuntime] = {}

    def one(*manners: str, **settings: Any) -> AcpRuntime:
        command = shlex.join([sys.executable, str(AGENT), *manners])
        return made.setdefault(repr((manners, settings)), AcpRuntime(AcpSettings(**{"command": command} | settings)))

    yield one
    for runtime in made.values():
        await runtime.close()


# manners
@pytest.mark.parametrize(
    ("said", "text"), [("STRAY", "Before, after."), ("UNKNOWN", "Fine."), ("FILES", "no files: -32601")]
)
async def test_odd_manners_do_no_harm(make: Make, said: str, text: str) -> None:
    shown = await run_turn(make(), make_turn_input(said))
    assert (shown.error, shown.text, shown.answers) == (None, text, [text])


async def test_tools_are_shown_and_one_that_is_never_told_of_again_ends_with_the_turn(make: Make) -> None:
    shown = await run_turn(make(), make_turn_input("WORK"))
    told = [(one["preview"], one["tool"], one["status"]) for one in shown.progress("tool")]
    assert told == [
        ("Reading a file", "read", "started"),
        ("Reading a file", "read", "failed"),
        ("Never told of again", "edit", "started"),
        ("Never told of again", "edit", "completed"),
    ]
    assert (shown.error, shown.text) == (None, "I look.\n\nI found it.")
    kept = [(one.role, one.content, [call.arguments for call in tool_calls_of(one)]) for one in shown.messages]
    assert [(role, text) for role, text, _ in kept[::2]] == [
        ("assistant", "I look."),
        ("assistant", None),
        ("assistant", "I found it."),
    ]
    assert [json.loads(call) for _, _, calls in kept for call in calls] == [
        {"title": "Reading a file"},
        {"title": "Never told of again"},
    ]
    assert [role for role, _, _ in kept[1::2]] == ["tool", "tool"]
    [seen] = shown.of(Observation)
    assert (seen.kind, len(seen.data["tools"])) == ("prompt", 2)


async def test_a_call_whose_arguments_are_told_is_in_the_transcript(make: Make) -> None:
    shown = await run_turn(make(), make_turn_input("RUN"))
    ended = [(one["tool"], one["preview"]) for one in shown.progress("tool") if one["status"] == "completed"]
    assert ended == [("Bash", "echo exported"), ("execute", "ls -la")]
    kept = [(one.role, one.content, [call.name for call in tool_calls_of(one)]) for one in shown.messages]
    assert kept == [
        ("assistant", "I run it.", ["Bash"]),
        ("tool", "exported", []),
        ("assistant", "Now the other.", ["execute"]),
        ("tool", '{"exit": 0}', []),
        ("assistant", "Done.", []),
    ]
    [bash] = tool_calls_of(shown.messages[0])
    assert json.loads(bash.arguments) == {"command": "echo exported"}


async def test_a_plan_is_shown_as_tasks(make: Make) -> None:
    [shown] = (await run_turn(make(), make_turn_input("PLAN"))).progress("task")
    assert [(one["title"], one["state"]) for one in shown["tasks"]] == [("Dig", "running"), ("Plant", "waiting")]


async def test_an_answer_cut_by_its_model_is_kept_and_marked(make: Make) -> None:
    shown = await run_turn(make(), make_turn_input("SHORTEN"))
    assert (shown.messages[0].content, shown.messages[0].finish_reason) == ("There was more to", "length")


# failures
@pytest.mark.parametrize(
    ("said", "words"), [("REFUSE", "refused"), ("SILENCE", "without an answer"), ("BREAK", "out of cheese")]
)
async def test_what_is_no_answer_is_a_failure(make: Make, said: str, words: str) -> None:
    shown = await run_turn(make(), make_turn_input(said))
    assert type(shown.error) is RuntimeFailed
    assert words in str(shown.error)
    assert not str(shown.error).endswith("..")
    assert shown.error.hint


async def test_a_dying_agent_is_quoted_and_started_again(make: Make) -> None:
    runtime = make()
    shown = await run_turn(runtime, make_turn_input("DIE"))
    assert isinstance(shown.error, RuntimeUnreachable)
    assert all(words in str(shown.error) for words in ("exit code 3", "heart attack"))
    assert shown.answers == ["I feel "], "what it had said is kept"
    assert (await run_turn(runtime, make_turn_input("Hello?"))).error is None


async def test_signing_in_is_asked_for(make: Make) -> None:
    shown = await run_turn(make("sign-in"), make_turn_input("Hi."))
    assert isinstance(shown.error, KeyRefused)


async def test_another_version_of_the_protocol_is_said(make: Make) -> None:
    shown = await run_turn(make("old"), make_turn_input("Hi."))
    assert isinstance(shown.error, RuntimeFailed)
    assert "version 0" in str(shown.error)


async def test_an_agent_that_does_not_get_ready_is_given_up_and_gone(make: Make) -> None:
    runtime = make("slow-start", start_seconds=1.0)
    assert isinstance((await run_turn(runtime, make_turn_input("Hi."))).error, RuntimeTimeout)
    assert not runtime.is_running


async def test_something_that_speaks_another_language_is_told_apart(make: Make) -> None:
    shown = await run_turn(make(command="yes hello"), make_turn_input("Hi."))
    assert type(shown.error) is RuntimeFailed
    assert "Agent Client Protocol" in str(shown.error)


async def test_a_program_that_is_not_there_is_named(make: Make) -> None:
    runtime = make(command="no-such-agent --acp")
    shown = await run_turn(runtime, make_turn_input("Hi."))
    assert isinstance(shown.error, RuntimeUnreachable)
    assert "no-such-agent" in str(shown.error)
    assert not (await runtime.ready()).ok


async def test_without_a_command_the_setting_is_named(make: Make) -> None:
    runtime = make(command="")
    with pytest.raises(BadConfig, match="acp"):
        async with aclosing(runtime.run(make_turn_input("Hi."))) as events:
            await anext(events)
    assert "command" in (await runtime.ready()).hint


# permission
@pytest.mark.parametrize(
    ("said", "answer", "heard"),
    [
        ("PERMIT", "once", "yes"),
        ("PERMIT", "session", "no"),
        ("PERMIT", "deny", "no"),
        ("PERMIT", "nonsense", "no"),
        ("RUDE", "deny", "never"),
    ],
)
async def test_our_words_become_its_options(make: Make, said: str, answer: str, heard: str) -> None:
    room = FakeWorkspace(answer=answer)
    shown = await run_turn(make(), make_turn_input(said, room=room))
    assert shown.text == f"You said {heard}."
    assert (room.questions[0].tool, room.questions[0].detail) == ("delete", "Delete it all")
    assert "deny" in room.questions[0].choices


async def test_no_answer_in_time_is_a_no_and_is_said(make: Make) -> None:
    async def never(question: Question) -> Reply:
        await asyncio.Event().wait()
        raise AssertionError("nobody answers")

    shown = await run_turn(make(approval_seconds=0.2), make_turn_input("PERMIT", ask=never))
    assert shown.text == "You said no."
    assert "Nobody answered" in shown.progress("approval")[0]["why"]


# stopping
async def test_a_cancelled_turn_ends_in_the_agent_too(make: Make) -> None:
    runtime, room = make(), FakeWorkspace()
    shown = await stop_turn(runtime, make_turn_input("WAIT", room=room), lambda item: isinstance(item, Chunk))
    assert (shown.cancelled, shown.answers) == (True, ["Waiting. "])
    history = (HistoryEntry(1, replace(user("WAIT"), turn_id=room.turn)),)
    again = await run_turn(runtime, make_turn_input("Go on.", room=room, history=history, state=state_of(shown)))
    assert again.text.endswith("2] Go on."), "the same session of the same process"


async def test_an_agent_that_does_not_listen_is_ended(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_call, "_STOP_SECONDS", 0.2)
    runtime = make()
    shown = await stop_turn(runtime, make_turn_input("DEAF"), lambda item: isinstance(item, Chunk))
    assert shown.cancelled
    assert not runtime.is_running
    assert (await run_turn(runtime, make_turn_input("Hello?"))).error is None


async def test_a_turn_that_takes_too_long_fails(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prompt_call, "_STOP_SECONDS", 0.2)
    assert isinstance((await run_turn(make(most_seconds=0.5), make_turn_input("DEAF"))).error, RuntimeTimeout)
    assert isinstance((await run_turn(make(idle_seconds=0.5), make_turn_input("DEAF"))).error, RuntimeTimeout)


async def test_closing_takes_the_children_of_the_agent_along(make: Make) -> None:
    runtime = make()
    child = int((await run_turn(runtime, make_turn_input("CHILD"))).text)
    os.kill(child, 0)
    await runtime.close()
    for _ in range(100):  # its new parent has to notice, too
        if Path(f"/proc/{child}/stat").exists() and Path(f"/proc/{child}/stat").read_text().split()[2] != "Z":
            await asyncio.sleep(0.02)
            continue
        break
    else:
        pytest.fail("the child is still there")


# what it is told
def state_of(shown: TurnOutput) -> dict[str, Any]:
    return dict(shown.of(SaveState)[-1].state)


class Conversation:
    """Turns of one session, as a service keeps them."""

    def __init__(self, runtime: AcpRuntime) -> None:
        self.runtime, self.state, self.history = runtime, dict[str, Any](), list[HistoryEntry]()

    def keep(self, *messages: Message, turn: str) -> None:
        for message in messages:
            self.history.append(HistoryEntry(len(self.history) + 1, replace(message, turn_id=turn)))

    async def say(self, text: str, **given: Any) -> TurnOutput:
        room = FakeWorkspace(root=AGENT.parent)
        turn = make_turn_input(text, room=room, history=tuple(self.history), state=self.state, **given)
        shown = await run_turn(self.runtime, turn)
        self.state = state_of(shown)
        self.keep(user(text), *shown.messages, turn=room.turn)
        return shown


def fact(text: str) -> ContextBlock:
    return ContextBlock(kind="fact", title="The dog", text=text, origin="your memory", reason="it was asked for")


async def test_only_what_is_new_is_told(make: Make) -> None:
    talk = Conversation(make())
    talk.keep(user("What is a sojourn?"), assistant("A stay."), turn="t_native")
    first = (await talk.say("First.", blocks=(fact("Bello"),))).text
    assert all(words in first for words in ("What is a sojourn?", "A stay.", "Bello", "your memory", "First."))
    second = (await talk.say("Second.", blocks=(fact("Bello"),))).text
    assert second.endswith("2] Second."), "nothing else: it knows the rest"
    talk.keep(user("Asked of another."), assistant("Answered by another."), turn="t_other")
    third = (await talk.say("Third.", blocks=(fact("Rex"),))).text
    assert all(words in third for words in ("Asked of another.", "Answered by another.", "Rex", "Third."))
    assert not any(words in third for words in ("First.", "Second.", "Bello", "A stay."))


async def test_what_was_undone_is_forgotten_by_beginning_anew(make: Make) -> None:
    talk = Conversation(make())
    await talk.say("First.")
    await talk.say("A slip of the tongue.")
    talk.history = talk.history[:2]
    told = (await talk.say("Third.")).text
    assert "First." in told
    assert "slip" not in told


@pytest.mark.parametrize(("manners", "told"), [((), False), (("no-load",), True), (("forgets",), True)])
async def test_after_a_restart_it_is_told_all_again_unless_it_can_load(
    make: Make, manners: tuple[str, ...], told: bool
) -> None:
    talk = Conversation(make(*manners))
    await talk.say("First.")
    await talk.runtime.close()
    shown = await talk.say("Second.")
    assert ("First." in shown.text) == told
    assert "REPLAYED" not in shown.text


async def test_an_agent_that_resumes_is_not_made_to_replay_and_its_models_are_options(make: Make) -> None:
    talk = Conversation(make("resumes"))
    await talk.say("First.")
    await talk.runtime.close()
    assert (await talk.say("MODEL")).text == "I am small after a resume."
    for model, told in (("large", "I am large."), ("unheard-of", "I am large.")):
        assert (await run_turn(make("resumes"), make_turn_input("MODEL", model=model))).text == told


async def test_pictures_are_shown_to_an_agent_that_sees(make: Make) -> None:
    picture = Attachment(hash="h", media_type="image/png", name="dog.png", size=4)
    shown = await run_turn(make(), make_turn_input("Look.", attachments=(picture,), files={"h": b"\x89PNG"}))
    assert "<image>" in shown.text


async def test_sessions_are_not_mixed(make: Make) -> None:
    runtime = make()
    both = await asyncio.gather(*(run_turn(runtime, make_turn_input(word)) for word in ("Apples.", "Pears.")))
    assert ["Apples." in one.text for one in both] == [True, False]
    assert both[0].text.split("-")[0] == both[1].text.split("-")[0], "one process for both"


async def test_guests_do_not_get_its_tools_unless_configured(make: Make) -> None:
    room = FakeWorkspace(principal=Principal("guest:ann"))
    with pytest.raises(NotAllowed, match="guests"):
        async with aclosing(make().run(make_turn_input("Hi.", room=room))) as events:
            await anext(events)


# Hermes
@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(aside=[Say("A title")]) as model:
        yield model


@pytest.fixture(scope="module")
def hermes(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> HermesProcess:
    subprocess.run([ROOT / "scripts" / "peer"], check=True, cwd=ROOT)
    return HermesProcess(ROOT / ".venv-hermes", tmp_path_factory.mktemp("hermes"), model_url=model.url)


async def test_hermes_goes_on_in_its_own_session_after_it_was_killed(
    make: Make, model: ModelServer, hermes: HermesProcess
) -> None:
    model.play([Say("One.")], [Say("Two.")])
    runtime = make(command=shlex.join(hermes.acp))
    talk = Conversation(runtime)
    assert (await talk.say("Count.")).answers == ["One."]
    assert runtime._agent is not None
    os.kill(runtime._agent._child.pid, signal.SIGKILL)
    while runtime.is_running:
        await asyncio.sleep(0.01)
    shown = await talk.say("Go on.")
    assert shown.answers == ["Two."]
    asked = [one for one in model.asked if one.streams][-1]
    assert [one["content"] for one in asked.messages if one["role"] != "system"] == ["Count.", "One.", "Go on."]
    assert shown.done[0].usage["input_tokens"] > 0


async def test_hermes_errors_do_not_pass_as_answers(make: Make, model: ModelServer, hermes: HermesProcess) -> None:
    runtime = make(command=shlex.join(hermes.acp))
    model.play([Refuse(500, "scripted failure")])
    shown = await run_turn(runtime, make_turn_input("Hi."))
    assert type(shown.error) is RuntimeFailed
    assert "scripted failure" in str(shown.error)
    assert (shown.text, shown.answers) == ("", [])
    model.play([Say("Let me see. "), Call("terminal", {"command": "true"})], [Refuse(500)])
    shown = await run_turn(runtime, make_turn_input("Hi."))
    assert type(shown.error) is RuntimeFailed
    assert shown.answers == [shown.text] == ["Let me see. "]
    model.play([Say("One.")])
    assert (await run_turn(runtime, make_turn_input("Hi."))).answers == ["One."]
    assert "/help" in (await run_turn(runtime, make_turn_input("/help"))).text, "its own commands still work"


@pytest.mark.parametrize(("choice", "status"), [("once", "completed"), ("deny", "failed")])
async def test_hermes_asks_before_what_is_dangerous(
    make: Make, model: ModelServer, hermes: HermesProcess, choice: str, status: str
) -> None:
    model.play([Call("terminal", {"command": "rm -rf /tmp/sojourn_no_such_folder"})], [Say("All done.")])
    room = FakeWorkspace(answer=choice)
    shown = await run_turn(make(command=shlex.join(hermes.acp)), make_turn_input("Tidy up.", room=room))
    assert [question.detail for question in room.questions] == ["rm -rf /tmp/sojourn_no_such_folder"]
    assert set(room.questions[0].choices) == {"once", "deny"}
    assert shown.progress("tool")[-1]["status"] == status
    assert shown.answers == ["All done."]
