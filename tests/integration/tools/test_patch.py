"""patch: by search and replace, and by unified diff."""

import difflib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sojourn.core.errors import BadInput
from sojourn.tools.unified_diff import apply_hunks, parse_diff, replace_text

DIFF = """--- a/a.txt
+++ b/a.txt
@@ -1,3 +1,3 @@
 one
-two
+TWO
 three
"""


def test_text_is_replaced_where_it_is():
    assert replace_text("a b c", "b", "B") == "a B c"


def test_text_that_is_not_there_gets_the_nearest_line():
    with pytest.raises(BadInput, match=r"Nearest is line 2:\n    return x \+ 1"):
        replace_text("def f(x):\n    return x + 1\n", "  return x +  1", "x")


def test_text_that_is_there_twice_names_the_lines():
    with pytest.raises(BadInput, match="2 times, at lines 1, 3"):
        replace_text("x\ny\nx\n", "x", "z")
    assert replace_text("x\ny\nx\n", "x", "z", everywhere=True) == "z\ny\nz\n"


def test_line_ends_of_the_file_win():
    assert replace_text("a\r\nb\r\nc\r\n", "a\nb\n", "A\nB\n") == "A\r\nB\r\nc\r\n"


@pytest.mark.parametrize(("old", "new"), [("", "x"), ("a", "a")])
def test_change_that_changes_nothing_is_refused(old, new):
    with pytest.raises(BadInput):
        replace_text("a", old, new)


def test_diff_is_applied():
    (change,) = parse_diff(DIFF)
    assert (change.source, change.target) == ("a.txt", "a.txt")
    assert apply_hunks("one\ntwo\nthree\n", change.hunks) == "one\nTWO\nthree\n"


def test_diff_fits_although_lines_have_moved():
    (change,) = parse_diff(DIFF)
    assert apply_hunks("zero\nhalf\none\ntwo\nthree\n", change.hunks) == "zero\nhalf\none\nTWO\nthree\n"


def test_diff_fits_a_file_with_other_line_ends():
    (change,) = parse_diff(DIFF)
    assert apply_hunks("one\r\ntwo\r\nthree\r\n", change.hunks) == "one\r\nTWO\r\nthree\r\n"


def test_diff_that_does_not_fit_shows_what_is_there():
    (change,) = parse_diff(DIFF)
    with pytest.raises(BadInput, match=r"Hunk 1 does not fit.*\nuno\ndos"):
        apply_hunks("uno\ndos\ntres\n", change.hunks)


def test_diff_without_hunks_is_refused():
    with pytest.raises(BadInput, match="no change"):
        parse_diff("just words\n")


def test_missing_line_break_at_the_end_is_kept():
    diff = "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n\\ No newline at end of file\n+c\n\\ No newline at end of file\n"
    assert apply_hunks("a\nb", parse_diff(diff)[0].hunks) == "a\nc"


lines = st.lists(st.text(alphabet="ab \t", max_size=4), max_size=12)


@settings(max_examples=200)
@given(lines, lines, st.integers(0, 3))
def test_every_diff_of_two_texts_turns_one_into_the_other(old, new, context):
    before, after = "".join(f"{one}\n" for one in old), "".join(f"{one}\n" for one in new)
    diff = "".join(difflib.unified_diff(before.splitlines(True), after.splitlines(True), "a/x", "b/x", n=context))
    if diff:
        assert apply_hunks(before, parse_diff(diff)[0].hunks) == after


async def test_file_is_patched_and_the_person_sees_the_difference(use, room):
    (room.root / "a.txt").write_text("one\ntwo\nthree\n")
    told = await use("patch", diff=DIFF)
    assert told.ok
    assert (room.root / "a.txt").read_text() == "one\nTWO\nthree\n"
    assert room.asked[0].text == "Change a.txt?"
    assert "-two\n+TWO" in room.asked[0].detail


async def test_several_files_are_changed_made_and_deleted_at_once(use, room):
    (room.root / "a.txt").write_text("one\ntwo\nthree\n")
    (room.root / "old.txt").write_text("bye\n")
    more = "--- /dev/null\n+++ b/sub/new.txt\n@@ -0,0 +1,1 @@\n+hello\n"
    more += "--- a/old.txt\n+++ /dev/null\n@@ -1,1 +0,0 @@\n-bye\n"
    told = await use("patch", diff=DIFF + more)
    assert told.ok, told.text
    assert (room.root / "sub/new.txt").read_text() == "hello\n"
    assert not (room.root / "old.txt").exists()
    assert len(told.facts["paths"]) == 3


async def test_nothing_is_changed_when_one_part_does_not_fit(use, room):
    (room.root / "a.txt").write_text("one\ntwo\nthree\n")
    (room.root / "b.txt").write_text("other\n")
    told = await use("patch", diff=DIFF + DIFF.replace("a.txt", "b.txt"))
    assert not told.ok
    assert (room.root / "a.txt").read_text() == "one\ntwo\nthree\n"


async def test_what_was_written_is_put_back_when_a_later_file_fails(use, room, monkeypatch):
    from sojourn.tools import file_drafts as module

    for name in ("a.txt", "b.txt"):
        (room.root / name).write_text("one\ntwo\nthree\n")
    real = module.write_file_at

    def fails_on_b(place, data):
        if place.path.name == "b.txt" and b"TWO" in data:
            raise OSError(28, "No space left on device")
        return real(place, data)

    monkeypatch.setattr(module, "write_file_at", fails_on_b)
    told = await use("patch", diff=DIFF + DIFF.replace("a.txt", "b.txt"))
    assert not told.ok
    assert "No space left" in told.text
    assert (room.root / "a.txt").read_text() == "one\ntwo\nthree\n"


async def test_file_changed_while_the_person_thinks_is_not_overwritten(use, room):
    from sojourn.ports.tool import Reply

    (room.root / "a.txt").write_text("one\ntwo\nthree\n")

    async def meanwhile(question):
        (room.root / "a.txt").write_text("one\nzwei\nthree\n")
        return Reply(choice="once")

    room.ask = meanwhile
    told = await use("patch", path="a.txt", old="two", new="TWO")
    assert not told.ok
    assert (room.root / "a.txt").read_text() == "one\nzwei\nthree\n"


@pytest.mark.parametrize("path", ["../a.txt", "/etc/hosts"])
async def test_diff_cannot_leave_the_workspace(use, room, path):
    told = await use("patch", diff=DIFF.replace("a/a.txt", path).replace("b/a.txt", path))
    assert not told.ok
    assert "outside the workspace" in told.text


async def test_binary_file_is_not_patched(use, room):
    (room.root / "x.bin").write_bytes(b"a\0b")
    told = await use("patch", path="x.bin", old="a", new="b")
    assert "binary data" in told.text


async def test_old_and_diff_together_are_refused(use):
    assert "either `old` and `new`, or `diff`" in (await use("patch", path="a", old="x", diff="y")).text


async def test_many_patches_at_once_lose_nothing(use, room):
    import asyncio

    (room.root / "n.txt").write_text("".join(f"line {n}\n" for n in range(20)))
    calls = [use("patch", path="n.txt", old=f"line {n}\n", new=f"LINE {n}\n") for n in range(20)]
    told = await asyncio.gather(*calls)
    text = (room.root / "n.txt").read_text()
    assert sum(one.ok for one in told) == text.count("LINE")
    assert all(one.ok or "changed meanwhile" in one.text for one in told)
