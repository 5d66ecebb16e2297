"""Which characters make a text message cheap."""

import pytest

from sojourn.platforms.sms.segments import is_gsm7, simplify_characters


@pytest.mark.parametrize("text", ["a" * 160, "{€}", "Grüße, señor", "5 £\n"])
def test_what_the_short_alphabet_has(text):
    assert is_gsm7(text)


@pytest.mark.parametrize("text", ["ê", "a" * 69 + "🌱", "“a”", "5 → 6"])
def test_what_it_has_not(text):
    assert not is_gsm7(text)


def test_typography_is_written_plainly_if_that_makes_it_cheaper():
    assert simplify_characters("“It’s done” — 5 → 6…") == '"It\'s done" - 5 -> 6...'
    assert is_gsm7(simplify_characters("a • b `c`"))


@pytest.mark.parametrize("text", ["“Привет”", "🌱 — yes", "日本…"])
def test_a_text_that_needs_other_letters_keeps_its_typography(text):
    assert simplify_characters(text) == text
