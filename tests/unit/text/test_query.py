"""Whether a text answers a query: judged once, for every store."""

import time
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from sojourn.core.errors import BadInput
from sojourn.text.query import (
    MAX_PHRASE_TERMS,
    Clause,
    build_snippet,
    find_matches,
    matches_terms,
    matches_text,
    parse_query,
)
from sojourn.text.tokenizer import extract_terms, iter_runs, tokenize
from sojourn.text.writing_systems import is_unspaced

small = st.text(st.sampled_from("aAb_1 -一二"), max_size=12)
unspaced = st.text(st.sampled_from("一二"), min_size=1, max_size=5)


def is_lone(term):
    return len(term) == 1 and is_unspaced(term)


def brute_force(quoted: str, text: str) -> bool:
    """The meaning of a phrase, spelled out: its terms in a row, pairs sharing characters where they do in the query."""
    asked, stream = list(tokenize(quoted)), list(tokenize(text))
    prefix = is_lone(asked[-1].term)
    if len(asked) == 1:
        return any(term == asked[0].term or (prefix and term.startswith(asked[0].term)) for term in extract_terms(text))
    for at in range(len(stream) - len(asked) + 1):
        row = stream[at : at + len(asked)]
        same = [a.term == b.term for a, b in zip(asked, row, strict=True)]
        same[0] |= is_lone(asked[0].term) and row[0].term.endswith(asked[0].term)
        same[-1] |= prefix and row[-1].term.startswith(asked[-1].term)
        glued = [
            (b.start < a.end) == (d.start < c.end)
            for (a, b), (c, d) in zip(pairwise(asked), pairwise(row), strict=True)
        ]
        if all(same) and all(glued):
            return True
    return False


@settings(max_examples=200)
@given(small, small)
@example("一二一", "一二 二一")
@example("一二 二一", "一二一")
@example("二a", "一二a")
@example("a一", "a一二")
@example("二 a", "二一a")
@example("a_b 一", "A b-一二")
def test_a_phrase_means_what_the_slow_way_says(query, text):
    if list(tokenize(query)):
        assert find_matches(parse_query(f'"{query}"'), text) == brute_force(query, text)


@given(unspaced, st.text(st.sampled_from("一二三 a"), max_size=15))
@example("一二一", "一二 二一")
@example("二一", "一二 一")
def test_characters_in_a_row_are_found_wherever_they_are(query, text):
    assert find_matches(parse_query(query), text) == (query in text)


ASKED = st.lists(st.sampled_from(["red", "house", "hill"]), min_size=1, max_size=3)
WRITTEN = st.lists(st.sampled_from(["red", "House", "hi", "hill"]), max_size=6)


@given(ASKED, WRITTEN)
def test_words_are_found_in_any_order(query, words):
    found = {word.lower() for word in words}
    assert find_matches(parse_query(" ".join(query)), ", ".join(words)) == (set(query) <= found)


PARTS = st.lists(st.sampled_from(["get", "user", "name", "url", "x2"]), min_size=2, max_size=4)
SPELLINGS = [
    "_".join,
    lambda parts: parts[0] + "".join(part.title() for part in parts[1:]),
    lambda parts: "".join(part.title() for part in parts),
    lambda parts: "_".join(parts).upper(),
]


@given(PARTS, st.sampled_from(SPELLINGS), st.sampled_from(SPELLINGS))
def test_an_identifier_is_found_however_it_is_spelled(parts, asked, written):
    text = f"see {written(parts)}() here"
    assert find_matches(parse_query(asked(parts)), text)
    assert find_matches(parse_query("".join(parts)), text)
    assert all(find_matches(parse_query(part), text) for part in parts)
    assert all(find_matches(parse_query(asked(list(pair))), text) for pair in pairwise(parts))


@given(st.sampled_from(["garden", "getUserName", "数据库", "a1"]), st.integers(1, 12))
def test_a_beginning_finds_what_begins_so(word, length):
    assert find_matches(parse_query(word[:length] + "*"), f"x {word} y")


