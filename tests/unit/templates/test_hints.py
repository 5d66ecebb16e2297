"""The words with which programs fail: found all at once, or one after the other, they are the same ones."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sojourn.templates import hints
from sojourn.templates.hints import AtOnce, Plain

PLAIN, AT_ONCE = Plain(), AtOnce()
TABLES = ("parts", "phrases", "words", "of_phrases", "chinese_parts")
WORDS = sorted({word for table in TABLES for word in hints._WORDS[table]})
BETWEEN = st.sampled_from(
    ["", " ", "\n", "\t", "    ", ".", "(", "_", "'", "*", "\x0b", "\x0c", "\x00", "é", "的", "\ud800"]
)
PIECES = st.one_of(st.sampled_from(WORDS), st.sampled_from(WORDS).map(str.upper), st.text(max_size=4), BETWEEN)


@given(st.lists(st.tuples(PIECES, BETWEEN), max_size=20).map(lambda pairs: "".join(a + b for a, b in pairs)))
@example("is a directory")  # a phrase, and the word without which it is none
@example("in a direct line")  # the same phrase without it
@example("\tat x\n\t\t\t\tat y")
@example("DIED")
@example("ſuch fa\u0131l")
def test_both_find_the_same(text):
    quick, plain = AT_ONCE(text), PLAIN(text)
    assert sorted(quick.hints) == sorted(plain.hints)
    assert sorted(quick.spotted.words) == sorted(plain.spotted.words)


@pytest.mark.parametrize("finder", [PLAIN, AT_ONCE])
@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("all is well", []),
        ("Build FAILED", ["fail"]),
        ("studied, not died", ["died"]),
        ("the studied one", []),
        ("No such file", ["no such"]),
        ("***", ["***"]),
        ("操作失败", ["失败"]),
        ("it is not a file", ["is not", "not a "]),
    ],
)
def test_words_are_whole_parts_are_not(finder, text, found):
    assert sorted(finder(text).hints) == found


def test_a_machine_without_hyperscan_finds_them_too(monkeypatch):
    monkeypatch.setattr(hints, "_ENGINE", None)
    hints.finder.cache_clear()
    try:
        assert hints.finder()("Build FAILED").hints == ["fail"]
    finally:
        hints.finder.cache_clear()
