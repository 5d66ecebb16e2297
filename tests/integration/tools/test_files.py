"""read_file and write_file, also when somebody plays tricks with paths."""

import asyncio
import os
import stat

import pytest


async def test_file_is_read_with_line_numbers(use, room):
    (room.root / "a.txt").write_text("one\ntwo\n")
    told = await use("read_file", path="a.txt")
    assert told.ok
    assert told.text == "     1\tone\n     2\ttwo"
    assert told.facts["bytes"] == 8
    assert told.facts["duration"] >= 0


async def test_big_file_is_shown_in_windows(use, room):
    (room.root / "big.txt").write_text("".join(f"line {n}\n" for n in range(1, 100_001)))
    first = await use("read_file", path="big.txt", limit=3)
    assert first.text.endswith("[lines 1 to 3 of 100000. Go on with offset=4.]")
    middle = await use("read_file", path="big.txt", offset=50_000, limit=2)
    assert "line 50000\n" in middle.text
    assert "line 50001\n" in middle.text
    last = await use("read_file", path="big.txt", offset=-2)
    assert "line 100000" in last.text
    assert "line 99998" not in last.text


async def test_window_never_exceeds_what_a_result_may_have(use, room):
    room.most = 2000
    (room.root / "wide.txt").write_text(("x" * 1500 + "\n") * 50)
    told = await use("read_file", path="wide.txt")
    assert len(told.text) <= 2000
    assert "Go on with offset=2" in told.text


async def test_endless_line_is_cut(use, room):
    (room.root / "min.js").write_text("y" * 5_000_000 + "\nend\n")
    told = await use("read_file", path="min.js")
    assert len(told.text) < 3000
    assert told.text.endswith("(the line goes on)\n     2\tend")


