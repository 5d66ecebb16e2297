"""Permission modes, against an agent that tries to get round them."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from sojourn.core.errors import BadInput, NotAllowed, NotFound
from sojourn.core.events import Done, Failed, Progress
from sojourn.core.messages import Message
from sojourn.core.sessions import Principal
from sojourn.ports.service import Caller, TurnRequest
from sojourn.ports.tool import Reply
from sojourn.testing.scripted_runtime import CallTool, SayText, ScriptedRuntime
from sojourn.tools.delegate import TASK
from tests.integration.tools.tool_workspace import call, open_kit, room_in
from tests.security.test_files_that_run_later import DISGUISED, NAMES

ME, GUEST = Caller(surface="cli"), Caller(surface="telegram", principal=Principal("guest:ann"))
CHANGES = [
    ("write_file", {"path": "a.txt", "content": "x"}),
    ("patch", {"diff": "--- /dev/null\n+++ b/a.txt\n@@ -0,0 +1 @@\n+x\n"}),
    ("terminal", {"command": "touch a.txt"}),
    ("execute_code", {"code": "open('a.txt', 'w')"}),
    ("process", {"action": "list"}),
    ("memory", {"action": "add", "text": "I like roses"}),
]


async def set_mode(kit, session, words, by=ME):
    return await kit.service.run_plugin_command("permissions", words, session, by)


async def play(kit, runtime, session, text, answers=()):
    """Says something and answers the questions; returns what tools told, what was asked, and the end."""
    turn = await kit.service.say(session, TurnRequest(text=text, runtime=runtime.name), ME)
    told, asked, replies, failed = list[str](), list[str](), list(answers), ""
    async with asyncio.timeout(30), aclosing(kit.service.watch(session, after=turn.after)) as log:
        async for kept in log:
            item = kept.item
            if isinstance(item, Message) and item.role == "tool":
                told.append(item.content or "")
            elif isinstance(item, Failed):
                failed = item.message
            elif isinstance(item, Progress) and item.detail.get("status") == "asked":
                asked.append(item.detail["text"])
                await kit.service.answer(session, item.detail["question"], Reply(choice=replies.pop(0)), ME)
            elif isinstance(item, Done):
                break
    return told, asked, failed


@pytest.mark.parametrize(("tool", "given"), CHANGES, ids=[name for name, _ in CHANGES])
async def test_plan_mode_refuses_what_writes_or_runs_though_the_settings_allow_it(tool, given, tmp_path):
    async with open_kit(**{"tools.approval": "always"}) as kit:
        room = await room_in(kit, tmp_path)
        await set_mode(kit, room.session, "plan")
        told = await call(kit, room, tool, **given)
        assert (told.ok, "plan mode" in told.text, room.asked) == (False, True, [])
        assert not (room.root / "a.txt").exists()


async def test_plan_mode_leaves_reading_and_the_agents_own_list(tmp_path):
    async with open_kit() as kit:
        room = await room_in(kit, tmp_path)
        (room.root / "a.txt").write_text("hello")
        await set_mode(kit, room.session, "plan")
        assert "hello" in (await call(kit, room, "read_file", path="a.txt")).text
        assert (await call(kit, room, "todo", items=[{"text": "read"}])).ok


async def test_a_sub_agent_is_held_to_the_plan_of_its_session(tmp_path):
    runtime = ScriptedRuntime()
    write = CallTool("write_file", {"path": "a.txt", "content": "x"})
    runtime.on("go", CallTool("delegate_task", {"task": "write"}), SayText("done"))
    runtime.on(TASK + "write", write, CallTool("terminal", {"command": "touch b.txt"}), SayText("tried"))
    async with open_kit(runtime, **{"tools.approval": "always"}) as kit:
        session = await kit.service.open(ME, runtime="scripted", cwd=str(tmp_path))
        await set_mode(kit, session.id, "plan")
        assert (await play(kit, runtime, session.id, "go"))[0] == ["tried"]
        child = runtime.seen[1].session.id
        refused = [one.item.content for one in await kit.service.messages(child) if one.item.role == "tool"]
        assert len(refused) == 2
        assert all("plan mode" in words for words in refused)
        assert list(tmp_path.iterdir()) == []
        with pytest.raises(NotFound):  # nor can a guest give it a mode of its own
            await set_mode(kit, child, "accept-edits", GUEST)
        assert (await set_mode(kit, child, "accept-edits")).choices == {"permissions": "plan"}


async def test_plan_mode_is_in_force_at_once_and_the_agent_is_told(tmp_path):
    runtime = ScriptedRuntime()
    runtime.on("go", CallTool("write_file", {"path": "a.txt", "content": "x"}), SayText("done"))
    async with open_kit(runtime) as kit:
        session = await kit.service.open(ME, runtime="scripted", cwd=str(tmp_path))
        assert (await play(kit, runtime, session.id, "go", ["session"]))[1] == ["Write a.txt?"]
        await set_mode(kit, session.id, "plan")
        told, asked, _ = await play(kit, runtime, session.id, "go")
        assert ("plan mode" in told[0], asked) == (True, [])
        assert [[block.title for block in one.blocks] for one in runtime.seen] == [[], ["Plan mode"]]


async def test_an_agent_with_tools_of_its_own_does_not_start_in_plan_mode(tmp_path):
    runtime = ScriptedRuntime()
    runtime.brings_tools = True
    runtime.on("go", SayText("I have changed everything"))
    async with open_kit(runtime) as kit:
        session = await kit.service.open(ME, runtime="scripted", cwd=str(tmp_path))
        await set_mode(kit, session.id, "plan")
        _, _, failed = await play(kit, runtime, session.id, "go")
        assert "cannot be held to" in failed
        assert runtime.seen == []


async def test_accepted_edits_still_ask_about_what_runs_later_and_about_commands(tmp_path):
    async with open_kit() as kit:
        room = await room_in(kit, tmp_path)
        room.answers = ["deny"]
        await set_mode(kit, room.session, "accept edits")
        assert (await call(kit, room, "write_file", path="src/a.py", content="x\n")).ok
        assert (await call(kit, room, "patch", path="src/a.py", old="x", new="y")).ok
        assert room.asked == []
        for number, name in enumerate([*NAMES, *DISGUISED, ".env", ".sojourn/commands/review.md"], 1):
            told = await call(kit, room, "write_file", path=name, content="x")
            assert (told.ok, len(room.asked), room.asked[-1].dangerous) == (False, number, True), name
        assert not (await call(kit, room, "terminal", command="touch b.txt")).ok
        assert not (await call(kit, room, "execute_code", code="1")).ok
        assert [one.tool for one in room.asked[-2:]] == ["terminal", "execute_code"]
        assert not (await call(kit, room, "write_file", path="../b.txt", content="x")).ok
        assert [one.name for one in sorted(tmp_path.rglob("*")) if one.is_file()] == ["a.py"]


@pytest.mark.parametrize(("policy", "asked"), [("deny", 0), ("ask, write_file=deny", 0), ("always, write_file=ask", 1)])
async def test_accepted_edits_never_go_beyond_the_settings(policy, asked, tmp_path):
    async with open_kit(**{"tools.approval": policy}) as kit:
        room = await room_in(kit, tmp_path)
        room.answers = ["deny"]
        await set_mode(kit, room.session, "accept-edits")
        assert not (await call(kit, room, "write_file", path="a.txt", content="x")).ok
        assert len(room.asked) == asked


async def test_a_guest_sets_no_mode_and_gets_none(tmp_path):
    async with open_kit(**{"tools.guest_tools": "write_file"}) as kit:
        mine, theirs = await kit.service.open(ME), await kit.service.open(GUEST)
        with pytest.raises(NotFound):
            await set_mode(kit, mine.id, "accept-edits", GUEST)
        for by in (GUEST, ME):
            with pytest.raises(NotAllowed):
                await set_mode(kit, theirs.id, "accept-edits", by)
        room = await room_in(kit, tmp_path)
        await set_mode(kit, room.session, "accept-edits")
        room.principal, room.answers = GUEST.principal, ["deny"]
        assert not (await call(kit, room, "write_file", path="a.txt", content="x")).ok
        assert len(room.asked) == 1


async def test_a_mode_is_named_by_its_beginning_and_a_wrong_name_is_refused():
    async with open_kit() as kit:
        session = (await kit.service.open(ME)).id
        assert (await set_mode(kit, session, "")).choices == {"permissions": "ask"}
        for words in ("accept", "Accept Edits", "accept_edits"):
            assert (await set_mode(kit, session, words)).choices == {"permissions": "accept-edits"}
        for wrong in ("a", "yolo", "plan now", "-"):
            with pytest.raises(BadInput):
                await set_mode(kit, session, wrong)
        assert (await set_mode(kit, session, "")).choices == {"permissions": "accept-edits"}
