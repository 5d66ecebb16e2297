"""Appends that are done together leave what they would leave alone: numbers, texts, changes, and who is refused."""

import asyncio
import threading

import pytest

from sojourn.core.errors import LeaseLost
from sojourn.core.events import Chunk, Done, Progress
from sojourn.core.messages import user
from sojourn.stores.sqlite import together
from sojourn.stores.sqlite.store import SqliteStore


@pytest.fixture
async def store(home):
    home.mkdir()
    made = SqliteStore(home / "state.db")
    yield made
    await made.close()


@pytest.fixture
def groups(monkeypatch):
    """How many appends were done together, each time."""
    seen = []
    real = together._add
    monkeypatch.setattr(together, "_add", lambda db, group: seen.append(len(group)) or real(db, group))
    return seen


async def leases(store, count):
    made = [await store.create() for _ in range(count)]
    return [await store.lease(one.id, holder="a test", surface="cli") for one in made]


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


async def test_what_many_say_at_once_is_kept_as_if_each_had_been_alone(store, groups):
    held = await leases(store, 5)
    items = [Chunk("ü \u2028 \\ \" ' \0 \udc80 𝄞"), Progress("tool", {"a": [1, None, "x"]}), Done(usage={"n": 1.5})]
    found = await held_up(store, *(store.append(lease, items, turn="t_1") for lease in held))
    assert groups == [5]
    for lease, kept in zip(held, found, strict=True):
        assert [one.seq for one in kept] == [1, 2, 3]
        assert [one.item for one in kept] == items
        assert [one async for one in store.read(lease.session)] == kept
    told = await store.changes()
    assert sorted({one.n for one in told}) == [one.n for one in told]
    assert {one.session for one in told if one.kind == "log"} == {lease.session for lease in held}


async def test_secrets_are_blacked_out_there_too(store, groups):
    held = await leases(store, 2)
    secret = "sk-ant-api03-" + "a1B2" * 20
    first, _ = await held_up(store, *(store.append(lease, [Chunk(f"key {secret}")]) for lease in held))
    assert groups == [2]
    assert secret not in first[0].item.text
    assert [one async for one in store.read(held[0].session)] == first


async def test_who_lost_the_lease_is_refused_alone(store, groups):
    held = await leases(store, 4)
    await store.renew(held[2], 0)
    found = await held_up(store, *(store.append(lease, [Chunk("x")]) for lease in held))
    assert 4 in groups
    assert [isinstance(one, LeaseLost) for one in found] == [False, False, True, False]
    assert held[2].session in str(found[2])
    assert [one async for one in store.read(held[2].session)] == []


async def test_one_session_is_never_twice_in_a_group_and_order_holds(store, groups):
    held = await leases(store, 2)
    found = await held_up(
        store, store.append(held[0], [Chunk("1")]), store.append(held[1], [Chunk("1")]),
        store.append(held[0], [Chunk("2")]), store.append(held[0], [user("3")]), store.append(held[0], [Chunk("4")]),
    )  # fmt: skip
    assert groups == [2, 1, 1]
    assert [kept[0].seq for kept in found] == [1, 1, 2, 3, 4]


async def test_watchers_hear_of_it_at_once_and_in_order(store, groups):
    held = await leases(store, 3)
    watching = [store.watch(lease.session) for lease in held]
    first = [asyncio.create_task(anext(log)) for log in watching]
    await asyncio.sleep(0)
    await held_up(store, *(store.append(lease, [Chunk("a"), Chunk("b")]) for lease in held))
    assert [(await one).item.text for one in first] == ["a"] * 3
    assert [(await anext(log)).item.text for log in watching] == ["b"] * 3
    for log in watching:
        await log.aclose()
