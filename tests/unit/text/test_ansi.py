"""Text that may be shown anywhere."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.text.ansi import ControlStripper, strip_control


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("plain, 日本語, é", "plain, 日本語, é"),
        ("a\x1b[1;31mred\x1b[0m b", "ared b"),
        ("\x1b]0;a new title\x07x", "x"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x9b2Jz\x9d0;t\x9cy", "zy"),
        ("\x1bPq#0;2\x1b\\after", "after"),
        ("\x1bc\x1b(Bk\x07\x00\x08", "k"),
        ("a\r\nb\tc", "a\nb\tc"),
        ("never\x1b]ended\nmore", "neverended\nmore"),
        ("\x1b", ""),
    ],
)
def test_sequences_and_control_characters_go_the_words_stay(raw, shown):
    assert strip_control(raw) == shown


def test_what_goes_on_too_long_is_no_sequence():
    assert strip_control("\x1b]" + "x" * 5000 + " y").endswith(" y")


pieces = st.lists(st.text(st.sampled_from("ab \n\x1b[]0;m\x07\\\x9b\x9dP(BJ")), max_size=8)


@given(pieces)
def test_it_does_not_matter_where_text_is_cut(parts):
    made = ControlStripper()
    assert "".join([*(made.feed(part) for part in parts), made.end()]) == strip_control("".join(parts))


@given(st.text())
def test_nothing_that_moves_a_cursor_is_left(raw):
    assert not [char for char in strip_control(raw) if char not in "\n\t" and (char < " " or "\x7f" <= char <= "\x9f")]
