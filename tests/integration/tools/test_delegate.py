"""delegate_task through the real service: a sub-agent in a session of its own."""

import asyncio
from contextlib import aclosing

import pytest

from sojourn.core.events import Done, Progress
from sojourn.core.messages import Message
from sojourn.ports.service import Caller, TurnRequest
from sojourn.ports.store import Listing
from sojourn.ports.tool import Reply
from sojourn.testing.scripted_runtime import CallTool, PauseGate, SayText, ScriptedRuntime
from sojourn.tools.delegate import TASK
from tests.integration.tools.tool_workspace import open_kit

ME = Caller(surface="cli", holder="test")


@pytest.fixture
def runtime():
    return ScriptedRuntime()


@pytest.fixture
def settings(request):
    return dict(getattr(request, "param", {}))


@pytest.fixture
async def kit(runtime, settings):
    async with open_kit(runtime, **settings) as made:
        yield made


async def answer_of(kit, session, turn, *, answers=()):
    """What tools told and what was said, while somebody answers the questions."""
    said, replies = [], list(answers)
    async with asyncio.timeout(30), aclosing(kit.service.watch(session, after=turn.after)) as log:
        async for kept in log:
            item = kept.item
            if isinstance(item, Message):
                said.append((item.role, item.content))
            elif isinstance(item, Progress) and item.detail.get("status") == "asked":
                await kit.service.answer(session, item.detail["question"], Reply(choice=replies.pop(0)), ME)
            elif isinstance(item, Done):
                return said
    raise AssertionError("no end")


async def ask(kit, text, tmp_path, **more):
    session = await kit.service.open(ME, runtime="scripted", cwd=str(tmp_path))
    turn = await kit.service.say(session.id, TurnRequest(text=text, runtime="scripted"), ME)
    return session, turn


async def test_answer_of_the_sub_agent_comes_back(kit, runtime, tmp_path):
    runtime.on("go", CallTool("delegate_task", {"task": "count to two"}), SayText("thanks"))
    runtime.on(TASK + "count to two", SayText("one two"))
    session, turn = await ask(kit, "go", tmp_path)
    said = await answer_of(kit, session.id, turn)
    assert ("tool", "one two") in said
    (child,) = await kit.store.find(Listing(parent=session.id))
    assert child.source == "delegate"
    assert runtime.seen[1].workspace.root == tmp_path


async def test_sub_agent_cannot_delegate(kit, runtime, tmp_path):
    runtime.on("go", CallTool("delegate_task", {"task": "deeper"}))
    runtime.on(TASK + "deeper", CallTool("delegate_task", {"task": "deepest"}), SayText("tried"))
    session, turn = await ask(kit, "go", tmp_path)
    assert ("tool", "tried") in await answer_of(kit, session.id, turn)
    assert len(runtime.seen) == 2


@pytest.mark.parametrize("settings", [{"tools.delegates": 1}], indirect=True)
async def test_only_so_many_tasks_in_one_turn(kit, runtime, tmp_path):
    runtime.on("go", CallTool("delegate_task", {"task": "a"}), CallTool("delegate_task", {"task": "b"}))
    session, turn = await ask(kit, "go", tmp_path)
    told = [text for role, text in await answer_of(kit, session.id, turn) if role == "tool"]
    assert "already delegated 1 tasks" in told[1]


async def test_questions_of_the_sub_agent_reach_the_person(kit, runtime, tmp_path):
    runtime.on("go", CallTool("delegate_task", {"task": "write"}))
    runtime.on(TASK + "write", CallTool("write_file", {"path": "a.txt", "content": "hello"}), SayText("written"))
    session, turn = await ask(kit, "go", tmp_path)
    assert ("tool", "written") in await answer_of(kit, session.id, turn, answers=["once"])
    assert (tmp_path / "a.txt").read_text() == "hello"


async def test_stopping_the_turn_stops_the_sub_agent(kit, runtime, tmp_path):
    runtime.on("go", CallTool("delegate_task", {"task": "wait"}))
    runtime.on(TASK + "wait", PauseGate("never"))
    session, turn = await ask(kit, "go", tmp_path)
    async with asyncio.timeout(20):
        while len(runtime.seen) < 2:
            await asyncio.sleep(0.01)
    await kit.service.stop(session.id, ME, turn=turn.id)
    await answer_of(kit, session.id, turn)
    (child,) = await kit.store.find(Listing(parent=session.id))
    async with asyncio.timeout(20):
        while await kit.service.running(child.id):
            await asyncio.sleep(0.01)


@pytest.mark.parametrize("settings", [{"tools.delegate_seconds": 1}], indirect=True)
async def test_sub_agent_that_takes_too_long_is_stopped(kit, runtime, tmp_path):
    runtime.on("go", CallTool("delegate_task", {"task": "wait"}))
    runtime.on(TASK + "wait", PauseGate("never"))
    session, turn = await ask(kit, "go", tmp_path)
    told = [text for role, text in await answer_of(kit, session.id, turn) if role == "tool"]
    assert "longer than 1 seconds" in told[0]
