"""Recalled memory: what past sessions of the same person said."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sojourn.context.memory_need import ASKED_SCORE, NAMED_SCORE, OTHER_SCORE, PAST_SCORE, find_lowest_score
from sojourn.context.recall import Recall
from sojourn.core.messages import Message
from sojourn.text.token_count import estimate_tokens
from tests.unit.context.worlds import GUEST, lease_of, log_of, request, told

TALK = ("How do I prune the old apple tree?", "Cut the apple tree in late winter, above an outward bud.")

SILENT = (
    "run ls -la",
    "run the tests",
    "hi, how are you?",
    "thanks, that worked great!",
    "what time is it?",
    "ok, continue",
    "explain what this function does",
    "what does line 30 of this file do?",
    "commit this",
    "git status",
    "make the button red",
    "write a haiku about autumn",
    "what is the capital of Peru?",
)


async def recalled(kit, said, **given):
    session = given.pop("session", None) or await told(kit, title="now")
    return await Recall(kit).contribute(await request(kit, session, said, **given))


async def test_an_earlier_answer_comes_with_its_session_its_day_and_the_reason(kit):
    past = await told(kit, *TALK, title="Orchard")
    (block,) = (await recalled(kit, "when should I prune an apple tree again?")).blocks
    assert block.title == "From “Orchard”"
    assert block.origin.startswith(f"session {past.id}, 20")
    assert "“apple”" in block.reason
    assert TALK[1] in block.text


async def test_a_question_brings_its_answer_along(kit):
    await told(kit, "Which paint did I choose for the kitchen?", "It was eggshell white.", title="Kitchen")
    (block,) = (await recalled(kit, "the paint I chose for the kitchen")).blocks
    assert "It was eggshell white." in block.text


async def test_chinese_is_recalled_too(kit):
    await told(kit, "苹果树什么时候修剪？", "冬末修剪苹果树最好。", title="果园")
    (block,) = (await recalled(kit, "修剪苹果树")).blocks
    assert "冬末" in block.text


async def test_what_is_not_about_it_stays_where_it_is(kit):
    await told(kit, *TALK, title="Orchard")
    assert (await recalled(kit, "which apple laptop has the brightest display and longest battery")).blocks == ()


async def test_small_talk_recalls_nothing(kit):
    await told(kit, "hello, how are you?", "Fine, thanks, and you?")
    assert (await recalled(kit, "hello, how are you?")).blocks == ()


async def test_a_guest_recalls_only_what_was_said_with_them(kit):
    await told(kit, *TALK, title="Orchard")
    session = await told(kit, title="guest", principal=GUEST)
    assert (await recalled(kit, "prune the apple tree", session=session)).blocks == ()


async def test_this_conversation_is_recalled_only_where_it_left_the_live_transcript(kit):
    session = await told(kit, *TALK, "Thanks", "Welcome", title="Orchard")
    assert (await recalled(kit, "prune the apple tree", session=session)).blocks == ()
    lease = await lease_of(kit, session)
    seqs = [kept.seq for kept in await log_of(kit, session) if isinstance(kept.item, Message)][:2]
    await kit.store.set_flags(lease, seqs, active=False, compacted=True)
    (block,) = (await recalled(kit, "prune the apple tree", session=session)).blocks
    assert block.title == "Earlier in this conversation"
    assert TALK[1] in block.text


async def test_what_was_undone_is_never_recalled(kit):
    session = await told(kit, *TALK, title="Orchard")
    lease = await lease_of(kit, session)
    seqs = [kept.seq for kept in await log_of(kit, session)]
    await kit.store.set_flags(lease, seqs, active=False, compacted=False)
    assert (await recalled(kit, "prune the apple tree")).blocks == ()


async def test_it_can_be_turned_off(make_kit):
    kit = make_kit(memory_recall=False)
    await told(kit, *TALK, title="Orchard")
    assert (await recalled(kit, "prune the apple tree")).blocks == ()


async def test_the_budget_is_kept_and_what_is_left_out_is_named(kit):
    for number in range(6):
        await told(kit, f"apple tree number {number}", "Prune the apple tree. " * 60, title=f"Orchard {number}")
    found = await recalled(kit, "prune apple tree", budget=300)
    assert sum(block.tokens for block in found.blocks) <= 300
    assert found.left_out


@pytest.mark.parametrize("said", SILENT)
async def test_what_needs_no_memory_brings_nothing(kit, said):
    await told(
        kit, "Please run the tests and commit this file, thanks", "I ran ls -la; the tests pass, it works great."
    )
    await told(kit, "What time is it? Make the button blue and explain the loop in this function.", "Blue it is.")
    assert (await recalled(kit, said)).blocks == ()


@pytest.mark.parametrize("said", ["why did we drop redis?", "what did I say about redis", "redis dropped cache memory"])
async def test_a_question_about_the_past_is_answered_with_its_neighbours(kit, said):
    await told(
        kit, "Shall we keep the cache?", "We drop redis: it ate memory.", "Fine, use sqlite then.", title="Cache"
    )
    await told(kit, "Which cheese goes with pears?", "Gorgonzola.", title="Cheese")
    (block,) = (await recalled(kit, said)).blocks
    assert block.title == "From “Cache”"
    assert "Fine, use sqlite then." in block.text


async def test_a_long_message_is_cut_to_where_the_words_stand(kit):
    await told(
        kit, "nothing " * 600 + "The staging password rotates on Mondays. " + "filler " * 600, "ok", title="Long"
    )
    (block,) = (await recalled(kit, "when does our staging password rotate?")).blocks
    assert "staging password rotates on Mondays" in block.text
    assert estimate_tokens(block.text) < 400


async def test_relative_time_narrows_what_is_recalled(kit):
    old = await told(kit, title="old")
    lease = await lease_of(kit, old)
    await kit.store.append(lease, [Message(role="user", content="the pump is grey", timestamp=1_600_000_000.0)])
    await told(kit, "the pump is blue", title="new")
    now = await told(kit, title="now")
    (block,) = (await recalled(kit, "what did we say about the pump today?", session=now)).blocks
    assert "blue" in block.text
    found = await recalled(kit, "what did we say about the pump?", session=now)
    assert {block.title for block in found.blocks} == {"From “old”", "From “new”"}


@given(st.text(max_size=200))
def test_any_text_can_be_judged(text):
    assert find_lowest_score(text) in (None, PAST_SCORE, NAMED_SCORE, ASKED_SCORE, OTHER_SCORE)


@pytest.mark.parametrize(
    ("said", "lowest"),
    [
        ("which library decodes big photos?", ASKED_SCORE),
        ("at what size does the alert fire?", ASKED_SCORE),
        ("how many points does a candidate need?", ASKED_SCORE),
        ("how many points did we agree on?", PAST_SCORE),
        ("how do I reverse a list in Python?", OTHER_SCORE),
        ("how do I flash my keyboard?", PAST_SCORE),
        ("write a bubble sort in Rust", OTHER_SCORE),
        ("no, leave it", None),
        ("Warum nutzen wir die Warteschlange nicht?", PAST_SCORE),
        ("quand avons-nous choisi la base de données ?", PAST_SCORE),
        ("schreibe eine Funktion mit Tests", OTHER_SCORE),
    ],
)
def test_a_question_about_one_thing_needs_less_of_a_memory_than_one_about_anything(said, lowest):
    assert find_lowest_score(said) == lowest
