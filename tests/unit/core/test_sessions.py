"""Ids, titles and tags."""

import re
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.core.errors import BadInput, BadTitle
from sojourn.core.events import Chunk
from sojourn.core.sessions import (
    MAX_TITLE_CHARS,
    Recorded,
    SessionId,
    check_session_id,
    clean_tag,
    clean_title,
    new_session_id,
    new_turn_id,
)

anything = st.text(st.characters(exclude_categories=()), max_size=120)


def test_a_session_id_begins_with_its_moment():
    now = time.time()
    assert new_session_id(now).startswith(time.strftime("%Y%m%d_%H%M%S_", time.localtime(now)))
    assert re.fullmatch(r"\d{8}_\d{6}_[0-9a-f]{8}", new_session_id())
    assert check_session_id(new_session_id())


def test_ids_differ_even_within_a_second():
    assert len({new_session_id(1.0) for _ in range(200)}) == 200
    assert len({new_turn_id() for _ in range(200)}) == 200
    assert re.fullmatch(r"t_[0-9a-f]{16}", new_turn_id())


@pytest.mark.parametrize("id", ["a", "20260101_000000_deadbeef", "A.b_c:d@e+f=g-h", pytest.param("0" * 255, id="long")])
def test_a_safe_id_is_accepted(id):
    assert check_session_id(id) == id


@pytest.mark.parametrize(
    "id",
    [
        "",
        ".",
        "..",
        ".a",
        "-a",
        "_a",
        "a..b",
        "a/b",
        "a\\b",
        "a b",
        "a\n",
        "a\0",
        "é",
        "\ud800",
        pytest.param("0" * 256, id="too long"),
        "a%2f",
    ],
)
def test_an_id_that_could_lead_elsewhere_is_refused(id):
    with pytest.raises(BadInput) as refused:
        check_session_id(id)
    assert refused.value.hint


@given(anything)
def test_what_is_accepted_as_an_id_is_one_path_segment(text):
    try:
        id = check_session_id(text)
    except BadInput:
        return
    assert id == text
    assert not set(id) & set("/\\\0 \n")
    assert id not in (".", "..")


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


def test_what_is_kept_has_a_public_id():
    assert Recorded(session=SessionId("abc"), seq=7, at=1.0, item=Chunk("x")).public_id == "abc:7"
