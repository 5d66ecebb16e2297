"""Templates on the wire: what a model is sent with one and without, and that nothing of it is ever kept."""

import asyncio
import json
from pathlib import Path

import pytest

from sojourn import config
from sojourn.achievements.factory import open_store_scans
from sojourn.app import App
from sojourn.built_in_plugins import BUILT_INS
from sojourn.core.messages import Message
from sojourn.plugins import Registry
from sojourn.templates.file_library import FolderLibrary
from sojourn.templates.inject import write_introduction
from sojourn.templates.library import About, StoredTemplate
from sojourn.templates.miner import mine
from sojourn.templates.model import SessionTemplate, TaskType, ToolCallExample
from sojourn.testing.model_script import Call, Say
from sojourn.testing.model_server import ModelServer
from sojourn.testing.service_steps import ended, opened, stages, talk
from sojourn.text.template_examples import is_example

ASKED = "deploy the blog to staging"
EXAMPLES = [
    ToolCallExample("terminal", {"command": "deploy --to {{place}}"}, "deployed to staging in 3 s"),
    ToolCallExample("read_file", {"path": "deploy.log"}, "all fine"),
]
TEMPLATE = StoredTemplate(
    SessionTemplate("deploying", TaskType.TERMINAL, EXAMPLES), About(requests=(ASKED,), sessions=("s0",))
)
LINE = write_introduction(TEMPLATE.template)
OTHERS = ("hermes-runtime", "offline", "acp", "opencode")


@pytest.fixture
def model():
    with ModelServer([Say("Done.")], aside=[Say("A title")]) as running:
        yield running


@pytest.fixture
async def kit(home, model, request):
    protocol = getattr(request, "param", "openai")
    await FolderLibrary(home / "session-templates").save(TEMPLATE)
    url = model.url if protocol == "openai" else model.origin
    flags = {
        "home": str(home),
        "model.provider": protocol,
        "model.name": "scripted-1",
        "model.base_url": url,
        "model.api_key": "test-key-1",
        "agent.runtime": "native",
        "agent.titles": False,
    }
    registry = Registry([one for one in BUILT_INS if one.name not in OTHERS], lambda: ())
    made = App(config.load(flags), registry)
    yield made
    await made.close()


async def said(kit, *, template="", cwd="", text=ASKED, session=None):
    """One turn, with the template alone as context; the session, and what was kept."""
    quiet = tuple(one.name for one in kit.context() if one.name != "templates")
    session = session or await opened(kit.service, cwd=cwd)
    kept = await talk(kit.service, session, text, template=template, drop=quiet, runtime="native")
    assert ended(kept) == ("completed", [])
    return session, kept


def injected(body):
    """What was injected, in the order of the request: whole messages, or parts of one the person's words stand in."""
    found = []
    for message in body["messages"]:
        if is_injected(message):
            found.append(message)
        elif isinstance(message["content"], list):
            found += [part for part in message["content"] if str(part.get("tool_use_id")).startswith("template_")]
    return found


def encoded(value):
    """As both SDKs write JSON, which `cut_out` proves by finding it."""
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def cut_out(asked):
    """The very bytes of a request, without those of the injected block. Each piece must be there exactly once."""
    left = asked.raw
    for piece in (encoded("\n\n" + LINE)[1:-1], *(encoded(one) + b"," for one in injected(asked.body))):
        assert left.count(piece) == 1, piece
        left = left.replace(piece, b"")
    return left


def is_injected(message):
    text = json.dumps(message)
    return ASKED not in text and ("template_" in text or "None of this happened" in text)


async def both(kit, model, tmp_path):
    """The requests of two sessions, one with the template and one without."""
    _, kept = await said(kit, cwd=str(tmp_path))
    await said(kit, cwd=str(tmp_path), template="none")
    with_it, without = (one for one in model.asked if one.streams)
    return with_it, without, kept


async def test_openai_is_sent_the_same_bytes_but_for_the_injected_block(kit, model, tmp_path):
    with_it, without, kept = await both(kit, model, tmp_path)
    assert cut_out(with_it) == without.raw
    assert not injected(without.body)
    assert LINE.encode() not in without.raw
    block = injected(with_it.body)
    assert [one["role"] for one in with_it.messages] == ["system", "assistant", "tool", "assistant", "tool", "user"]
    calls = [call for one in block for call in one.get("tool_calls", ())]
    assert [(call["id"], call["type"], call["function"]["name"]) for call in calls] == [
        ("template_0", "function", "terminal"),
        ("template_1", "function", "read_file"),
    ]
    assert [json.loads(call["function"]["arguments"]) for call in calls] == [dict(one.arguments) for one in EXAMPLES]
    assert [one["content"] for one in block if one["role"] == "tool"] == [one.result for one in EXAMPLES]
    [shown] = stages(kept, "template")
    assert shown["name"] == "deploying"
    assert "deploy" in shown["because"]


