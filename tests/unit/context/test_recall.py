"""Recalled memory: what past sessions of the same person said."""

from hypothesis import given
from hypothesis import strategies as st

from sojourn.context.recall import Recall, build_queries, search_words
from sojourn.core.messages import Message
from sojourn.text.token_count import estimate_tokens
from tests.unit.context.worlds import GUEST, lease_of, log_of, request, told

TALK = ("How do I prune the old apple tree?", "Cut the apple tree in late winter, above an outward bud.")


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


@given(st.text(max_size=200))
def test_any_text_gives_a_bounded_number_of_queries(text):
    assert len(build_queries(search_words(text))) <= 14
    assert estimate_tokens(" ".join(search_words(text))) < 400