async def test_binary_file_is_refused_with_a_word(use, room):
    (room.root / "p.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    told = await use("read_file", path="p.png")
    assert not told.ok
    assert "PNG picture" in told.text


async def test_utf16_and_broken_bytes_are_readable(use, room):
    (room.root / "u.txt").write_text("grüß", encoding="utf-16")
    (room.root / "l.txt").write_bytes("grüß\n".encode("latin-1"))
    assert "grüß" in (await use("read_file", path="u.txt")).text
    assert "gr�" in (await use("read_file", path="l.txt")).text


async def test_folder_is_listed(use, room):
    (room.root / "sub").mkdir()
    (room.root / "a.txt").write_text("abc")
    told = await use("read_file", path=".")
    assert told.text == "sub/\na.txt  3"


async def test_missing_file_gets_a_suggestion(use, room):
    (room.root / "readme.md").write_text("x")
    told = await use("read_file", path="reedme.md")
    assert not told.ok
    assert "Did you mean readme.md?" in told.text


async def test_empty_file_is_said_to_be_empty(use, room):
    (room.root / "e").write_text("")
    assert (await use("read_file", path="e")).text == "e is empty."


async def test_pipe_is_refused_and_does_not_hang(use, room):
    os.mkfifo(room.root / "pipe")
    told = await use("read_file", path="pipe")
    assert not told.ok
    assert "no ordinary file" in told.text


async def test_reading_outside_asks(use, room, tmp_path):
    (tmp_path / "other.txt").write_text("far")
    told = await use("read_file", path="../other.txt")
    assert "far" in told.text
    assert room.asked[0].detail == str(tmp_path / "other.txt")


async def test_reading_outside_is_refused_when_the_person_says_no(use, room, tmp_path):
    (tmp_path / "other.txt").write_text("far")
    room.answers = ["deny"]
    told = await use("read_file", path=str(tmp_path / "other.txt"))
    assert not told.ok
    assert "far" not in told.text


async def test_reading_through_a_link_that_leads_outside_asks(use, room, tmp_path):
    (tmp_path / "secret.txt").write_text("far")
    (room.root / "link").symlink_to(tmp_path / "secret.txt")
    await use("read_file", path="link")
    assert len(room.asked) == 1


async def test_keys_are_asked_about_even_when_everything_is_allowed(use, room, settings):
    (room.root / ".env").write_text("A=1")
    room.answers = ["session", "deny"]
    await use("read_file", path="../")
    assert not (await use("read_file", path=".env")).ok
    assert room.asked[-1].dangerous
    assert room.asked[-1].choices == ("once", "deny")


async def test_link_swapped_while_the_person_thinks_is_not_followed(use, room, tmp_path):
    (tmp_path / "harmless.txt").write_text("fine")
    (tmp_path / "secret.txt").write_text("SECRET")
    link = room.root / "link"
    link.symlink_to(tmp_path / "harmless.txt")

    async def swap(question):
        link.unlink()
        link.symlink_to(tmp_path / "secret.txt")
        from sojourn.ports.tool import Reply

        return Reply(choice="once")

    room.ask = swap
    told = await use("read_file", path="link")
    assert not told.ok
    assert "SECRET" not in told.text


async def test_file_is_written_with_its_folders(use, room):
    told = await use("write_file", path="a/b/c.txt", content="hello\n")
    assert (room.root / "a/b/c.txt").read_text() == "hello\n"
    assert told.facts["bytes"] == 6
    assert told.facts["new"] is True
    assert room.asked[0].text == "Write a/b/c.txt?"
    assert "+hello" in room.asked[0].detail


async def test_rights_of_a_replaced_file_stay(use, room):
    script = room.root / "run.sh"
    script.write_text("old")
    script.chmod(0o750)
    await use("write_file", path="run.sh", content="new")
    assert stat.S_IMODE(script.stat().st_mode) == 0o750


@pytest.mark.parametrize("path", ["../x.txt", "/tmp/x-sojourn.txt", "a/../../x.txt", "~/x.txt", "./../work2/x.txt"])
async def test_nothing_is_written_outside(use, room, path):
    told = await use("write_file", path=path, content="x")
    assert not told.ok
    assert "outside the workspace" in told.text
    assert room.asked == []


async def test_nothing_is_written_through_a_link(use, room, tmp_path):
    (tmp_path / "out").mkdir()
    (room.root / "in").symlink_to(tmp_path / "out")
    told = await use("write_file", path="in/x.txt", content="x")
    assert not told.ok
    assert list((tmp_path / "out").iterdir()) == []


async def test_folder_swapped_for_a_link_after_the_check_is_not_followed(room, kit, tmp_path):
    from sojourn.core.errors import NotAllowed
    from sojourn.tools.path_policy import locate
    from sojourn.tools.safe_open import write_file_at

    (room.root / "sub").mkdir()
    (tmp_path / "out").mkdir()
    place = locate(room, "sub/x.txt", kit.settings)
    (room.root / "sub").rmdir()
    (room.root / "sub").symlink_to(tmp_path / "out")
    with pytest.raises(NotAllowed):
        write_file_at(place, b"x")
    assert list((tmp_path / "out").iterdir()) == []


async def test_hard_link_to_a_file_outside_is_cut_not_written_through(use, room, tmp_path):
    (tmp_path / "outside.txt").write_text("old")
    os.link(tmp_path / "outside.txt", room.root / "inside.txt")
    await use("write_file", path="inside.txt", content="new")
    assert (tmp_path / "outside.txt").read_text() == "old"
    assert (room.root / "inside.txt").read_text() == "new"


@pytest.mark.parametrize("name", ["x" * 300, "a/" + "ü" * 200, "/".join(["d" * 200] * 30)])
async def test_name_that_is_too_long_is_said_to_be(use, name):
    told = await use("write_file", path=name, content="x")
    assert not told.ok
    assert "too long" in told.text


async def test_nul_in_an_argument_is_refused(use):
    told = await use("write_file", path="a\0b", content="x")
    assert not told.ok
    assert "NUL" in told.text


async def test_folder_is_not_overwritten_by_a_file(use, room):
    (room.root / "d").mkdir()
    told = await use("write_file", path="d", content="x")
    assert not told.ok
    assert (room.root / "d").is_dir()


async def test_failed_write_leaves_no_draft(use, room):
    (room.root / "ro").mkdir()
    (room.root / "ro" / "f").mkdir()
    await use("write_file", path="ro/f", content="x")
    assert [one.name for one in (room.root / "ro").iterdir()] == ["f"]


async def test_reader_sees_the_old_or_the_new_text_never_a_part(use, room):
    room.answers = ["session"]
    texts = ["a" * 200_000, "b" * 200_000]
    (room.root / "f").write_text(texts[0])
    seen = set()

    async def write():
        for n in range(20):
            await use("write_file", path="f", content=texts[n % 2])

    async def read():
        for _ in range(200):
            seen.add((room.root / "f").read_text())
            await asyncio.sleep(0)

    await asyncio.gather(write(), read())
    assert seen <= set(texts)


async def test_blacked_out_secret_does_not_come_back_as_content(use, room):
    (room.root / "conf.py").write_text('password = "hunter2hunter2"\nport = 1\n')
    shown = (await use("read_file", path="conf.py")).text
    assert "hunter2" not in shown
    told = await use("write_file", path="conf.py", content='password = "[redacted:password]"\nport = 2\n')
    assert not told.ok
    assert "hunter2" in (room.root / "conf.py").read_text()
    patched = await use("patch", path="conf.py", old="port = 1", new="port = 2")
    assert patched.ok
    assert "hunter2" in (room.root / "conf.py").read_text()


async def test_what_runs_later_is_always_asked_about(use, room):
    room.answers = ["session", "deny"]
    await use("write_file", path="a.txt", content="x")
    told = await use("write_file", path=".git/hooks/pre-commit", content="x")
    assert not told.ok
    assert room.asked[-1].dangerous
