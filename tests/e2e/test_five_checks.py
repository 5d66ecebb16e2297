"""A new runtime behind an existing chat, without a second memory, protocol or transcript: the real service, the real
Hermes, and a scripted model behind both Hermes and our own runtime."""

import json
import sqlite3
import subprocess
import sys
import urllib.request
from collections.abc import AsyncIterator, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.context.facts import FactRecords
from sojourn.core.events import Chunk, Done, Metadata, Progress
from sojourn.core.messages import Message, assistant, text_of, tool_calls_of, user
from sojourn.core.sessions import Recorded, SessionId
from sojourn.ports.service import TurnRequest
from sojourn.ports.tool import Reply
from sojourn.testing import service_steps
from sojourn.testing.hermes_process import HermesProcess
from sojourn.testing.model_script import Call, ModelRequest, Say
from sojourn.testing.model_server import ModelServer
from sojourn.testing.service_steps import (
    ME,
    ended,
    follow,
    is_asked,
    join_chunks,
    of,
    opened,
    stages,
    talk,
    transcript,
    until,
)
from sojourn.text.event_codec import decode_event, encode_event

ROOT = Path(__file__).resolve().parents[2]
AGENT = Path(__file__).with_name("acp_agent.py")  # says what it hears
FIVE = {"metadata", "progress", "chunk", "error", "done"}
SKILL = """---
name: watering-plan
description: How to write a watering plan for the garden tomatoes.
---
Always begin a watering plan with the word Rainbarrel.
"""


@pytest.fixture(scope="module")
def model() -> Iterator[ModelServer]:
    with ModelServer(aside=[Say("A title")]) as model:
        yield model


@pytest.fixture(scope="module")
def hermes(model: ModelServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HermesProcess]:
    subprocess.run([ROOT / "scripts" / "peer"], check=True, cwd=ROOT)
    hermes = HermesProcess(ROOT / ".venv-hermes", tmp_path_factory.mktemp("hermes"), model_url=model.url)
    hermes.start()
    yield hermes
    hermes.stop()