@pytest.mark.parametrize("kit", ["anthropic"], indirect=True)
async def test_anthropic_gets_a_marked_person_first_and_the_rest_is_the_same(kit, model, tmp_path):
    with_it, without, _ = await both(kit, model, tmp_path)
    assert cut_out(with_it) == without.raw
    roles = [one["role"] for one in with_it.messages]
    assert roles == ["user", "assistant", "user", "assistant", "user"]
    assert "None of this happened" in json.dumps(with_it.messages[0])
    uses = [part for one in injected(with_it.body) if one.get("role") == "assistant" for part in one["content"]]
    assert [(one["type"], one["id"], one["name"], one["input"]) for one in uses] == [
        ("tool_use", f"template_{at}", one.tool_name, dict(one.arguments)) for at, one in enumerate(EXAMPLES)
    ]


async def test_nothing_injected_is_kept_counted_or_mined(kit, model, tmp_path):
    model.play([Call("read_file", {"path": "there.txt"}, id="call_1")], [Say("Done.")])
    (tmp_path / "there.txt").write_text("hello")
    with_it, _ = await said(kit, cwd=str(tmp_path))
    model.play([Call("read_file", {"path": "there.txt"}, id="call_1")], [Say("Done.")])
    without, _ = await said(kit, cwd=str(tmp_path), template="none")
    messages = {
        id: [kept.item async for kept in kit.store.read(id, messages_only=True) if isinstance(kept.item, Message)]
        for id in (with_it, without)
    }
    assert [one.role for one in messages[with_it]] == [one.role for one in messages[without]]
    assert not any(is_example(one) for one in messages[with_it])
    assert "deployed to staging" not in json.dumps([one.content for one in messages[with_it]])
    history = kit.store.history()
    found = await asyncio.to_thread(mine, history, {}, workers=1)
    assert found.known[with_it][1] == found.known[without][1]
    raw = dict(history.messages([with_it, without]))
    history.close()
    assert [row[1:3] for row in raw[with_it]] == [row[1:3] for row in raw[without]]
    counts = await asyncio.to_thread(counted, kit)
    assert counts[with_it] == counts[without]


def counted(kit):
    """What achievements count in each session."""
    scans = open_store_scans(kit)
    try:
        scans.run_if_needed(force=True, full=True, wait=60)
        return {one.facts.id: one.contribution for one in scans.records}
    finally:
        scans.close()


async def test_the_session_is_sent_the_same_block_again_and_can_drop_it(kit, model, tmp_path):
    session, _ = await said(kit, cwd=str(tmp_path))
    await said(kit, session=session, text="and then?")
    first, second = (one.body["messages"] for one in model.asked if one.streams)
    assert second[: len(first)] == first
    quiet = tuple(one.name for one in kit.context() if one.name != "templates")
    kept = await talk(kit.service, session, "without it", drop=(*quiet, "deploying"), runtime="native")
    assert stages(kept, "template") == []
    assert "template_0" not in json.dumps(model.asked[-1].body)
    assert (
        await FolderLibrary(Path(kit.settings.home) / "session-templates").get("deploying")
    ).template.usage_count == 1


async def test_one_run_without_it_is_enough_to_be_rid_of_it(kit, model, tmp_path):
    session, _ = await said(kit, cwd=str(tmp_path))
    await said(kit, session=session, text="again", template="none")
    _, kept = await said(kit, session=session, text="and then?")
    assert stages(kept, "template") == []
    assert ["template_0" in json.dumps(one.body) for one in model.asked if one.streams] == [True, False, False]


async def test_what_became_of_it_is_measured(kit, tmp_path):
    session, _ = await said(kit, cwd=str(tmp_path))
    library = FolderLibrary(Path(kit.settings.home) / "session-templates")
    for _ in range(200):  # the notes are taken after the turn is over
        note = await library.read_note("outcome", session)
        if note and note["turns"]:
            break
        await asyncio.sleep(0.02)
    assert (note["templates"], note["turns"], note["status"]) == (["deploying"], 1, "completed")
