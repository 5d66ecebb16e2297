"""Attacks on `write_file` and `patch`: a path that leads somewhere else between the question and the write."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sojourn.ports.tool import Question, Reply
from tests.integration.tools.tool_workspace import Room, call, open_kit, room_in

ROUNDS = 400  # calls while another process swaps

# Exchanges a folder with links to a folder outside and to one that runs later, and its file with a link, for ever.
SWAPPER = """
import ctypes, os, sys
work, outside = sys.argv[1:]
os.chdir(work)
libc = ctypes.CDLL(None)
exchange = lambda a, b: libc.renameat2(-100, a.encode(), -100, b.encode(), 2)
os.symlink(outside, "out")
os.symlink(".git/hooks", "run")
os.symlink(outside + "/victim.txt", "file")
print("ready", flush=True)
while True:
    for door in ("out", "run"):
        exchange("sub", door)
        exchange("sub", door)
        exchange("sub/victim.txt", "file")
        exchange("sub/victim.txt", "file")
"""


@pytest.fixture
async def kit(request):
    async with open_kit(**{"tools.approval": getattr(request, "param", "ask")}) as made:
        yield made


@pytest.fixture
async def room(tmp_path: Path, kit) -> Room:
    made = await room_in(kit, tmp_path)
    for folder in ("docs", ".git/hooks", "sub"):
        (made.root / folder).mkdir(parents=True)
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "victim.txt").write_text("mine\n")
    return made


def swap_while_asked(room: Room, swap: Callable[[], None]) -> None:
    """The attacker acts while the person thinks."""

    async def ask(question: Question) -> Reply:
        swap()
        return Reply(choice="once")

    room.ask = ask  # type: ignore[method-assign]


@pytest.mark.parametrize("tool", ["write_file", "patch"])
async def test_link_that_leads_to_what_runs_later_after_the_question_is_refused(tool, kit, room):
    """Both places are inside the workspace, but only one was asked about."""
    (room.root / ".git/hooks/pre-commit").write_text("one\n")
    (room.root / "docs/pre-commit").write_text("one\n")
    link = room.root / "notes"
    link.symlink_to("docs")

    def swap() -> None:
        link.unlink()
        link.symlink_to(".git/hooks")

    swap_while_asked(room, swap)
    given = {"content": "evil\n"} if tool == "write_file" else {"old": "one", "new": "evil"}
    told = await call(kit, room, tool, path="notes/pre-commit", **given)
    assert (room.root / ".git/hooks/pre-commit").read_text() == "one\n", told.text
    assert not told.ok
    assert "meanwhile" in told.text


@pytest.mark.parametrize("tool", ["write_file", "patch"])
async def test_workspace_swapped_for_a_link_after_the_question_is_refused(tool, kit, room, tmp_path):
    (room.root / "victim.txt").write_text("mine\n")

    def swap() -> None:
        room.root.rename(tmp_path / "moved")
        room.root.symlink_to(tmp_path / "outside")

    swap_while_asked(room, swap)
    given = {"content": "evil\n"} if tool == "write_file" else {"old": "mine", "new": "evil"}
    told = await call(kit, room, tool, path="victim.txt", **given)
    assert (tmp_path / "outside" / "victim.txt").read_text() == "mine\n", told.text
    assert not told.ok


@pytest.mark.parametrize("tool", ["write_file", "patch"])
async def test_file_changed_after_the_question_is_not_overwritten(tool, kit, room):
    """The difference that was shown is the difference that is made."""
    file = room.root / "docs" / "plan.txt"
    file.write_text("one\ntwo\n")
    swap_while_asked(room, lambda: file.write_text("one\nthree\n") and None)
    given = {"content": "four\n"} if tool == "write_file" else {"old": "one", "new": "four"}
    told = await call(kit, room, tool, path="docs/plan.txt", **given)
    assert file.read_text() == "one\nthree\n", told.text
    assert not told.ok


@pytest.mark.parametrize("kit", ["always"], indirect=True)
@pytest.mark.parametrize("tool", ["write_file", "patch"])
async def test_nothing_outside_changes_while_another_process_swaps_links(tool, kit, room, tmp_path):
    outside, hooks = tmp_path / "outside", room.root / ".git/hooks"
    argv = [sys.executable, "-I", "-S", "-c", SWAPPER, str(room.root), str(outside)]
    swapper = subprocess.Popen(argv, stdout=subprocess.PIPE)
    assert swapper.stdout is not None
    swapper.stdout.readline()
    written = 0
    try:
        for number in range(ROUNDS):
            given = {"content": f"{number}\n"} if tool == "write_file" else {"diff": _new_file(f"new-{number}.txt")}
            path = {"path": "sub/victim.txt"} if tool == "write_file" else {}
            written += (await call(kit, room, tool, **path, **given)).ok
        assert swapper.poll() is None, "the attacker gave up"
    finally:
        swapper.kill()
        swapper.wait()
        swapper.stdout.close()
    assert [one.name for one in outside.iterdir()] == ["victim.txt"]
    assert (outside / "victim.txt").read_text() == "mine\n"
    assert written, "every call was refused; nothing was tried"
    asked = "".join(one.detail for one in room.asked)
    assert all(f"hooks/{one.name}" in asked for one in hooks.iterdir())  # what runs later was asked about as such


async def test_draft_swapped_for_a_link_is_noticed(kit, room, tmp_path, monkeypatch):
    """The new content lies in the folder for a moment under a name of its own."""
    fsync = os.fsync

    def swap(file: int) -> None:
        fsync(file)
        draft = next(one for one in (room.root / "docs").iterdir() if one.name.startswith(".sojourn-"))
        draft.unlink()
        draft.symlink_to(tmp_path / "outside" / "victim.txt")

    monkeypatch.setattr(os, "fsync", swap)
    told = await call(kit, room, "write_file", path="docs/plan.txt", content="x")
    assert not told.ok
    assert (tmp_path / "outside" / "victim.txt").read_text() == "mine\n"


def _new_file(name: str) -> str:
    return f"--- /dev/null\n+++ b/sub/{name}\n@@ -0,0 +1 @@\n+x\n"
