"""The writer: order, and what waits together is kept together."""

import asyncio

import pytest

from sojourn.core.errors import LeaseLost
from sojourn.core.events import Chunk, Progress
from sojourn.core.messages import Message, assistant
from sojourn.core.sessions import new_turn_id
from sojourn.service.turn_writer import TurnWriter


class Slow:
    """Passes on to a store, and lets each append wait until the test lets it go."""

    def __init__(self, store) -> None:
        self.store, self.go = store, asyncio.Semaphore(0)
        self.batches: list[list] = []

    async def redact(self, items):
        return await self.store.redact(items)

    async def append(self, lease, items, **more):
        self.batches.append(list(items))
        await self.go.acquire()
        return await self.store.append(lease, items, **more)


@pytest.fixture
async def lease(store):
    session = await store.create()
    return await store.lease(session.id, holder="a test", surface="cli")


async def everything(store, session):
    return [kept.item async for kept in store.read(session)]


async def test_the_first_chunk_goes_at_once_and_those_that_came_meanwhile_go_together(store, lease):
    slow = Slow(store)
    writer = TurnWriter(slow, lease, new_turn_id())
    await writer(Chunk("one "))
    await asyncio.sleep(0)
    for word in ("two ", "three ", "four "):
        await writer(Chunk(word))
    for _ in range(2):
        slow.go.release()
    await writer.flush()
    assert [len(batch) for batch in slow.batches] == [1, 1]
    assert [item.text for item in await everything(store, lease.session)] == ["one ", "two three four "]


async def test_only_chunks_that_follow_each_other_are_joined_and_up_to_a_size(store, lease):
    writer = TurnWriter(store, lease, new_turn_id())
    long = "word " * 300
    await writer(Chunk("a "), Chunk("b "), Progress("tool", {"line": "c"}), Chunk(long), Chunk(long), assistant("d"))
    items = await everything(store, lease.session)
    assert [getattr(item, "text", type(item)) for item in items] == ["a b ", Progress, long, long, Message]


async def test_a_message_is_kept_when_the_pen_returns(store, lease):
    writer = TurnWriter(store, lease, new_turn_id())
    await writer(Chunk("a"), assistant("a"))
    assert len(await everything(store, lease.session)) == 2
    assert len(writer.state.ids) == 1


async def test_a_lost_lease_is_told_and_nothing_is_written(store, lease):
    writer = TurnWriter(store, lease, new_turn_id())
    await store.renew(lease, 0)
    with pytest.raises(LeaseLost):
        await writer(assistant("too late"))
    assert await everything(store, lease.session) == []


async def test_what_cannot_be_kept_is_told_once_and_the_pen_writes_on(store, lease):
    writer = TurnWriter(store, lease, new_turn_id())
    with pytest.raises(TypeError):
        await writer(Progress("tool", {"line": object()}), assistant("a"))
    await writer(assistant("b"))
    assert [item.content for item in await everything(store, lease.session)] == ["b"]


async def test_moving_the_wheel_goes_on_with_another_lease(store, lease):
    writer = TurnWriter(store, lease, new_turn_id())
    await writer(assistant("a"))
    await writer.move("telegram")
    await writer(assistant("b"))
    assert (await store.get(lease.session)).driver == "telegram"
    assert [item.content for item in await everything(store, lease.session)] == ["a", "b"]


async def test_more_than_can_wait_makes_whoever_brings_it_wait(store, lease):
    slow = Slow(store)
    writer = TurnWriter(slow, lease, new_turn_id(), redact=False)

    async def bring():
        for number in range(1000):
            await writer(Chunk(f"{number} "))

    bringing = asyncio.create_task(bring())
    done, _ = await asyncio.wait({bringing}, timeout=0.05)
    assert (done, len(slow.batches)) == (set(), 1)
    assert len(slow.batches[0][0].text.split()) < 300
    for _ in range(1000):
        slow.go.release()
    await bringing
    await writer.flush()
    kept = await everything(store, lease.session)
    assert "".join(item.text for item in kept).split() == [str(number) for number in range(1000)]