@pytest.fixture
async def app(
    home: Path, model: ModelServer, hermes: HermesProcess, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[App]:
    """An installation with a memory, a note and a skill."""
    monkeypatch.setattr(service_steps, "SECONDS", 60.0)  # two agents start here, each with all it needs
    skill = home / "skills" / "watering-plan"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text(SKILL)
    (home / "notes").mkdir()
    (home / "notes" / "garden.md").write_text("# Tomatoes\n\nThe garden tomatoes stand behind the shed.\n")
    (home / "config.toml").write_text(
        f'[model]\nprovider = "openai"\nname = "scripted-1"\nbase_url = "{model.url}"\napi_key = "sk-scripted"\n'
        f'[agent]\ntitles = false\n[memory]\nmodel_summaries = false\n[tools]\napproval = "always"\n'
        f'[plugins.hermes-runtime]\nurl = "{hermes.url}"\napi_key = "{hermes.key}"\n'
        f'[plugins.acp]\ncommand = "{sys.executable} {AGENT}"\n'
    )
    model.play([Say("Fine.")])
    app = App(config.load({"home": str(home)}))
    await FactRecords(app).add_fact("The garden gate key hangs in the kitchen.")
    yield app
    await app.close()


QUESTION = "Where do the garden tomatoes stand?"
STEPS = "Write a watering plan for the garden tomatoes, then check it, and then save it as plan.md"


def heard(model: ModelServer) -> ModelRequest:
    return [asked for asked in model.asked if asked.streams][-1]


def blocks(kept: list[Recorded]) -> list[dict[str, Any]]:
    [told] = [detail["blocks"] for detail in stages(kept, "prepare") if "blocks" in detail]
    return [{name: block[name] for name in ("kind", "title", "origin")} for block in told]


def raw_state(home: Path, session: SessionId, runtime: str) -> tuple[Any, ...]:
    """The record as it lies in the file, every column."""
    asked = "SELECT *, CAST(value AS BLOB) FROM records WHERE kind = 'agent_state' AND key = ?"
    with closing(sqlite3.connect(f"file:{home / 'state.db'}?mode=ro", uri=True)) as db:
        found = db.execute(asked, (f"{session}/{runtime}",)).fetchall()
    [row] = found
    return tuple(row)


async def test_one_the_memory_pipeline_is_reused(app: App, model: ModelServer) -> None:
    first = await opened(app.service)
    await talk(app.service, first, "The tomatoes of the garden are of the kind Ochsenherz.", runtime="native")
    seen = {}
    for runtime in ("native", "hermes"):
        session = await opened(app.service)
        kept = await talk(app.service, session, QUESTION, runtime=runtime)
        assert ended(kept) == ("completed", [])
        told = heard(model).text()
        assert "hangs in the kitchen" in told, "a fact the person wants remembered"
        assert "behind the shed" in told, "a note"
        assert "Ochsenherz" in told, "an earlier session"
        seen[runtime] = [block for block in blocks(kept) if block["kind"] != "recall"]
    assert seen["native"] == seen["hermes"] != []


async def test_two_the_shortlist_and_the_task_graph_are_reused(app: App, model: ModelServer) -> None:
    kept = await talk(app.service, await opened(app.service), STEPS, runtime="hermes")
    told = heard(model).text("system")
    assert "begin a watering plan with the word Rainbarrel" in told
    assert {"skill", "tasks"} <= {block["kind"] for block in blocks(kept)}
    graph = stages(kept, "task")[0]
    assert len(graph["tasks"]) == 3
    assert all(task["title"] in told for task in graph["tasks"])


async def test_three_what_hermes_says_arrives_as_the_five_events(app: App, model: ModelServer) -> None:
    model.play([Say("Let me look. "), Call("terminal", {"command": "echo ran"})], [Say("It ran.")])
    kept = await talk(app.service, await opened(app.service), "Run it.", runtime="hermes")
    events = [one.item for one in kept if not isinstance(one.item, Message)]
    assert {encode_event(event)[0] for event in events} <= FIVE
    assert all(decode_event(*encode_event(event)) == event for event in events)
    assert isinstance(events[0], Metadata)
    assert events[0].runtime == "hermes"
    assert isinstance(events[-1], Done)
    assert len(of(Done, kept)) == len(of(Metadata, kept)) == 1
    assert join_chunks(kept).split() == ["Let", "me", "look.", "It", "ran."]
    assert [detail["status"] for detail in stages(kept, "tool")] == ["started", "completed"]
    assert of(Done, kept)[0].usage["input_tokens"] > 0


async def test_four_the_answer_is_kept_in_the_same_structure(app: App, model: ModelServer) -> None:
    kinds = {}
    for runtime in ("native", "hermes"):
        session = await opened(app.service)
        kept = await talk(app.service, session, "Hello.", runtime=runtime)
        assert await transcript(app.service, session) == [("user", "Hello."), ("assistant", "Fine.")]
        request, answer = of(Message, kept)
        ids = [one.public_id for one in kept if isinstance(one.item, Message)]
        assert of(Done, kept)[0].messages == tuple(ids)
        kinds[runtime] = [
            (one.role, one.structured, one.finish_reason, one.turn_id is not None, one.tool_calls, text_of(one))
            for one in (request, answer)
        ]
    assert kinds["native"] == kinds["hermes"]


async def test_five_continuity_of_hermes_never_touches_that_of_others(app: App, home: Path, model: ModelServer) -> None:
    session = await opened(app.service)
    await talk(app.service, session, "Hello.", runtime="native")
    native = raw_state(home, session, "native")
    await talk(app.service, session, "And you?", runtime="hermes")
    assert raw_state(home, session, "native") == native, "byte for byte, its revision and its time included"
    theirs = raw_state(home, session, "hermes")
    assert set(json.loads(theirs[-1])) == {"session_id", "last_run_id", "version"}
    await talk(app.service, session, "Hello again.", runtime="native")
    assert raw_state(home, session, "hermes") == theirs


async def test_what_hermes_did_is_in_the_transcript_and_an_observation_says_more(app: App, model: ModelServer) -> None:
    model.play([Call("terminal", {"command": "echo ran"})], [Say("It ran.")])
    session = await opened(app.service)
    await talk(app.service, session, "Run it.", runtime="hermes")
    [seen] = await app.store.list_records("observation", session=session)
    assert (seen.value["runtime"], seen.value["data"]["tools"][0]["preview"]) == ("hermes", "echo ran")
    said, call, result, answer = await transcript(app.service, session)
    assert (said, answer) == (("user", "Run it."), ("assistant", "It ran."))
    assert (call, result[0]) == (("assistant", ""), "tool")


async def test_switching_in_the_middle_keeps_the_whole_transcript(app: App, model: ModelServer) -> None:
    session = await opened(app.service)
    model.play([Call("memory", {"action": "add", "text": "The cat is called Minka."})], [Say("Remembered.")])
    kept = await talk(app.service, session, "Remember my cat Minka.", runtime="native")
    [call] = [call for one in of(Message, kept) for call in tool_calls_of(one)]
    [result] = [text_of(one) for one in of(Message, kept) if one.role == "tool"]
    model.play([Say("Your cat is Minka.")])
    await talk(app.service, session, "What is my cat called?", runtime="hermes")
    told = heard(model)
    assert [message["role"] for message in told.messages] == ["system", "user", "assistant", "user"]
    assert all(words in told.messages[2]["content"] for words in (call.name, call.arguments, result, "Remembered."))
    model.play([Say("As I said.")])
    await talk(app.service, session, "Sure?", runtime="native")
    assert ("assistant", "Your cat is Minka.") in [
        (message["role"], message["content"]) for message in heard(model).messages if message.get("content")
    ]
    said = [words for role, words in await transcript(app.service, session) if role != "tool" and words]
    assert said == [
        "Remember my cat Minka.",
        "Remembered.",
        "What is my cat called?",
        "Your cat is Minka.",
        "Sure?",
        "As I said.",
    ]


async def test_an_agent_with_a_memory_of_its_own_is_told_what_others_did(app: App, home: Path) -> None:
    session = await opened(app.service)
    await talk(app.service, session, "Hello from the beginning.", runtime="native")
    native = raw_state(home, session, "native")
    first = join_chunks(await talk(app.service, session, "First.", runtime="acp"))
    assert "Hello from the beginning." in first
    second = join_chunks(await talk(app.service, session, "Second.", runtime="acp"))
    assert not any(words in second for words in ("Hello from the beginning.", "First.", "gate key"))
    await talk(app.service, session, "Asked of Hermes.", runtime="hermes")
    third = join_chunks(await talk(app.service, session, "Third.", runtime="acp"))
    assert all(words in third for words in ("Asked of Hermes.", "Fine.", "Third."))
    assert not any(words in third for words in ("Hello from the beginning.", "First.", "Second."))
    assert raw_state(home, session, "native") == native


async def test_an_imported_conversation_goes_on_with_hermes(app: App, model: ModelServer) -> None:
    session = await app.store.create(title="Old")
    lease = await app.store.lease(session.id, holder="test", surface="cli")
    await app.store.append(lease, [user("What is a sojourn?"), assistant("A temporary stay.")])
    await app.store.renew(lease, 0)
    await talk(app.service, session.id, "And then?", runtime="hermes")
    assert [words for _, words in await transcript(app.service, session.id)][-1] == "Fine."
    assert "A temporary stay." in heard(model).text("assistant")


async def test_a_question_of_hermes_is_answered_through_the_service(app: App, model: ModelServer) -> None:
    model.play([Call("terminal", {"command": "rm -rf /tmp/sojourn_no_such_folder"})], [Say("Gone.")])
    session = await opened(app.service)
    turn = await app.service.say(session, TurnRequest(text="Tidy up.", runtime="hermes"), ME)
    asked = (await until(app.service, turn, is_asked)).item
    assert isinstance(asked, Progress)
    await app.service.answer(session, asked.detail["question"], Reply(choice="once"), ME)
    kept = await follow(app.service, turn)
    assert ended(kept) == ("completed", [])
    assert stages(kept, "tool")[-1]["status"] == "completed"
    assert [detail["status"] for detail in stages(kept, "approval")] == ["asked", "answered"]


async def test_stopping_through_the_service_stops_hermes(app: App, model: ModelServer, hermes: HermesProcess) -> None:
    model.play([Say("and so on " * 60, pause=0.05)])
    session = await opened(app.service)
    turn = await app.service.say(session, TurnRequest(text="Speak.", runtime="hermes"), ME)
    await until(app.service, turn, lambda item: isinstance(item, Chunk))
    assert await app.service.stop(session, ME)
    kept = await follow(app.service, turn)
    assert ended(kept) == ("cancelled", [])
    answer = (await transcript(app.service, session))[-1]
    assert answer[0] == "assistant"
    assert answer[1].strip() == join_chunks(kept).strip() != ""
    state = await app.store.get_record("agent_state", f"{session}/hermes")
    assert state is not None
    await app.runtime("hermes").close()
    run = urllib.request.Request(
        f"{hermes.url}/v1/runs/{state.value['last_run_id']}", headers={"Authorization": f"Bearer {hermes.key}"}
    )
    with urllib.request.urlopen(run, timeout=5) as reply:
        assert json.load(reply)["status"] == "cancelled"
