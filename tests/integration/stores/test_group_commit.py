"""Group commit: appends that share a transaction have the same results as appends one by one."""

import asyncio
import threading
from dataclasses import replace

import pytest

from sojourn.core.errors import LeaseLost, NotFound
from sojourn.core.events import Chunk, Done, Metadata
from sojourn.core.messages import ToolCall, assistant, user
from sojourn.ports.store import Record
from sojourn.stores.sqlite.group_commit import GroupCommit
from sojourn.stores.sqlite.store import SqliteStore


@pytest.fixture
def groups(monkeypatch):
    """The number of appends in each bulk insert."""
    sizes = []
    bulk_insert = GroupCommit._bulk_insert

    def spy(self, db, bulk, works):
        if (results := bulk_insert(self, db, bulk, works)) is not None:
            sizes.append(len(works))
        return results

    monkeypatch.setattr(GroupCommit, "_bulk_insert", spy)
    return sizes


async def leases(store, count):
    """Of sessions in which a turn has begun."""
    made = [await store.create() for _ in range(count)]
    held = [await store.lease(one.id, holder="a test", surface="cli") for one in made]
    for lease in held:
        await store.append(lease, [Metadata()])
    return held


async def held_up(store, *appends):
    """Starts them while the writer waits at a gate, so that they meet; their results or errors."""
    at_the_gate, gate, loop = asyncio.Event(), threading.Event(), asyncio.get_running_loop()

    def wait(db):
        loop.call_soon_threadsafe(at_the_gate.set)
        assert gate.wait(20)

    waiting = asyncio.create_task(store._write(wait))
    await at_the_gate.wait()
    begun = [asyncio.create_task(one) for one in appends]
    await asyncio.sleep(0)  # each has handed over its work and waits for it
    gate.set()
    await waiting
    return await asyncio.gather(*begun, return_exceptions=True)


def statements(store):
    """What the writer asks of SQLite from now on."""
    asked = []
    store._writer._connection.set_trace_callback(asked.append)
    return asked


async def test_what_many_say_at_once_is_kept_as_if_each_had_been_alone(store, groups):
    held = await leases(store, 5)
    items = [Chunk("ü \u2028 \\ \" ' \0 \udc80 𝄞"), Chunk("two")]
    found = await held_up(store, *(store.append(lease, items, turn="t_1") for lease in held))
    alone = await store.append(held[0], items, turn="t_1")
    assert groups == [5, 1]
    for lease, kept in zip(held, found, strict=True):
        assert [one.seq for one in kept] == [2, 3]
        assert [one.item for one in kept] == items
        assert [one async for one in store.read(lease.session, after=1)][:2] == kept
    assert [(one.seq, one.item) for one in alone] == [(4, items[0]), (5, items[1])]


async def test_it_takes_one_statement(store):
    held = await leases(store, 5)
    await asyncio.gather(*(store.append(lease, [Chunk("x")]) for lease in held))
    asked = statements(store)
    await store.append(held[0], [Chunk("y")])
    assert {one.split(" VALUES")[0] for one in asked if not one.startswith("--")} == {"INSERT INTO bulk_chunks"}


async def test_other_work_between_them_is_done_in_its_turn(store, groups):
    held = await leases(store, 2)
    found = await held_up(
        store,
        store.append(held[0], [Chunk("a")]),
        store.append(held[1], [Chunk("a")]),
        store.append(held[0], [user("b")]),
        store.append(held[0], [Chunk("c")]),
        store.append(held[1], [Chunk("c")]),
        store.append(held[0], [Chunk("d")]),
    )
    assert groups == [2, 3]
    assert [kept[0].seq for kept in found] == [2, 2, 3, 4, 3, 5]
    assert [one.seq async for one in store.read(held[0].session)] == [1, 2, 3, 4, 5]


async def test_turns_that_end_together_all_book_what_they_used(store):
    held = await leases(store, 3)
    ends = [Done(usage={"input_tokens": 7, "output_tokens": 2})]
    await held_up(store, *(store.append(lease, ends) for lease in held))
    assert [(await store.get(lease.session)).input_tokens for lease in held] == [7, 7, 7]


async def test_another_process_may_write_in_between(store, home, groups):
    [lease] = await leases(store, 1)
    other = SqliteStore(home / "state.db")
    await other.append(lease, [Chunk("theirs")])
    kept = await store.append(lease, [Chunk("ours")])
    assert [one.seq for one in kept] == [3]
    assert [one.item.text async for one in store.read(lease.session, after=1)] == ["theirs", "ours"]
    await other.close()


async def test_more_than_one_statement_takes_is_kept_all_the_same(store, groups):
    [lease] = await leases(store, 1)
    kept = await store.append(lease, [Chunk(str(n)) for n in range(1500)])
    assert [one.seq for one in kept] == list(range(2, 1502))
    assert groups == []


