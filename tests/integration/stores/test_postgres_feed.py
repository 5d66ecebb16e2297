"""The feed of changes while transactions end out of order: no change is ever missed."""

import asyncio
import random
import threading
import time
from contextlib import contextmanager
from dataclasses import replace

import psycopg
import pytest

from sojourn.core.sessions import Change, SessionId
from sojourn.stores.postgres.db import WRITE
from sojourn.stores.postgres.store import PostgresStore

pytestmark = pytest.mark.postgres


@pytest.fixture
async def store(postgres_url):
    opened = PostgresStore(postgres_url)
    yield opened
    await opened.close()


@contextmanager
def held_open(store: PostgresStore, session: str):
    """A transaction that has told a change and is not ended before this block is."""
    told, may_end = threading.Event(), threading.Event()

    def work(db):
        db.record_change(session, "changed")
        db.fetch_one("SELECT 1")  # sends what waits in line: from here on the transaction has its number
        told.set()
        may_end.wait(20)

    thread = threading.Thread(target=store._transactions.run, args=(work, WRITE))
    thread.start()
    try:
        assert told.wait(20)
        yield
    finally:
        may_end.set()
        thread.join()


def names(changes: list[Change]) -> list[str]:
    return [f"{change.session} {change.kind}" for change in changes]


async def test_a_change_waits_for_an_older_transaction(store):
    await store.create(id=SessionId("a"))
    start = await store.last_change()
    with held_open(store, "slow"):
        await store.create(id=SessionId("quick"))
        assert await store.changes(after=start) == []
        assert await store.last_change() == start
    found = await store.changes(after=start)
    assert names(found) == ["slow changed", "quick created"]
    assert await store.last_change() == found[-1].n


async def test_a_watcher_hears_of_both_in_the_end(store):
    heard = []

    async def follow():
        async for change in store.watch_changes():
            heard.append(f"{change.session} {change.kind}")

    await store.create(id=SessionId("a"))
    watcher = asyncio.create_task(follow())
    with held_open(store, "slow"):
        await store.create(id=SessionId("quick"))
        await asyncio.sleep(0.2)
        assert heard == ["a created"]
    await until(lambda: len(heard) == 3)
    assert heard == ["a created", "slow changed", "quick created"]
    watcher.cancel()


async def test_another_programs_long_transaction_only_delays(store, postgres_server):
    """It is in another database, never rings, and is over some time."""
    await store.create(id=SessionId("a"))
    heard, start = [], await store.last_change()

    async def follow():
        async for _ in store.watch_changes(after=start):
            heard.append(time.monotonic())

    watcher = asyncio.create_task(follow())
    await asyncio.sleep(0.2)
    with psycopg.connect(postgres_server) as other:
        other.execute("SELECT pg_current_xact_id()")
        await store.create(id=SessionId("b"))
        await asyncio.sleep(0.3)
        assert heard == []
        other.commit()
        ended = time.monotonic()
    await until(lambda: heard)
    assert heard[0] - ended < 0.6
    watcher.cancel()


async def test_a_reader_may_stop_after_any_change(store):
    def work(db):
        for n in range(25):
            db.record_change(f"s{n:02}", "created")

    await asyncio.to_thread(store._transactions.run, work, WRITE)
    after, seen = 0, []
    while page := await store.changes(after=after, limit=3):
        after = page[0].n
        seen.append(page[0].session)
    assert seen == [f"s{n:02}" for n in range(25)]


async def test_more_changes_than_numbers_are_told_whole(store, monkeypatch):
    monkeypatch.setattr("sojourn.stores.postgres.feed.MAX_CHANGES_PER_TRANSACTION", 4)

    def work(db):
        for n in range(10):
            db.record_change(f"s{n}", "created")

    await asyncio.to_thread(store._transactions.run, work, WRITE)
    after, seen = 0, []
    while page := await store.changes(after=after, limit=2):
        after = page[-1].n
        seen += [change.session for change in page]
    assert seen == [f"s{n}" for n in range(10)]


@pytest.mark.parametrize("seed", [1, 2])
async def test_no_change_is_missed_while_many_write(store, postgres_url, seed):
    """Writers in their own time; a reader that only ever goes forward ends up with the newest of each."""
    chance, stop = random.Random(seed), threading.Event()

    def write(number):
        dice = random.Random(seed * 100 + number)
        for _ in range(40):
            waits = dice.uniform(0, 0.01)
            session = f"s{dice.randrange(30)}-{number}"

            def work(db, session=session, waits=waits):
                db.record_change(session, "log")
                db.fetch_one("SELECT pg_sleep(?)", (waits,))

            store._transactions.run(work, WRITE)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    newest: dict[str, int] = {}
    after = 0
    while True:
        is_over = not any(thread.is_alive() for thread in threads)
        page = await store.changes(after=after, limit=chance.randrange(1, 20))
        for change in page:
            assert change.n > after
            after = newest[change.session] = change.n
        if is_over and not page:
            break
    stop.set()
    with psycopg.connect(postgres_url) as connection:
        kept = dict(connection.execute("SELECT session_id, n FROM changes").fetchall())
    assert newest == kept


async def test_numbers_go_on_after_the_database_moved_to_another_server(postgres_url):
    """Loaded from a dump, rows carry numbers the new server has not reached yet."""
    store = PostgresStore(postgres_url)
    await store.create(id=SessionId("old"))
    await store.close()
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute("UPDATE changes SET n = n + 1000000000000")
    stores = [PostgresStore(postgres_url) for _ in range(3)]
    last = (await asyncio.gather(*(one.last_change() for one in stores)))[0]
    await stores[0].create(id=SessionId("new"))
    await stores[1].create(id=SessionId("newer"))
    assert names(await stores[2].changes(after=last)) == ["new created", "newer created"]
    assert names(await stores[2].changes()) == ["old created", "new created", "newer created"]
    for one in stores:
        await one.close()


async def until(holds, seconds: float = 10.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come to pass"
        await asyncio.sleep(0.005)


async def test_a_history_hears_of_a_change_whose_transaction_ends_after_later_ones(store):
    a, b = await store.create(id=SessionId("a")), await store.create(id=SessionId("b"))
    history = store.history()
    told, may_end = threading.Event(), threading.Event()

    def slow(db):
        db.execute("UPDATE sessions SET title = 'Garden' WHERE id = ?", (a.id,))
        db.record_change(a.id, "changed")
        db.fetch_one("SELECT 1")
        told.set()
        may_end.wait(20)

    thread = threading.Thread(target=store._transactions.run, args=(slow, WRITE))
    thread.start()
    assert await asyncio.to_thread(told.wait, 20)
    assert [facts.title for facts in history.sessions()] == [None, None]
    await store.change(b, replace(b, title="Pond"))
    assert {facts.title for facts in history.sessions()} == {None, "Pond"}
    may_end.set()
    await asyncio.to_thread(thread.join, 20)
    assert {facts.title for facts in history.sessions()} == {"Garden", "Pond"}
    history.close()
