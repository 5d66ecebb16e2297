"""Titles and tags of sessions."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.core.errors import BadInput, BadTitle
from sojourn.text.titles import MAX_TITLE_CHARS, clean_tag, clean_title

anything = st.text(st.characters(exclude_categories=()), max_size=120)


@given(anything)
def test_a_clean_title_is_one_visible_line_and_stays_clean(text):
    try:
        title = clean_title(text)
    except BadTitle:
        return
    if title is None:
        return
    assert clean_title(title) == title
    assert 0 < len(title) <= MAX_TITLE_CHARS
    assert title == " ".join(title.split())
    assert not any(unicodedata.category(c) in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") for c in title)


@pytest.mark.parametrize(
    ("raw", "title"),
    [
        ("  a \n b\t", "a b"),
        ("\u202eevil\u2066", "evil"),
        ("\x1b[31mred", "[31mred"),
        ("\u200b", None),
        ("", None),
        ("é👋", "é👋"),
    ],
)
def test_titles_are_cleaned(raw, title):
    assert clean_title(raw) == title


def test_a_title_may_be_a_hundred_characters_long():
    assert clean_title("x" * MAX_TITLE_CHARS + " \n") == "x" * MAX_TITLE_CHARS
    with pytest.raises(BadTitle, match="101"):
        clean_title("x" * 101)


@given(anything)
def test_a_clean_tag_stays_clean(text):
    try:
        tag = clean_tag(text)
    except BadInput:
        return
    assert clean_tag(tag) == tag
    assert tag
    assert not set(tag) & set(", \n\t\0")


@pytest.mark.parametrize(("raw", "tag"), [("Work", "work"), (" a-b ", "a-b"), ("日本", "日本"), ("#1", "#1")])
def test_tags_are_lower_case_words(raw, tag):
    assert clean_tag(raw) == tag
