"""What a turn asks of its store: a fixed number of transactions, and an end even if its answer cannot be stored."""

import asyncio
from collections import Counter

import pytest

from sojourn.core.errors import StoreFull
from sojourn.core.events import Done, Failed
from sojourn.ports.service import TurnRequest
from sojourn.service import turn_writer
from sojourn.stores.sql import store as sql_store
from sojourn.testing.scripted_runtime import PauseGate, SayText
from sojourn.testing.service_steps import ME, follow, of, opened, talk


@pytest.fixture
def transactions(store, monkeypatch):
    """Counts the transactions of a store by kind."""
    counts = Counter[str]()

    def count(name):
        run = getattr(store, name)

        async def counted(work):
            counts[name] += 1
            return await run(work)

        monkeypatch.setattr(store, name, counted)

    count("_read")
    count("_write")
    return counts


async def test_a_short_turn_is_two_writes_and_one_read(service, runtime, transactions, monkeypatch):
    monkeypatch.setattr(turn_writer, "_GATHER_SECONDS", 60.0)  # however slow this machine is, the turn is a short one
    monkeypatch.setattr(sql_store, "_FIRST_LOOK_SECONDS", 60.0)
    session = await opened(service)
    await talk(service, session, "warm")
    transactions.clear()
    await service.say(session, TurnRequest(text="hello"), ME)
    await service.settle()
    assert transactions == {"_write": 2, "_read": 1}


async def test_who_follows_a_running_turn_reads_nothing(service, runtime, transactions):
    runtime.on("slow", PauseGate("go"), SayText("done"))
    session = await opened(service)
    await talk(service, session, "warm")  # the first turn gives the session its title
    turn = await service.say(session, TurnRequest(text="slow"), ME)
    transactions.clear()
    following = asyncio.create_task(follow(service, turn))
    await asyncio.sleep(0)
    runtime.gate("go").open()
    assert [one.status for one in of(Done, await following)] == ["completed"]
    assert transactions["_read"] == 0


async def test_a_turn_whose_answer_cannot_be_stored_fails_and_ends(service, store, runtime, monkeypatch):
    session = await opened(service)
    transact, tries = store.transact, []

    async def refuse_once(work):
        name = getattr(getattr(work, "func", work), "__name__", "")
        if name == "_append_batch" and not tries:
            tries.append(work)
            raise StoreFull("The disk is full.")
        return await transact(work)

    monkeypatch.setattr(store, "transact", refuse_once)
    items = await talk(service, session, "hello")
    assert tries
    assert [one.code for one in of(Failed, items)] == ["store_full"]
    assert [one.status for one in of(Done, items)] == ["failed"]
    assert await service.running(session) is None
