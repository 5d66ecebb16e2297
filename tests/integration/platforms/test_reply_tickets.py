"""Reply tickets: newest first, counted, and still there after a restart."""

import asyncio
import time

import pytest

from sojourn.core.places import Place
from sojourn.platforms.reply_tickets import ReplyTickets
from tests.servers.store import temporary_store

HERE, THERE = Place(platform="net", chat="ann"), Place(platform="net", chat="ben")


@pytest.fixture
async def kept():
    store = temporary_store()
    yield store
    await store.close()


async def test_the_newest_ticket_of_a_place_is_used_and_a_restart_keeps_its_count(kept):
    tickets, later = ReplyTickets(kept, "net", "bot"), time.time() + 60
    await tickets.save(HERE, "m1", expires_at=later, max_uses=2)
    await tickets.save(HERE, "m2", expires_at=later, max_uses=2)
    first = await tickets.take(HERE)
    again = ReplyTickets(kept, "net", "bot")
    await again.save(HERE, "m2", expires_at=later, max_uses=2)  # told twice
    second, third = await again.take(HERE), await again.take(HERE)
    assert first is not None
    assert second is not None
    assert (first.value, first.used, second.used, third) == ("m2", 1, 2, None)
    assert await again.find(THERE) is None
    assert await ReplyTickets(kept, "net", "another").find(HERE) is None


async def test_a_ticket_ends_with_its_time_or_when_it_is_refused(kept):
    tickets = ReplyTickets(kept, "net", "bot")
    await tickets.save(HERE, "old", expires_at=time.time() - 1)
    assert await tickets.take(HERE) is None
    await tickets.save(HERE, "new", expires_at=time.time() + 60)
    assert await tickets.find(HERE) is not None
    await tickets.discard(HERE)
    assert await tickets.find(HERE) is None


async def test_an_older_message_that_is_told_late_takes_nothing_away(kept):
    tickets, now = ReplyTickets(kept, "net", "bot"), time.time()
    await tickets.save(HERE, "new", expires_at=now + 60, max_uses=5)
    await tickets.save(HERE, "old", expires_at=now - 60, max_uses=5)
    await tickets.save(HERE, "older", expires_at=now + 30, max_uses=5)
    found = await tickets.find(HERE)
    assert found is not None
    assert found.value == "new"


async def test_two_messages_at_once_never_get_the_same_number(kept):
    tickets = ReplyTickets(kept, "net", "bot")
    await tickets.save(HERE, "m1", expires_at=time.time() + 60, max_uses=2)
    taken = await asyncio.gather(*(tickets.take(HERE) for _ in range(3)))
    assert sorted(one.used for one in taken if one is not None) == [1, 2]
