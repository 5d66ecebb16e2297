"""`/undo files`: what a turn changed is given back, and nothing that somebody else wrote is lost."""

from __future__ import annotations

from dataclasses import replace

import pytest

from sojourn.core.errors import NotAllowed, NotFound
from sojourn.core.sessions import Principal, new_turn_id
from sojourn.ports.service import Caller
from sojourn.testing.scripted_runtime import CallTool, SayText, ScriptedRuntime
from sojourn.tools.delegate import TASK
from sojourn.tools.file_checkpoints import MAX_TURNS
from tests.integration.tools.tool_workspace import call, open_kit
from tests.security.test_permission_modes import play, set_mode

ME = Caller(surface="cli")


async def undo(kit, session, by=ME):
    return "\n".join((await kit.service.run_plugin_command("undo", "files", session, by)).lines)


def list_kept(kit):
    return sorted((kit.settings.home / "checkpoints").glob("*/*"))


async def test_the_files_of_one_turn_after_the_other_come_back(kit, room):
    script, old = room.root / "run.sh", room.root / "old.txt"
    script.write_text("echo 1\n")
    script.chmod(0o755)
    old.write_text("keep me\n")
    await call(kit, room, "write_file", path="run.sh", content="echo 2\n")
    second = replace(room, turn=new_turn_id())
    await call(kit, second, "write_file", path="new/a.txt", content="x\n")
    await call(kit, second, "patch", path="run.sh", old="2", new="3")
    await call(kit, second, "patch", path="run.sh", old="3", new="4")
    await call(kit, second, "patch", diff="--- a/old.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-keep me\n")
    assert (script.read_text(), old.exists()) == ("echo 4\n", False)
    told = await undo(kit, room.session)
    assert "Gave back 3 files" in told
    assert "new/a.txt (removed: it was new)" in told
    assert "What commands changed is not undone" in told
    assert (script.read_text(), old.read_text(), (room.root / "new/a.txt").exists()) == ("echo 2\n", "keep me\n", False)
    await undo(kit, room.session)
    assert (script.read_text(), script.stat().st_mode & 0o777) == ("echo 1\n", 0o755)
    assert "No file was changed" in await undo(kit, room.session)
    assert list_kept(kit) == []


async def test_what_somebody_else_wrote_since_stays_and_is_named(kit, room):
    for name in ("mine.txt", "theirs.txt", "gone.txt", "mixed.txt"):
        (room.root / name).write_text("before\n")
        await call(kit, room, "write_file", path=name, content="after\n")
    (room.root / "theirs.txt").write_text("by a person\n")
    (room.root / "gone.txt").unlink()
    (room.root / "mixed.txt").write_text("by a person\n")
    await call(kit, room, "write_file", path="mixed.txt", content="last\n")
    told = await undo(kit, room.session)
    assert "Gave back 1 file as before turn" in told
    assert "theirs.txt was changed by somebody else since" in told
    assert "gone.txt was changed by somebody else since" in told
    assert "mixed.txt was changed by somebody else during the turn" in told
    assert [(room.root / name).read_text() for name in ("mine.txt", "theirs.txt", "mixed.txt")] == [
        "before\n",
        "by a person\n",
        "last\n",
    ]
    (left,) = list_kept(kit)
    assert str(left) in told
    assert {one.read_text() for one in left.iterdir() if one.name != "files.json"} == {"before\n"}
    assert "No file was changed" in await undo(kit, room.session)


async def test_a_link_put_in_the_way_is_not_followed(kit, room, tmp_path):
    secret = tmp_path / "secret.txt"
    secret.write_text("after\n")
    (room.root / "a.txt").write_text("before\n")
    await call(kit, room, "write_file", path="a.txt", content="after\n")
    (room.root / "a.txt").unlink()
    (room.root / "a.txt").symlink_to(secret)
    assert "Left as it is: a.txt" in await undo(kit, room.session)
    assert secret.read_text() == "after\n"


async def test_a_refused_change_keeps_nothing(kit, room):
    room.answers = ["deny"]
    assert not (await call(kit, room, "write_file", path="a.txt", content="x")).ok
    assert list_kept(kit) == []


async def test_what_is_kept_is_for_the_owner_alone_and_goes_with_the_session(kit, room):
    (room.root / "a.txt").write_text("before")
    await call(kit, room, "write_file", path="a.txt", content="after")
    for path in (kit.settings.home / "checkpoints").rglob("*"):
        assert path.stat().st_mode & 0o077 == 0, path
    with pytest.raises(NotFound):
        await undo(kit, room.session, Caller(surface="telegram", principal=Principal("guest:ann")))
    theirs = await kit.service.open(Caller(surface="telegram", principal=Principal("guest:ann")))
    with pytest.raises(NotAllowed):
        await undo(kit, theirs.id, Caller(surface="telegram", principal=Principal("guest:ann")))
    await kit.forget(room.session)
    assert list_kept(kit) == []


@pytest.mark.parametrize("settings", [{"tools.checkpoint_mb": 1}, {"tools.checkpoint_mb": 0}], indirect=True)
async def test_only_so_much_is_kept(kit, room, settings):
    (room.root / "a.txt").write_text("")
    for number in range(5):
        room.turn = new_turn_id()
        await call(kit, room, "write_file", path="a.txt", content=f"{number}" * 500_000)
    kept = sum(one.stat().st_size for turn in list_kept(kit) for one in turn.iterdir())
    limit = settings["tools.checkpoint_mb"] << 20
    assert kept <= limit + 500_000 + 5_000
    assert len(list_kept(kit)) == (3 if limit else 0)


async def test_only_so_many_turns_of_a_session_are_kept(kit, room):
    for number in range(MAX_TURNS + 2):
        room.turn = new_turn_id()
        await call(kit, room, "write_file", path="a.txt", content=str(number))
    assert len(list_kept(kit)) == MAX_TURNS


async def test_what_a_sub_agent_changed_belongs_to_the_turn_that_called_it(tmp_path):
    runtime = ScriptedRuntime()
    runtime.on("go", CallTool("delegate_task", {"task": "write"}), SayText("done"))
    runtime.on(TASK + "write", CallTool("write_file", {"path": "a.txt", "content": "after"}), SayText("written"))
    (tmp_path / "a.txt").write_text("before")
    async with open_kit(runtime) as kit:
        session = await kit.service.open(ME, runtime="scripted", cwd=str(tmp_path))
        await set_mode(kit, session.id, "accept-edits")
        _, asked, _ = await play(kit, runtime, session.id, "go")
        assert (asked, (tmp_path / "a.txt").read_text()) == ([], "after")
        assert "Gave back 1 file" in await undo(kit, session.id)
        assert (tmp_path / "a.txt").read_text() == "before"