@pytest.mark.parametrize("query", ["", " ", "!?", '""', "*", "-", '"…"', "_", "\x00", "\ud800"])
def test_a_query_without_a_word_is_refused_with_a_hint(query):
    with pytest.raises(BadInput, match="no word") as refused:
        parse_query(query)
    assert refused.value.hint


@pytest.mark.parametrize(
    ("query", "clauses"),
    [
        ("red", [Clause(("red",))]),
        ("red red", [Clause(("red",))]),
        ('"red house"', [Clause(("red", "house"), shared=(False,))]),
        ('"red house', [Clause(("red", "house"), shared=(False,))]),
        ("get_user", [Clause(("get", "user"), "getuser", shared=(False,))]),
        ('"get_user"', [Clause(("get", "user"), shared=(False,))]),
        ("conf*", [Clause(("conf",), prefix=True)]),
        ("数", [Clause(("数",), prefix=True)]),
        ("数据库", [Clause(("数据", "据库"), shared=(True,))]),
        ("red !! house", [Clause(("red",)), Clause(("house",))]),
    ],
)
def test_a_query_is_taken_apart(query, clauses):
    assert list(parse_query(query)) == clauses


def test_a_query_of_any_length_is_bounded():
    assert len(parse_query("a b " * 100_000)) == 2
    assert len(parse_query('"' + "a b " * 1000 + '"')[0].phrase) == MAX_PHRASE_TERMS


def test_a_very_long_phrase_is_judged_by_its_beginning():
    text = " ".join(f"w{n}" for n in range(200))
    assert find_matches(parse_query(f'"{text}"'), text)
    assert not find_matches(parse_query(f'"{text}"'), text.replace("w40", "other"))


@given(small, small)
def test_what_answers_has_the_terms(query, text):
    if list(tokenize(query)):
        clauses = parse_query(query)
        assert find_matches(clauses, text) == (
            matches_terms(clauses, extract_terms(text)) and matches_text(clauses, text)
        )


@given(small, small, small)
def test_a_snippet_marks_what_answers_and_nothing_overlaps(query, before, after):
    if not list(tokenize(query)):
        return
    clauses, text = parse_query(query), f"{before} {query} {after}"
    shown = build_snippet(clauses, text)
    assert shown.text == text
    assert shown.marks
    assert all(0 <= a < b <= len(text) for a, b in shown.marks)
    assert all(a[1] <= b[0] for a, b in pairwise(shown.marks))


@pytest.mark.parametrize("word", ["needle", "错误信息", "getNeedle"])
def test_a_snippet_of_a_long_text_is_short_and_on_one_line(word):
    shown = build_snippet(parse_query(word), "hay\n" * 5000 + word + "\t\x00hay" * 5000)
    assert len(shown.text) <= 162
    assert [shown.text[a:b] for a, b in shown.marks] == [word]
    assert not any(c in shown.text for c in "\n\t\x00")


def test_a_snippet_of_no_clause_is_the_beginning():
    assert build_snippet((), "some words").text == "some words"


@pytest.mark.parametrize(
    "query",
    ['"' + "a " * 500 + 'b"', "一" * 60 + "二", "a* b* 一", '"a b" "b a" "一 a"'],
    ids=["words", "characters", "beginnings", "phrases"],
)
@pytest.mark.parametrize("unit", ["a ", "a", "一", "a_", "aB", "一a", "a 一 "])
def test_a_hostile_text_is_judged_in_a_moment(query, unit):
    text, clauses = (unit * 4_000)[:4_000], parse_query(query)
    begun = time.process_time()
    find_matches(clauses, text)
    build_snippet(clauses, text)
    assert time.process_time() - begun < 3


def test_runs_cover_a_text_once():
    text = "see get_user 数据库, ok"
    assert [text[run.start : run.end] for run in iter_runs(text)] == ["see", "get_user", "数据库", "ok"]
