"""NOTIFY: a second store hears at once, also in another process, also after the line was lost."""

import asyncio
import contextlib
import statistics
import subprocess
import sys
import time

import psycopg
import pytest

from sojourn.core.messages import Message, assistant
from sojourn.core.sessions import SessionId
from sojourn.stores.postgres.db import WRITE
from sojourn.stores.postgres.store import PostgresStore

pytestmark = pytest.mark.postgres
HERE, THERE = SessionId("here"), SessionId("there")


@pytest.fixture
async def pair(postgres_url):
    """Two stores on one database, and a session with a lease."""
    one, other = PostgresStore(postgres_url), PostgresStore(postgres_url)
    await one.create(id=HERE)
    lease = await one.lease(HERE, holder="test", surface="cli", seconds=600)
    yield one, other, lease
    await one.close()
    await other.close()


@contextlib.asynccontextmanager
async def watching(store, session=HERE):
    """What a watcher heard, and when."""
    heard: list[tuple[float, str]] = []

    async def follow():
        async for kept in store.watch(session):
            assert isinstance(kept.item, Message)
            heard.append((time.monotonic(), kept.item.content or ""))

    watcher = asyncio.create_task(follow())
    try:
        yield heard
    finally:
        watcher.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await watcher


async def until(holds, seconds: float = 15.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come to pass"
        await asyncio.sleep(0.002)


async def test_another_store_hears_long_before_it_would_have_looked_again(pair):
    one, other, lease = pair
    async with watching(other) as heard:
        await until(lambda: other._notifier.is_listening)
        delays = []
        for n in range(60):
            await one.append(lease, [assistant(str(n))])
            kept = time.monotonic()
            await until(lambda n=n: len(heard) > n)
            delays.append(heard[n][0] - kept)
    assert statistics.median(delays) < 0.2  # bench/watch.py holds the milliseconds


def test_another_process_hears_long_before_it_would_have_looked_again(postgres_url):
    code = """
import asyncio, sys, time
from sojourn.core.messages import assistant
from sojourn.stores.postgres.store import PostgresStore

async def main():
    store = PostgresStore(sys.argv[1])
    lease = await store.lease("here", holder="other process", surface="cli", seconds=600)
    for n in range(60):
        await store.append(lease, [assistant(str(time.time()))])
        await asyncio.sleep(0.01)
    await store.close()

asyncio.run(main())
"""

    async def listen():
        store = PostgresStore(postgres_url)
        await store.create(id=HERE)
        delays = []
        async with watching(store) as heard:
            await until(lambda: store._notifier.is_listening)
            ahead = time.time() - time.monotonic()
            process = await asyncio.to_thread(subprocess.Popen, [sys.executable, "-c", code, postgres_url])
            await until(lambda: len(heard) == 60, 60)
            delays = [at + ahead - float(said) for at, said in heard]
            assert await asyncio.to_thread(process.wait) == 0
        await store.close()
        return delays

    # counted from before the append, so the time of the commit itself is in it
    assert statistics.median(asyncio.run(listen())) < 0.2


async def test_a_lost_line_is_taken_up_again_and_nothing_is_missed(pair, postgres_url):
    one, other, lease = pair
    async with watching(other) as heard:
        await until(lambda: other._notifier.is_listening)
        with psycopg.connect(postgres_url, autocommit=True) as boss:
            boss.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND query LIKE 'LISTEN%' AND pid <> pg_backend_pid()"
            )
        await one.append(lease, [assistant("while nobody listened")])
        await until(lambda: [word for _, word in heard] == ["while nobody listened"])
        await until(lambda: other._notifier.is_listening)
        await one.append(lease, [assistant("again")])
        kept = time.monotonic()
        await until(lambda: len(heard) == 2)
        assert heard[1][0] - kept < 0.5


async def test_a_change_of_very_many_sessions_rings_at_everybodys_door(pair):
    one, other, _ = pair
    woken = other.subscribers.add(THERE)
    other._listen()
    await until(lambda: other._notifier.is_listening)
    await asyncio.sleep(0.05)
    woken.clear()

    def work(db):
        for n in range(1000):
            db.record_change(f"session-number-{n}", "created")

    await asyncio.to_thread(one._transactions.run, work, WRITE)
    await asyncio.wait_for(woken.wait(), 5)


async def test_only_those_who_wait_for_that_session_are_woken(pair):
    one, other, lease = pair
    mine, others = other.subscribers.add(HERE), other.subscribers.add(THERE)
    other._listen()
    await until(lambda: other._notifier.is_listening)
    await asyncio.sleep(0.05)
    mine.clear()
    others.clear()
    await one.append(lease, [assistant("x")])
    await asyncio.wait_for(mine.wait(), 5)
    assert not others.is_set()


async def test_a_process_is_not_notified_of_its_own_commits_and_others_of_several_at_once(pair):
    one, other, lease = pair
    mine, others = list[list[str] | None](), list[list[str] | None]()
    for store, heard in ((one, mine), (other, others)):
        store._listen()
        await until(lambda store=store: store._notifier.is_listening)
        store._notifier._on_notify = heard.append
    wakeup = one.subscribers.add(HERE)
    for n in range(20):
        await one.append(lease, [assistant(str(n))])
    await until(lambda: len(wakeup.items) == 20)
    await asyncio.sleep(0.2)
    assert mine == []
    assert {"here"} == {name for names in others for name in names or ()}
    assert len(others) < 20


async def test_a_closed_store_leaves_no_connection_behind(postgres_url):
    store = PostgresStore(postgres_url)
    await store.create(id=HERE)
    async with watching(store):
        await until(lambda: store._notifier.is_listening)
    begun = time.monotonic()
    await store.close()
    assert time.monotonic() - begun < 2
    with psycopg.connect(postgres_url) as connection:
        count = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()"
        for _ in range(100):
            if connection.execute(count).fetchone() == (0,):
                break
            time.sleep(0.02)
            connection.rollback()
        assert connection.execute(count).fetchone() == (0,)
    assert [kept async for kept in store.read(HERE)] == []  # and opens again when it is asked
    await store.close()
