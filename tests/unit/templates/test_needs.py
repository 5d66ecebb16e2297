"""What a pattern cannot do without: read off it, and true of everything that it finds."""

import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sojourn.templates.needs import needed
from sojourn.templates.phrases import Sought, Spotted, chapter

TABLES = [
    ("signs", ("english", "chinese", "anywhere", "count", "fine", "minor", "by_name")),
    ("endings", ("gave_up", "nothing_moved", "part", "good")),
    ("programs", ("expected",)),
]
LINES = [line for name, tables in TABLES for table in tables for line in chapter(name)[table]]


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("Traceback", [{"traceback"}]),
        ("(?i:giving|gave) up", [{" up"}, {"iving", "ave"}, {"g"}]),
        ("[1-3] errors?", [{" error"}, {"1", "2", "3"}]),
        ("(?:not )?found", [{"found"}]),
        ("a+|b", [{"a", "b"}]),
        ("(?:x|\\d) y", [{" y"}]),
        ("\\w+(?=end)", []),
        ("[^a]b?", []),
        ("失败[。！]", [{"失败"}, {"。", "！"}]),
    ],
)
def test_the_words_a_pattern_needs_the_most_telling_first(pattern, words):
    assert [set(one) for one in needed(pattern)] == words


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_whatever_our_patterns_find_has_a_word_of_each_kind_they_need(data):
    pattern = data.draw(st.sampled_from(LINES))
    found = data.draw(st.from_regex(re.compile(pattern))).lower()
    assert all(any(word in found for word in words) for words in needed(pattern))


@settings(max_examples=60, suppress_health_check=list(HealthCheck))
@given(st.data())
def test_what_is_sought_is_found_as_by_one_pattern(data):
    lines = data.draw(st.lists(st.sampled_from(LINES), min_size=1, max_size=5))
    texts = st.one_of(st.text(max_size=5), *(st.from_regex(re.compile(line)) for line in lines))
    text = "".join(data.draw(st.lists(texts, max_size=3)))
    sought, whole = Sought(*lines), re.compile("|".join(lines))
    all_words = frozenset(word for line in lines[1:] for words in needed(line)[:1] for word in words)
    near = Spotted([word for word in all_words if word in text.lower()], all_words)
    for find in ("search", "match"):
        expected = getattr(whole, find)(text)
        for found in (getattr(sought, find)(text), getattr(sought, find)(text, near)):
            assert (found and found.span()) == (expected and expected.span())
