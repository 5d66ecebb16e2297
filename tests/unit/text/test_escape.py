"""Text that every database can hold, and gives back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.text.escape import escape, first_words, from_bytes, to_bytes, unescape

anything = st.text(st.characters(exclude_categories=()))
nasty = st.text(st.sampled_from("\x00\x1a\ud800\udcff\udfff0a1fF é日"))


@given(anything | nasty)
def test_every_text_comes_back_from_its_escape(text):
    assert unescape(escape(text)) == text


@given(anything | nasty)
def test_an_escaped_text_fits_into_every_database(text):
    escaped = escape(text)
    assert "\x00" not in escaped
    assert escaped.encode("utf-8").decode("utf-8") == escaped


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00\x1a")))
def test_a_harmless_text_stays_as_it_is(text):
    assert escape(text) == text == unescape(text)


@pytest.mark.parametrize(
    ("text", "escaped"),
    [("a\x00b", "a\x1a0000b"), ("\x1a", "\x1a001a"), ("\ud800", "\x1ad800"), ("\x1a0000", "\x1a001a0000")],
)
def test_the_form_of_the_escape_is_for_ever(text, escaped):
    assert escape(text) == escaped


@given(st.binary())
def test_every_byte_comes_back(raw):
    assert to_bytes(from_bytes(raw)) == raw
    assert to_bytes(unescape(escape(from_bytes(raw)))) == raw


@given(anything)
def test_every_text_has_bytes(text):
    assert isinstance(to_bytes(text), bytes)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"hello", "hello"),
        (b" a\r\nb ", "a  b"),
        (b"seen\0hidden", "seen"),
        ("é".encode()[:1] + b"x", "x"),
        (b"x" * 60, "x" * 60),
        (b"x" * 61, "x" * 60 + "..."),
        (b"", ""),
    ],
)
def test_opening_words_are_a_line_of_sixty_characters(content, words):
    assert first_words(content) == words
