"""Tools inside real turns: the service asks, remembers and stops."""

import asyncio
from contextlib import aclosing, suppress
from pathlib import Path

import pytest

from sojourn.core.events import Done, Progress
from sojourn.core.messages import Message
from sojourn.core.sessions import Principal
from sojourn.ports.service import Caller, TurnRequest
from sojourn.ports.tool import Reply
from sojourn.testing.scripted_runtime import CallTool, SayText, ScriptedRuntime
from tests.integration.tools.tool_workspace import open_kit

ME = Caller(surface="cli", holder="test")


@pytest.fixture
def runtime():
    return ScriptedRuntime()


@pytest.fixture
async def kit(runtime):
    async with open_kit(runtime) as made:
        yield made


async def played(kit, session, text, answers, by=ME):
    """Says something; answers what is asked. Gives the tools' words and the questions."""
    turn = await kit.service.say(session.id, TurnRequest(text=text, runtime="scripted"), by)
    told, asked, replies = [], [], list(answers)
    async with (
        asyncio.timeout(30),
        aclosing(kit.service.watch(session.id, after=turn.after, principal=by.principal)) as log,
    ):
        async for kept in log:
            item = kept.item
            if isinstance(item, Message) and item.role == "tool":
                told.append(item.content)
            elif isinstance(item, Progress) and item.detail.get("status") == "asked":
                asked.append(item.detail)
                await kit.service.answer(session.id, item.detail["question"], Reply(choice=replies.pop(0)), ME)
            elif isinstance(item, Done):
                break
    return told, asked


async def test_allowed_for_the_session_is_not_asked_again_but_more_access_is(kit, runtime, tmp_path):
    runtime.on("a", CallTool("terminal", {"command": "echo one"}), CallTool("terminal", {"command": "echo two"}))
    runtime.on(
        "b",
        CallTool("terminal", {"command": "echo three"}),
        CallTool("terminal", {"command": "rm -rf ../x", "access": "outside"}),
    )
    session = await kit.service.open(ME, cwd=str(tmp_path))
    told, asked = await played(kit, session, "a", ["session"])
    assert told == ["one", "two"]
    assert len(asked) == 1
    told, asked = await played(kit, session, "b", ["deny"])
    assert told[0] == "three"
    assert "did not allow it" in told[1]
    assert [one["scope"] for one in asked] == ["outside"]
    other = await kit.service.open(ME, cwd=str(tmp_path))
    _, asked = await played(kit, other, "a", ["deny", "deny"])
    assert len(asked) == 2


async def test_long_result_and_its_secret_do_not_reach_the_transcript(kit, runtime, tmp_path):
    (tmp_path / "big.txt").write_text("token = ghp_" + "a1B2" * 10 + "\n" + "x\n" * 40_000)
    runtime.on("go", CallTool("terminal", {"command": "cat big.txt"}))
    session = await kit.service.open(ME, cwd=str(tmp_path))
    (told,), _ = await played(kit, session, "go", ["once"])
    assert len(told) <= 30_000
    assert "ghp_" not in told


async def test_stopping_a_turn_ends_its_command(kit, runtime, tmp_path):
    runtime.on("go", CallTool("terminal", {"command": "sleep 300 & wait"}), SayText("never"))
    session = await kit.service.open(ME, cwd=str(tmp_path))
    playing = asyncio.create_task(played(kit, session, "go", ["once"]))
    async with asyncio.timeout(20):
        while not (sleeping := _commands_in(tmp_path)):
            await asyncio.sleep(0.02)
    await kit.service.stop(session.id, ME)
    await playing
    await kit.service.settle()
    assert sleeping
    assert _commands_in(tmp_path) == []


async def test_guest_is_not_even_offered_what_writes_or_runs(kit, runtime):
    ann = Caller(surface="telegram", principal=Principal("guest_ann"), holder="test")
    runtime.on("go", CallTool("write_file", {"path": "a", "content": "x"}))
    session = await kit.service.open(ann)
    await played(kit, session, "go", [], by=ann)
    offered = {one.name: one.effect for one in runtime.seen[0].tools}
    assert "web_fetch" in offered
    assert set(offered.values()) == {"reads"}


async def test_default_workspace_inside_our_home_is_an_ordinary_one(kit, runtime):
    runtime.on(
        "go", CallTool("write_file", {"path": "a.txt", "content": "x"}), CallTool("read_file", {"path": "a.txt"})
    )
    session = await kit.service.open(ME)
    told, asked = await played(kit, session, "go", ["once"])
    assert told[1] == "     1\tx"
    assert [one["dangerous"] for one in asked] == [False]


async def test_our_own_settings_and_tokens_are_asked_about_every_time(kit, runtime):
    kit.make_home()
    (kit.settings.home / "server.json").write_text("{}")
    runtime.on("go", CallTool("read_file", {"path": "../server.json"}))
    session = await kit.service.open(ME)
    _, asked = await played(kit, session, "go", ["deny"])
    assert [one["dangerous"] for one in asked] == [True]


def _commands_in(folder: Path) -> list[str]:
    """The processes whose working folder this is."""
    found = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdigit() and (process / "cwd").readlink() == folder:
                found.append((process / "cmdline").read_text())
    return found
