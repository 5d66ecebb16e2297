"""Questions to the history: every sentence of an answer stands on quotes from the log."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.context.ask import ask_history
from sojourn.core.sessions import SessionId
from sojourn.text.cited_answer import NOT_FOUND, Quote, parse_answer
from tests.unit.context.worlds import GUEST, log_of, told

TALK = ("Why is the cache slow?", "Redis swaps. We drop redis and use sqlite.", "Fine. Thanks.")
QUOTE = Quote(session=SessionId("s"), seq=1, role="user", title="", day="2026-01-01", score=1.0, text="We drop redis.")
QUOTES = (QUOTE, replace(QUOTE, seq=2, text="It ate memory."))


async def ask(kit, question, **asked):
    return await ask_history(kit, question, runtime="", **asked)


async def test_a_question_is_answered_with_quotes_that_are_in_the_log(kit):
    session = await told(kit, *TALK, title="Cache")
    answer = await ask(kit, "why did we drop redis?")
    assert answer.found
    assert answer.text == TALK[1]
    texts = {kept.seq: kept.item.content for kept in await log_of(kit, session)}
    assert all(one.text in texts[one.seq] and one.session == session.id for one in answer.quotes)


async def test_what_was_never_said_is_not_in_the_history(kit):
    await told(kit, *TALK, title="Cache")
    for question in ("what is the colour of the ferry?", "???", "ok"):
        answer = await ask(kit, question)
        assert (answer.found, answer.text, answer.quotes) == (False, NOT_FOUND, ())


async def test_a_guest_gets_no_answer_from_others(kit):
    await told(kit, *TALK, title="Cache")
    assert not (await ask(kit, "why did we drop redis?", principal=GUEST)).found


async def test_a_long_message_is_quoted_by_its_sentence(kit):
    await told(kit, "x", "Filler about nothing. " * 40 + "The ferry is green. " + "More of it. " * 40, title="Ferry")
    answer = await ask(kit, "which colour did the ferry have?")
    assert answer.text == "The ferry is green."


async def test_what_one_person_said_is_not_told_of_another(kit):
    lines = ("Ann: I ran a marathon.", "Ann: My marathon took four hours.", "Bob: Great.", "Ann: The marathon was hot.")
    await told(kit, *lines, title="Sport")
    assert (await ask(kit, "How long did the marathon of Ann take?")).found
    assert not (await ask(kit, "How long did the marathon of Bob take?")).found


async def test_who_asks_about_a_matter_does_not_speak_of_it(kit):
    lines = ("Ann: How long did your marathon in Ghent take?", "Bob: The marathon took four hours.", "Ann: Well done!")
    await told(kit, *lines, title="Sport")
    assert (await ask(kit, "How long did the marathon of Bob in Ghent take?")).found


@pytest.mark.parametrize(
    ("said", "text", "seqs"),
    [
        ("Redis was dropped [1]. It ate memory [2].", "Redis was dropped [1]. It ate memory [2].", [1, 2]),
        ("Redis was dropped.[2] So it is.", "Redis was dropped [1] .", [2]),
        ("I think so. It ate memory [2, 1].", "It ate memory [1, 2].", [2, 1]),
        ('They said "we drop redis now" [1]. It ate "ate memory" [2].', 'It ate "ate memory" [1].', [2]),
    ],
)
def test_sentences_without_their_quotes_are_left_out(said, text, seqs):
    answer = parse_answer(said, QUOTES, "native")
    assert " ".join(answer.text.split()) == text
    assert [one.seq for one in answer.quotes] == seqs


@pytest.mark.parametrize(
    "forged",
    [
        'You said "we keep redis" [1].',
        "You said “we keep redis” [1].",
        "You said ‘we keep redis’ [1].",
        "You said 'we keep redis' [1].",
        "You said 'we don't drop redis' [1].",
        "You said «we keep redis» [1].",
        "Du sagtest „we keep redis“ [1].",
        "你说过「we keep redis」[1]。",
        "You said `we keep redis` [1].",
        'You said "We drop redis. We keep redis" [1].',  # the end of a quotation without its beginning
        'You said "we keep redis [1].',
        'You said "no" [1].',
    ],
)
def test_words_that_nobody_said_cannot_be_shown_as_a_quotation(forged):
    quotes = [replace(QUOTE, text="We drop redis: it ate memory. That's why.")]
    found = parse_answer(f"Redis ate memory [1]. {forged}", quotes, "native")
    assert found is not None
    assert "keep" not in found.text
    assert "no" not in found.text.split()
    assert found.text.startswith("Redis ate memory [1].")


def test_words_that_were_said_may_be_quoted():
    quotes = [replace(QUOTE, text="We drop redis: it ate memory. That's why.")]
    said = "You said \"We drop redis\" [1]. And ‘That's why’ [1]. It's Ann's rule, the boys' too [1]."
    found = parse_answer(said, quotes, "native")
    assert found is not None
    assert found.text == said


@pytest.mark.parametrize("said", ["", "No idea.", "It is so [3].", "It is so [0].", 'He said "something else" [1].'])
def test_an_answer_that_stands_on_nothing_is_none(said):
    assert parse_answer(said, QUOTES, "native") is None


@given(st.text(alphabet='ab.[]12,"” ', max_size=80))
def test_any_wording_can_be_checked(said):
    answer = parse_answer(said, QUOTES, "native")
    assert answer is None or answer.quotes
