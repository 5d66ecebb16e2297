"""Facts: a person's own, all of them while they fit."""

import pytest

from sojourn.context.facts import FactRecords, UserMemory
from sojourn.core.errors import BadInput, Conflict, NotFound
from sojourn.ports.store import Record
from sojourn.text.token_count import estimate_tokens
from tests.unit.context.worlds import GUEST, request, told


async def test_a_fact_can_be_added_changed_and_taken_away(kit):
    facts = FactRecords(kit)
    fact = await facts.add_fact("I live in  Lisbon", why="moved")
    assert (await facts.edit_fact(fact.id, "I live in Porto")).text == "I live in Porto"
    assert [(one.text, one.why) for one in await facts.list_facts()] == [("I live in Porto", "moved")]
    await facts.delete_fact(fact.id)
    assert await facts.list_facts() == []


async def test_the_record_has_the_shape_every_surface_knows(kit):
    fact = await FactRecords(kit).add_fact("tabs, not spaces")
    record = await kit.store.get_record("fact", f"owner/{fact.id}")
    assert record.value == {"text": "tabs, not spaces", "why": "", "source_session": None}


async def test_a_secret_is_not_remembered(kit):
    facts, secret = FactRecords(kit), "my key is sk-ant-api03-" + "a1B2" * 20
    known = await facts.add_fact("tea, not coffee")
    for attempt in (facts.add_fact(secret), facts.edit_fact(known.id, secret)):
        with pytest.raises(BadInput, match="key or password"):
            await attempt
    assert [one.text for one in await facts.list_facts()] == ["tea, not coffee"]


async def test_what_is_known_is_not_kept_twice(kit):
    facts = FactRecords(kit)
    assert (await facts.add_fact("Tabs.")).id == (await facts.add_fact("tabs.")).id


async def test_a_guest_neither_sees_nor_changes_the_facts_of_the_owner(kit):
    fact = await FactRecords(kit).add_fact("the safe opens with 1234")
    facts = FactRecords(kit)
    assert await facts.list_facts(principal=GUEST) == []
    for attempt in (
        facts.edit_fact(fact.id, "x", principal=GUEST),
        facts.delete_fact(fact.id, principal=GUEST),
        facts.get_fact(f"../owner/{fact.id}", principal=GUEST),
    ):
        with pytest.raises(NotFound):
            await attempt
    session = await told(kit, principal=GUEST)
    assert (await UserMemory(kit).contribute(await request(kit, session, "the safe"))).blocks == ()


async def test_an_edit_of_an_older_reading_is_refused(kit):
    facts = FactRecords(kit)
    fact = await facts.add_fact("one")
    await facts.edit_fact(fact.id, "two")
    with pytest.raises(Conflict):
        await facts.edit_fact(fact.id, "three", expect=fact.revision)


async def test_a_fact_is_named_by_words_that_only_it_has(kit):
    facts = FactRecords(kit)
    porto = await facts.add_fact("I live in Porto")
    await facts.add_fact("I live for music")
    await facts.add_fact("I live in Ghent", principal=GUEST)
    for words in (porto.id, porto.id[:6], "porto", "in  Porto"):
        assert (await facts.get_fact(words)).id == porto.id
    with pytest.raises(BadInput, match="Several facts"):
        await facts.delete_fact("I live")
    for words in ("Ghent", "po", ""):
        with pytest.raises(NotFound):
            await facts.delete_fact(words)
    assert (await facts.edit_fact("porto", "I live in Lisbon")).id == porto.id
    assert (await facts.delete_fact("lisbon")).id == porto.id
    assert [one.text for one in await facts.list_facts()] == ["I live for music"]


@pytest.mark.parametrize("text", ["", "  \n", "x" * 2001])
async def test_an_empty_fact_and_a_book_are_refused(kit, text):
    with pytest.raises(BadInput):
        await FactRecords(kit).add_fact(text)


async def test_all_facts_are_given_while_they_fit_and_each_is_shown(kit):
    facts = FactRecords(kit)
    for text in ("I live in Porto", "My cat is Momo"):
        await facts.add_fact(text)
    found = await UserMemory(kit).contribute(await request(kit, await told(kit), "hello"))
    assert found.blocks[0].text == "- I live in Porto\n- My cat is Momo"
    assert [one.detail["title"] for one in found.shown] == ["I live in Porto", "My cat is Momo"]
    assert found.left_out == ()


async def test_a_full_memory_says_so_and_gives_the_nearest_facts(kit):
    facts = FactRecords(kit)
    for number in range(80):
        await facts.add_fact(f"Shelf {number} holds nothing worth a word")
    await facts.add_fact("The bicycle has a blue frame")
    asked = await request(kit, await told(kit), "what colour is my bicycle", budget=200)
    found = await UserMemory(kit).contribute(asked)
    assert found.blocks[0].text.startswith("- The bicycle has a blue frame")
    assert estimate_tokens(found.blocks[0].render()) <= 200
    given = len(found.blocks[0].text.splitlines())
    assert found.left_out[0] == f"The memory is full: {81 - given} of 81 facts did not fit."
    assert len(found.left_out) == 1 + 81 - given


async def test_search_finds_facts_by_other_forms_of_a_word(kit):
    facts = FactRecords(kit)
    await facts.add_fact("I translate books for a living")
    await facts.add_fact("My cat is Momo")
    assert [one.text for one in await facts.list_facts(text="translating")] == ["I translate books for a living"]


async def test_more_facts_than_one_page_are_all_there(kit):
    for number in range(501):
        value = {"text": f"fact {number}", "why": "", "source_session": None}
        await kit.store.put_record(Record(kind="fact", key=f"owner/{number:08x}", value=value))
    assert len(await FactRecords(kit).list_facts()) == 501


async def test_facts_are_read_again_only_when_one_has_changed(kit, monkeypatch):
    facts, reads = FactRecords(kit), []
    list_records = kit.store.list_records

    async def count(kind, **asked):
        reads.append(kind)
        return await list_records(kind, **asked)

    monkeypatch.setattr(kit.store, "list_records", count)
    for number in range(20):
        await facts.add_fact(f"fact number {number}")
    assert len(reads) <= 2, "adding one reads the others once"
    before = len(reads)
    assert [one.text for one in await facts.list_facts()][-1] == "fact number 19"
    assert (await facts.add_fact("Fact Number 7")).text == "fact number 7"
    assert len(reads) == before
    [first, *_] = await facts.list_facts()
    await facts.edit_fact(first.id, "another text")
    assert (await facts.add_fact("another TEXT")).id == first.id
    await facts.delete_fact(first.id)
    assert first.id not in {one.id for one in await facts.list_facts()}
