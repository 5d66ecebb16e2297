"""One tokenizer for every store."""

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sojourn.text.query import find_matches, parse_query
from sojourn.text.tokenizer import (
    ANY_PAIR,
    MAX_CHARS,
    MAX_TERM_CHARS,
    MAX_TERMS,
    TOOL_HEAD_CHARS,
    TOOL_TAIL_CHARS,
    clip_indexed_text,
    extract_all_terms,
    extract_derived_terms,
    extract_terms,
    iter_runs,
    iter_runs_with,
    tokenize,
    tool_term,
)

mixed = st.text(st.sampled_from("aAbB1_ -.é√数据ラÉßİſK\u0301ٱ\x00\ud800"), max_size=40)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Hello, World!", {"hello", "world"}),
        ("get_user_name", {"get", "user", "name", "getusername"}),
        ("getUserName", {"get", "user", "name", "getusername"}),
        ("HTTPServer", {"http", "server", "httpserver"}),
        ("Häuser", {"häuser"}),
        ("MÜLLER", {"müller"}),
        ("parseURL2", {"parse", "url2", "parseurl2"}),
        ("v2", {"v2"}),
        ("数据库", {"数据", "据库", "库"}),
        ("数", {"数"}),
        ("用Python写的", {"用", "python", "写的", "的"}),
        ("ラーメン", {"ラー", "ーメ", "メン", "ン"}),
        ("한국어", {"한국", "국어", "어"}),
        ("École Straße", {"école", "straße"}),
        ("__init__", {"init"}),
        ("a_1", {"a", "1", "a1"}),
        ("… -- !", set()),
        ("", set()),
    ],
)
def test_a_text_is_found_under_its_words_parts_and_pairs(text, found):
    assert extract_terms(text) == found


@given(mixed | st.text())
def test_terms_are_short_lower_case_and_hold_nothing_odd(text):
    for term in extract_terms(text):
        assert 0 < len(term) <= MAX_TERM_CHARS
        assert term == term.lower() or len(term.lower()) != len(term)
        assert not any(c.isspace() or c in "\x00_" or "\ud800" <= c <= "\udfff" for c in term)
        assert term.isascii() <= term.isalnum()


identifiers = st.lists(
    st.sampled_from(
        ["users", "user_users", "_x", "getUsers", "HTTPServers2", "a" * 70 + "s", "running", "Ks", "数据", "-"]
    )
).map(" ".join)


@given(mixed | identifiers | st.text())
@example("running runs_running the the")
def test_the_quick_way_to_all_terms_finds_the_same(text):
    for _ in range(2):  # the second time from the cache
        assert extract_all_terms(text) == extract_terms(text) | extract_derived_terms(text)


def test_all_terms_are_limited_as_words_and_pairs_are():
    text = " ".join(f"w{number}" for number in range(3 * MAX_TERMS))
    assert ANY_PAIR in extract_all_terms(text)
    assert extract_all_terms(text) == extract_terms(text) | extract_derived_terms(text)


@given(mixed)
def test_tokens_stand_where_they_say_and_in_order(text):
    found = list(tokenize(text))
    assert all(0 <= token.start < token.end <= len(text) for token in found)
    assert [token.start for token in found] == sorted(token.start for token in found)
    assert {token.term for token in found} <= extract_terms(text)


@given(mixed)
def test_every_word_of_a_text_finds_it(text):
    for token in tokenize(text):
        assert find_matches(parse_query(f'"{text[token.start : token.end]}"'), text)


@given(mixed, st.sampled_from(["a", "ab", "b1", "数", "数据", "é", "k", "s", "ss"]))
def test_looking_only_where_a_term_may_be_misses_nothing(text, term):
    holding = [run for run in iter_runs(text) if any(token.term == term for token in run.tokens)]
    assert [run for run in iter_runs_with(term, text) if run in holding] == holding


@pytest.mark.parametrize(
    "hostile",
    ["a", "A", "aB", "a_", "数", "数a", "_", "1", "a ", "é", "\u0301", "İ", "_A_数_"],
    ids=lambda unit: unit.encode("unicode-escape").decode(),
)
def test_one_endless_run_takes_time_in_proportion(hostile):
    text = (hostile * 10_000)[:10_000]
    begun = time.process_time()
    found = extract_terms(text)
    find_matches(parse_query(f'"{hostile * 5} x"' if found else "x"), text)
    assert time.process_time() - begun < 3


@pytest.mark.parametrize("letter", ["a", "1", "é"])
def test_a_megabyte_of_one_word_takes_a_moment(letter):
    begun = time.process_time()
    assert len(extract_terms(letter * 1_000_000)) == 1
    assert time.process_time() - begun < 3


def test_a_message_has_a_bounded_number_of_terms():
    assert len(extract_terms(" ".join(f"word{n}" for n in range(20_000)))) <= MAX_TERMS + 3
    assert extract_terms("a" * 1000) == {"a" * MAX_TERM_CHARS}


def test_a_long_word_is_found_by_its_beginning_as_far_as_it_is_kept():
    assert find_matches(parse_query("a" * 200), "a" * 100)
    assert not find_matches(parse_query("a" * 63), "a" * 100)


def test_long_tool_output_is_clipped_to_head_and_tail():
    text = "h" * TOOL_HEAD_CHARS + "m" * 50_000 + "t" * TOOL_TAIL_CHARS
    assert clip_indexed_text(text, tool_output=True) == "h" * TOOL_HEAD_CHARS + "\n…\n" + "t" * TOOL_TAIL_CHARS
    assert clip_indexed_text("short", tool_output=True) == "short"
    assert len(clip_indexed_text("x" * 100_000, tool_output=False)) == MAX_CHARS


@given(st.text(st.characters(exclude_categories=()), min_size=1, max_size=80))
@example("\ud800")
@example("\x00\x1a")
@example("İ ſ")
def test_a_tool_is_a_term_of_its_own_that_no_text_has(name):
    term = tool_term(name)
    assert term == tool_term(name.upper().lower()) or name.upper().lower() != name.lower()
    assert term not in extract_terms(name)
    assert not any(c.isspace() for c in term if c.isascii())
    assert '"' not in term
    term.encode("utf-8")


def test_tools_of_different_names_are_different_terms():
    names = ["read-file", "read_file", "readfile", "read.file", "read file", "mcp/read", "mcp:read"]
    assert len({tool_term(name) for name in names}) == len(names)
    assert tool_term("Terminal") == tool_term("terminal")
