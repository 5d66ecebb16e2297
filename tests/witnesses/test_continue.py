"""Sessions go on in the real agents: what they send to their model contains the conversation, and what is said there
comes back into the same session, once."""

import json

import pytest

from sojourn import config
from sojourn.app import App
from sojourn.core.messages import Message
from sojourn.ports.store import Listing
from sojourn.testing.model_script import Say
from sojourn.testing.model_server import ModelServer
from tests.integration.continuation.continued_session import MESSAGES, RESULTS, TEXTS, list_strings, make_session
from tests.witnesses.agent_programs import NAMES, AgentPrograms

PROMPT, ANSWER = "And what is next?", "Ship the importer, I would say."


def slow(name):
    return pytest.param(name, marks=() if name == "hermes" else pytest.mark.matrix)


@pytest.fixture
def model():
    with ModelServer([Say(ANSWER)], aside=[Say("A title")]) as server:
        yield server


@pytest.fixture
def person(tmp_path, model):
    return AgentPrograms(tmp_path, model)


def open_app(person) -> App:
    return App(config.load({"memory.embedder": "none"}, person.environment))


async def read(app, session) -> list[Message]:
    return [row.item async for row in app.store.read(session, messages_only=True)]


async def import_all(app):
    return [await app.import_history(found) for found in app.find_histories()]


@pytest.mark.parametrize("name", [slow(name) for name in NAMES])
async def test_a_session_goes_on_in_the_real_program_and_comes_back(person, model, name):
    person.set_up(name)
    app = open_app(person)
    session = await make_session(app, person.project)

    written = json.loads(person.sojourn("continue", session.id, "--in", name, "--yes", "--json"))
    assert all(report.new_messages == 0 for report in await import_all(app)), "what we wrote came back"

    model.asked.clear()
    person.resume(name, written["native_id"], PROMPT)
    (request,) = [one for one in model.asked if PROMPT in one.raw.decode() and TEXTS[0][:20] in one.raw.decode()][:1]
    said = "\n".join(list_strings(json.loads(request.raw)))
    assert [text for text in [*TEXTS, *RESULTS] if text.strip() not in said] == []
    assert "cat notes.txt" in said
    assert "weird_tool" in said
    assert 'quoted "words"' in said

    await import_all(app)
    messages = await read(app, session.id)
    assert [one.content for one in messages[: len(MESSAGES)]] == [one.content for one in MESSAGES]
    added = [(one.role, one.content) for one in messages[len(MESSAGES) :] if one.role in ("user", "assistant")]
    assert added == [("user", PROMPT), ("assistant", ANSWER)]
    assert [one.id for one in await app.store.find(Listing(limit=10))] == [session.id]
    used = await app.store.get(session.id)
    assert used.input_tokens > 0
    await import_all(app)
    assert len(await read(app, session.id)) == len(messages)
    assert await app.store.get(session.id) == used

    refused = person.sojourn("continue", session.id, "--undo", "--yes", "--json", check=False)
    assert "has gone on with it" in refused
    assert PROMPT in refused
    await app.close()


@pytest.mark.parametrize("name", [slow(name) for name in NAMES])
async def test_what_was_written_is_taken_back(person, name):
    person.set_up(name)
    app = open_app(person)
    session = await make_session(app, person.project)
    written = json.loads(person.sojourn("continue", session.id, "--in", name, "--yes", "--json"))
    person.sojourn("continue", session.id, "--undo", "--yes")
    assert [path for one in written["files"] if (path := person.home / one["path"]).exists()] == []
    await import_all(app)
    assert len(await read(app, session.id)) == len(MESSAGES)
    assert [one.id for one in await app.store.find(Listing(limit=10))] == [session.id]
    await app.close()