async def test_secrets_are_blacked_out_there_too(store, groups):
    held = await leases(store, 2)
    secret = "sk-ant-api03-" + "a1B2" * 20
    first, _ = await held_up(store, *(store.append(lease, [Chunk(f"key {secret}")]) for lease in held))
    assert groups == [2]
    assert secret not in first[0].item.text
    assert [one async for one in store.read(held[0].session, after=1)] == first


async def test_who_lost_the_lease_is_refused_alone(store, groups):
    held = await leases(store, 4)
    await store.renew(held[2], 0)
    found = await held_up(store, *(store.append(lease, [Chunk("x")]) for lease in held))
    assert groups == [1, 1, 1]
    assert [isinstance(one, LeaseLost) for one in found] == [False, False, True, False]
    assert held[2].session in str(found[2])
    assert [one async for one in store.read(held[2].session, after=1)] == []


async def test_watchers_hear_of_it_at_once_and_in_order(store, groups):
    held = await leases(store, 3)
    watching = [store.watch(lease.session, after=1) for lease in held]
    first = [asyncio.create_task(anext(log)) for log in watching]
    await asyncio.sleep(0)
    await held_up(store, *(store.append(lease, [Chunk("a"), Chunk("b")]) for lease in held))
    assert [(await one).item.text for one in first] == ["a"] * 3
    assert [(await anext(log)).item.text for log in watching] == ["b"] * 3
    for log in watching:
        await log.aclose()


async def talking(store, count):
    """Sessions in which a person has said something."""
    held = await leases(store, count)
    for lease in held:
        await store.append(lease, [user("how it began")])
    return held


async def test_a_message_takes_one_statement_and_counts_as_it_would_alone(store):
    held = await talking(store, 2)
    said = [
        user("ü \\ \" ' \0 \udc80 𝄞"),
        assistant("I look.", [ToolCall(id="c1", name="terminal", arguments="{}")] * 2),
    ]
    for lease in held:  # the first call of a tool also changes the row of the session
        await store.append(lease, [assistant(None, [ToolCall(id="c0", name="terminal", arguments="{}")])])
    asked = statements(store)
    kept = await store.append(held[0], said, turn="t_1")
    assert {one.split(" VALUES")[0] for one in asked if not one.startswith("--")} == {"INSERT INTO bulk_messages"}
    store._writer._group_commit._last_seq.clear()  # without a cached seq there is no bulk insert
    alone = await store.append(held[1], said, turn="t_1")
    assert [replace(one.item, timestamp=0.0) for one in kept] == [replace(one.item, timestamp=0.0) for one in alone]
    assert [(one.seq, one.turn) for one in kept] == [(one.seq, one.turn) for one in alone] == [(4, "t_1"), (5, "t_1")]
    assert [one async for one in store.read(held[0].session, after=3)] == kept
    first, second = [await store.get(lease.session) for lease in held]
    assert (first.message_count, first.tool_call_count, first.last_seq, first.preview) == (4, 3, 5, "how it began")
    assert (second.message_count, second.tool_call_count, second.last_seq, second.preview) == (4, 3, 5, "how it began")
    assert first.last_active == kept[-1].at


async def test_the_feed_names_a_session_after_a_bulk_insert(store):
    held = await talking(store, 2)
    before = await store.last_change()
    await store.append(held[0], [user("again")])
    assert [(c.session, c.kind) for c in await store.changes(after=before)] == [(held[0].session, "log")]


async def test_the_opening_words_are_kept_whoever_spoke_first(store):
    [lease] = await leases(store, 1)
    await store.append(lease, [assistant("Good morning.")])
    assert (await store.get(lease.session)).preview == ""
    await store.append(lease, [user("Water the plants")])
    assert (await store.get(lease.session)).preview == "Water the plants"


async def test_messages_of_many_are_kept_together_and_who_lost_the_lease_is_refused_alone(store, groups):
    held = await talking(store, 4)
    groups.clear()
    await held_up(store, *(store.append(lease, [user("together")]) for lease in held))
    assert groups == [4]
    await store.renew(held[1], 0)
    found = await held_up(store, *(store.append(lease, [user("x")]) for lease in held))
    assert [isinstance(one, LeaseLost) for one in found] == [False, True, False, False]
    assert [(await store.get(lease.session)).message_count for lease in held] == [3, 2, 3, 3]


async def test_a_record_of_a_session_deleted_in_the_same_transaction_is_refused(store):
    [lease] = await leases(store, 1)
    record = Record(kind="note", key="one", value={}, session=lease.session)
    results = await held_up(
        store, store.append(lease, [user("hello")]), store.delete(lease.session, lease=lease), store.put_record(record)
    )
    assert isinstance(results[2], NotFound)
    assert await store.get_record("note", "one") is None


async def test_who_subscribes_after_a_commit_is_not_woken_by_it(store):
    [lease] = await leases(store, 1)
    for number in range(20):
        await store.put_record(Record(kind="note", key=str(number), value={}, session=lease.session))
        with store._subscribe(lease.session) as wakeup:
            await asyncio.sleep(0.01)
            assert not wakeup.is_set()
