"""search_files: names and lines, without what nobody means."""

import asyncio
import os
import time

import pytest

from sojourn.tools.search_worker import IgnoreRules, parse_gitignore
from tests.integration.tools.tool_workspace import call, open_kit, room_in


@pytest.fixture
def tree(room):
    for name, text in {
        "src/app.py": "def main():\n    return 'needle'\n",
        "src/deep/er/test_app.py": "needle = 1\n",
        "build/out.py": "needle\n",
        "node_modules/x/index.js": "needle\n",
        "notes.md": "a Needle here\n",
        ".gitignore": "build/\n*.log\n!keep.log\n",
        "a.log": "needle\n",
        "keep.log": "needle\n",
        ".env": "needle\n",
    }.items():
        path = room.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (room.root / "p.bin").write_bytes(b"\0needle\n")
    return room.root


async def test_lines_are_found_with_file_and_number(use, tree):
    told = await use("search_files", pattern="needle")
    assert told.text.splitlines() == [
        "keep.log:1: needle",
        "src/app.py:2: return 'needle'",
        "src/deep/er/test_app.py:1: needle = 1",
    ]
    assert told.facts["found"] == 3
    assert told.facts["complete"] is True


async def test_search_can_be_narrowed_to_some_files(use, tree):
    told = await use("search_files", pattern="(?i)needle", only="*.md")
    assert told.text == "notes.md:1: a Needle here"


async def test_names_are_found_by_glob(use, tree):
    assert (await use("search_files", pattern="*.py", by="name")).text.splitlines() == [
        "src/app.py",
        "src/deep/er/test_app.py",
    ]
    assert (await use("search_files", pattern="src/**/test_*.py", by="name")).text == "src/deep/er/test_app.py"


async def test_limit_is_kept_and_told(use, room):
    (room.root / "many.txt").write_text("x\n" * 1000)
    told = await use("search_files", pattern="x", limit=5)
    assert told.text.count("many.txt") == 5
    assert "there may be more" in told.text
    assert told.facts["complete"] is False


async def test_nothing_found_is_said_plainly(use, tree):
    assert (await use("search_files", pattern="haystack")).text == "Nothing fits 'haystack' in work/."


async def test_wrong_expression_is_explained(use, tree):
    told = await use("search_files", pattern="(")
    assert not told.ok
    assert "not a regular expression" in told.text


async def test_expression_that_never_ends_stops_and_the_others_go_on(use, room):
    (room.root / "a.txt").write_text("a" * 40 + "!\n")
    room.seconds = 0.5
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0.01)

    ticking = asyncio.create_task(tick())
    started = time.monotonic()
    told = await use("search_files", pattern="(?=a)(a+)+$")
    ticking.cancel()
    assert "takes too long" in told.text
    assert time.monotonic() - started < 20
    assert ticks > 20


async def test_ripgrep_is_used_where_it_is(tree, tmp_path, monkeypatch):
    """A stand-in for the program: what it is called with and what it says is what the real one does."""
    program = tmp_path / "bin" / "rg"
    program.parent.mkdir()
    program.write_text('#!/bin/sh\necho "$@" > args\nprintf "./src/app.py:2:    needle\\n./.env:1:needle\\n"\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    async with open_kit() as kit:
        room = await room_in(kit, tree.parent)
        told = await call(kit, room, "search_files", pattern="ne+dle", only="*.py")
    assert told.text == "src/app.py:2: needle"
    assert "--no-config" in (tree / "args").read_text()
    assert "--glob=*.py" in (tree / "args").read_text()


async def test_pattern_ripgrep_does_not_know_is_looked_for_by_ourselves(tree, tmp_path, monkeypatch):
    program = tmp_path / "bin" / "rg"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\necho look-around is not supported >&2\nexit 2\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:{os.environ['PATH']}")
    async with open_kit() as kit:
        told = await call(kit, await room_in(kit, tree.parent), "search_files", pattern="(?=needle)needle = 1")
    assert told.text == "src/deep/er/test_app.py:1: needle = 1"


async def test_searching_outside_asks(use, room):
    room.answers = ["deny"]
    assert not (await use("search_files", pattern="x", path="..")).ok
    assert len(room.asked) == 1


async def test_links_are_not_followed(use, room, tmp_path):
    (tmp_path / "secret.txt").write_text("needle")
    (room.root / "link.txt").symlink_to(tmp_path / "secret.txt")
    (room.root / "loop").symlink_to(room.root)
    assert (await use("search_files", pattern="needle")).facts["found"] == 0


@pytest.mark.parametrize(
    ("line", "path", "hidden"),
    [
        ("*.pyc", "a/b/x.pyc", True),
        ("*.pyc", "x.py", False),
        ("/build", "build", True),
        ("/build", "src/build", False),
        ("docs/*.html", "docs/a.html", True),
        ("docs/*.html", "docs/a/b.html", False),
        ("**/tmp", "a/b/tmp", True),
        ("a/**/z", "a/b/c/z", True),
        ("file?.txt", "file1.txt", True),
        ("file[0-9].txt", "fileX.txt", False),
        ("\\#note", "#note", True),
    ],
)
def test_patterns_mean_what_git_means(line, path, hidden):
    assert IgnoreRules((("", parse_gitignore([line])),)).hides(path, is_folder=False) is hidden


def test_pattern_with_a_slash_at_its_end_is_for_folders():
    rules = IgnoreRules((("", parse_gitignore(["build/"])),))
    assert rules.hides("build", is_folder=True)
    assert not rules.hides("build", is_folder=False)


def test_pattern_of_an_inner_folder_overrides_the_outer_one():
    rules = IgnoreRules((("", parse_gitignore(["*.log"])), ("a", parse_gitignore(["!keep.log", "/x"]))))
    assert rules.hides("a/other.log", is_folder=False)
    assert not rules.hides("a/keep.log", is_folder=False)
    assert rules.hides("a/x", is_folder=False)


@pytest.mark.parametrize("line", ["", "# comment", "/", "   ", "!", "a\\"])
def test_lines_that_say_nothing(line):
    assert not IgnoreRules((("", parse_gitignore([line, "*.o"])),)).hides("a/b", is_folder=False)
