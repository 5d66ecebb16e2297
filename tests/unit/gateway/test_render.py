"""How an answer is cut into messages."""

import random

import pytest

from sojourn.gateway.render import answers_text, measure_length, parse_choice, settled_text, split_text

CODE = "Before.\n\n```python\n" + "\n".join(f"line_{n} = {n}" for n in range(60)) + "\n```\n\nAfter."


def fences_are_closed(piece: str) -> bool:
    return sum(line.startswith("```") for line in piece.split("\n")) % 2 == 0


def test_what_fits_is_one_message():
    assert split_text("hello\n", 100) == ["hello"]
    assert split_text("  \n", 100) == []


def test_a_long_text_is_cut_between_words():
    pieces = split_text("word " * 100, 100)
    assert all(len(piece) <= 100 for piece in pieces)
    assert " ".join(pieces).split() == ["word"] * 100


def test_paragraphs_stay_together():
    first, second = "a" * 60 + "\n\n" + "b" * 20, "c" * 60
    assert split_text(f"{first}\n\n{second}", 120)[-1].endswith(second)


def test_code_is_closed_and_opened_again():
    pieces = split_text(CODE, 300)
    assert len(pieces) > 2
    assert all(fences_are_closed(piece) and len(piece) <= 300 for piece in pieces)
    assert all(piece.startswith("```python\n") for piece in pieces[1:-1])
    assert [line for piece in pieces for line in piece.split("\n") if line.startswith("line_")] == [
        f"line_{n} = {n}" for n in range(60)
    ]


@pytest.mark.parametrize("counting", ["characters", "utf16", "bytes"])
def test_no_piece_is_longer_than_the_network_takes(counting):
    chance = random.Random(7)
    for _ in range(200):
        text = "".join(chance.choice(["a", " ", "\n", "🌱", "ü", "```\n", "\n\n", "漢"]) for _ in range(900))
        pieces = split_text(text, 200, counting)
        assert all(measure_length(piece, counting) <= 200 for piece in pieces)
        kept = [c for piece in pieces for c in piece if c in "aü🌱漢"]
        assert kept == [c for c in text if c in "aü🌱漢"]


def test_a_question_names_its_answers_to_the_owner_only():
    assert "once, deny" in answers_text(("once", "deny"), for_owner=True)
    assert "once" not in answers_text(("once", "deny"), for_owner=False)


@pytest.mark.parametrize(
    ("detail", "said"),
    [
        ({"choice": "once", "by": "Ann"}, "→ Allow once (Ann)"),
        ({"choice": "deny", "by": "", "why": "Nobody answered."}, "→ Deny: Nobody answered."),
        ({"choice": "the red one"}, "→ the red one"),
    ],
)
def test_a_question_that_is_over_says_how_it_was_answered(detail, said):
    assert settled_text(detail) == said


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        ("Yes", ("once", None)),
        ("deny", ("deny", None)),
        ("/once", ("once", None)),
        ("always", ("always", None)),
        ("Always terminal.", ("always", "tool")),
        ("always write_file", None),
        ("ok then", None),
        ("once terminal", None),
        ("perhaps", None),
    ],
)
def test_words_that_answer(words, meant):
    assert parse_choice(words, "terminal") == meant
