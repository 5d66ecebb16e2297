"""What a request may mean in other words."""

import pytest

from sojourn.context.query_expansion import NEARLY, SAID, asked, in_english, meant, near
from sojourn.context.stemming import stem, words


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
    assert words("please can you tell me what this is") == []
    assert words("帮我想一想") == []


def test_chinese_is_read_word_by_word_the_longest_first():
    assert in_english("把这封邮件翻译成英文") == "email mail translate translation english"


def test_everyday_words_stand_for_what_it_is_called_and_count_less():
    assert "resume" in meant("here is my cv")
    assert asked("here is my cv")[stem("resume")] == SAID


def test_a_typo_stands_for_the_known_words_one_letter_away():
    known = {stem("kubernetes"), stem("deployment")}
    assert near("kubernets", known) == [stem("kubernetes")]
    assert asked("my depoyment", known)[stem("deployment")] == NEARLY
    assert near("cat", {"car"}) == []
