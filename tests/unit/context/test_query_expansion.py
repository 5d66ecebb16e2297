"""What a request may mean in other words."""

import pytest

from sojourn.context.query_expansion import (
    SYNONYM_WEIGHT,
    TYPO_WEIGHT,
    everyday_synonyms,
    expand_query,
    translate_chinese,
    typo_candidates,
)
from sojourn.text.stemming import stem
from sojourn.text.tokenizer import stem_words


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("branch", "branches"),
        ("query", "queries"),
        ("translate", "translation"),
        ("running", "runs"),
        ("test", "tested"),
        ("scrape", "scraping"),
        ("invoice", "invoices"),
        ("stopped", "stop"),
    ],
)
def test_forms_of_a_word_are_one(one, other):
    assert stem(one) == stem(other)


@pytest.mark.parametrize(("one", "other"), [("class", "clay"), ("port", "post"), ("use", "user"), ("sing", "single")])
def test_other_words_stay_apart(one, other):
    assert stem(one) != stem(other)


def test_small_words_say_nothing():
    assert stem_words("please can you tell me what this is") == []
    assert stem_words("帮我想一想") == []


def test_chinese_is_read_word_by_word_the_longest_first():
    assert translate_chinese("把这封邮件翻译成英文") == "email mail translate translation english"


def test_everyday_words_stand_for_what_it_is_called_and_count_less():
    assert "resume" in everyday_synonyms("here is my cv")
    assert expand_query("here is my cv")[stem("resume")] == SYNONYM_WEIGHT


def test_a_typo_stands_for_the_known_words_one_letter_away():
    known = {stem("kubernetes"), stem("deployment")}
    assert typo_candidates("kubernets", known) == [stem("kubernetes")]
    assert expand_query("my depoyment", known)[stem("deployment")] == TYPO_WEIGHT
    assert typo_candidates("cat", {"car"}) == []
