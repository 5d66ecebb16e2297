"""How many segments a text message has."""

import pytest

from sojourn.platforms.sms.segments import count_segments, is_gsm7, simplify_characters


@pytest.mark.parametrize(
    ("text", "segments"),
    [
        ("", 1),
        ("a" * 160, 1),
        ("a" * 161, 2),
        ("a" * 306, 2),
        ("a" * 307, 3),
        ("€" * 80, 1),  # two characters each
        ("€" * 81, 2),
        ("é" * 160, 1),
        ("ê" * 70, 1),  # not in GSM-7
        ("ê" * 71, 2),
        ("ê" * 134, 2),
        ("ê" * 135, 3),
        ("a" * 69 + "🌱", 2),  # one emoji, and all of it is UCS-2
        ("🌱" * 35, 1),
        ("🌱" * 335, 10),
    ],
)
def test_segments(text, segments):
    assert count_segments(text) == segments


def test_typography_is_written_plainly_if_that_makes_it_cheaper():
    assert simplify_characters("“It’s done” — 5 → 6…") == '"It\'s done" - 5 -> 6...'
    assert is_gsm7(simplify_characters("a • b `c`"))


@pytest.mark.parametrize("text", ["“Привет”", "🌱 — yes", "日本…"])
def test_a_text_that_needs_other_letters_keeps_its_typography(text):
    assert simplify_characters(text) == text
