"""The server goes away under an open store: killed, restarted, full, with a wrong password."""

import asyncio
import os
import pwd
import random
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from sojourn.core.errors import SojournError, StoreFull, StoreUnavailable
from sojourn.core.messages import Message, assistant
from sojourn.core.sessions import SessionId
from sojourn.ports.store import Listing
from sojourn.stores.postgres.db import PostgresDb
from sojourn.stores.postgres.store import PostgresStore
from tests.servers import postgres as own_postgres
from tests.servers.postgres import Server

pytestmark = pytest.mark.postgres
WRITER = Path(__file__).with_name("writers.py")


@pytest.fixture(scope="module")
def own_server(postgres_server: str) -> Iterator[Server]:
    """Depends on the shared one only because that makes the user and opens the programs' folders."""
    with own_postgres.own_server() as server:
        yield server


@pytest.fixture
async def store(own_server):
    opened = PostgresStore(own_server.url())
    yield opened
    await opened.close()


async def texts(store, session) -> list[str]:
    return [kept.item.content or "" async for kept in store.read(session) if isinstance(kept.item, Message)]


@pytest.mark.parametrize("how", ["fast", "immediate", "kill"])
async def test_an_open_store_works_again_after_the_server_restarted(own_server, store, how):
    session = await store.create(source=how)
    lease = await store.lease(session.id, holder="test", surface="cli", seconds=600)
    await store.append(lease, [assistant("before")])
    await asyncio.gather(*(texts(store, session.id) for _ in range(8)))  # several connections are open
    history = store.history()
    assert len(history.sessions()) > 0
    if how == "kill":
        own_server.kill()
    else:
        own_server.stop(how)
    health = await store.health()
    assert (health.state, health.readable) == ("recovering", False)
    own_server.start()
    assert (await store.health()).state == "healthy"
    await store.append(lease, [assistant("after")])
    assert await texts(store, session.id) == ["before", "after"]
    assert [row[2] for row in dict(history.messages([session.id]))[session.id]] == [b"before", b"after"]
    history.close()
    assert (await store.verify()).clean


async def test_an_idle_store_finds_back_without_saying_a_word(own_server, store):
    """Nobody asked while the server was away: old connections are dead, and nobody is told."""
    session = await store.create()
    await asyncio.gather(*(texts(store, session.id) for _ in range(8)))
    own_server.stop("immediate")
    own_server.start()
    assert (await store.health()).state == "healthy"
    assert await asyncio.gather(*(texts(store, session.id) for _ in range(8))) == [[]] * 8


async def test_a_short_restart_is_not_noticed(own_server, store):
    """Readers and writers wait a little; a watcher goes on as if nothing had been."""
    session = await store.create()
    lease = await store.lease(session.id, holder="test", surface="cli", seconds=600)
    heard: list[str] = []

    async def follow():
        async for kept in store.watch(session.id):
            heard.append(kept.item.content)

    watcher = asyncio.create_task(follow())
    await store.append(lease, [assistant("before")])
    own_server.stop("immediate")
    threading.Timer(1.0, own_server.start).start()
    await store.append(lease, [assistant("meanwhile")])
    for _ in range(500):
        if len(heard) == 2:
            break
        await asyncio.sleep(0.02)
    assert heard == ["before", "meanwhile"]
    assert not watcher.done()
    watcher.cancel()


async def test_a_server_that_stays_away_is_said_with_the_next_step(own_server, store):
    await store.create()
    own_server.stop()
    try:
        begun = time.monotonic()
        with pytest.raises(StoreUnavailable) as told:
            await store.find(Listing())
        assert 3 < time.monotonic() - begun < 9
        assert "server runs" in told.value.hint
    finally:
        own_server.start()
    assert len(await store.find(Listing()))


async def test_a_wrong_password_is_said_at_once_and_shown_nowhere(own_server):
    store = PostgresStore(own_server.url("wrong-and-secret"))
    begun = time.monotonic()
    with pytest.raises(StoreUnavailable) as told:
        await store.find(Listing())
    assert time.monotonic() - begun < 3
    health = await store.health()
    await store.close()
    assert (health.state, health.code) == ("degraded", "store_unavailable")
    assert "password" in told.value.hint
    assert "wrong-and-secret" not in f"{told.value} {told.value.hint} {told.value.__cause__} {health}"
    assert "•••" in health.store


async def test_a_password_that_holds_anything_works(own_server):
    odd = "p@ss:w/rd %25 ü"
    with psycopg.connect(own_server.url(), autocommit=True) as boss:
        boss.execute(psycopg.sql.SQL("CREATE ROLE odd LOGIN SUPERUSER PASSWORD {}").format(odd))
    quoted = "p%40ss%3Aw%2Frd%20%2525%20%C3%BC"
    store = PostgresStore(f"postgresql://odd:{quoted}@/postgres?host={own_server.folder}")
    assert (await store.health()).state == "healthy"
    await store.close()


async def test_a_full_disk_is_said_and_what_was_kept_stays(own_server, tmp_path_factory):
    place = own_server.folder / "small"
    place.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=24m", "tmpfs", place], capture_output=True).returncode:
        pytest.skip("this machine does not let us make a small disk")
    try:
        os.chown(place, pwd.getpwnam(own_server._user or "root").pw_uid, -1)
        with psycopg.connect(own_server.url(), autocommit=True) as boss:
            boss.execute(f"CREATE TABLESPACE small LOCATION '{place}'".encode())
            boss.execute("CREATE DATABASE small TABLESPACE small")
        store = PostgresStore(own_server.url(database="small"))
        session = await store.create()
        lease = await store.lease(session.id, holder="test", surface="cli", seconds=600)
        kept, told = 0, None
        while told is None and kept < 500:
            try:
                await store.append(lease, [assistant(os.urandom(200_000).hex())])
                kept += 1
            except StoreFull as error:
                told = error
        assert told is not None
        assert "Free some space" in told.hint
        assert 0 < kept == len(await texts(store, session.id))
        await store.close()
    finally:
        with psycopg.connect(own_server.url(), autocommit=True) as boss:
            boss.execute("DROP DATABASE IF EXISTS small WITH (FORCE)")
            boss.execute("DROP TABLESPACE IF EXISTS small")
        subprocess.run(["umount", place], check=True)


class Writing:
    """One writer process, and everything it said was acknowledged."""

    def __init__(self, url: str, name: str) -> None:
        self.name, self.lines = name, list[str]()
        self.process = subprocess.Popen(
            [sys.executable, str(WRITER), "postgres", url, name], stdout=subprocess.PIPE, text=True
        )
        self._listener = threading.Thread(target=self.lines.extend, args=(self.process.stdout,))
        self._listener.start()

    def kill(self) -> set[tuple[int, ...]]:
        self.process.kill()
        self.process.wait()
        self._listener.join()
        assert self.process.stdout
        self.process.stdout.close()
        return {tuple(map(int, line.split())) for line in self.lines if line.endswith("\n")}


@pytest.mark.timeout(0)
@pytest.mark.parametrize("rounds", [6, pytest.param(200, marks=pytest.mark.soak)])
async def test_nothing_acknowledged_is_lost_when_server_and_writers_are_killed(own_server, store, rounds):
    chance, names = random.Random(rounds), [f"killed_{number}" for number in range(3)]
    said: dict[str, set] = {name: set() for name in names}
    for name in names:
        await store.create(id=SessionId(name))
    writers = [Writing(own_server.url(), name) for name in names]
    for turn in range(rounds):
        await asyncio.sleep(chance.uniform(0.5, 1.2))
        if turn % 3 == 2:
            at = chance.randrange(3)
            said[names[at]] |= writers[at].kill()
            writers[at] = Writing(own_server.url(), names[at])
            continue
        own_server.kill() if turn % 3 else own_server.stop("immediate")
        await asyncio.sleep(chance.uniform(0.0, 0.3))
        own_server.start()
    await asyncio.sleep(1.0)
    for writer in writers:
        said[writer.name] |= writer.kill()
    for name in names:
        kept = [(kept.seq, int(kept.item.content.split()[2])) async for kept in store.read(SessionId(name))]
        assert said[name] <= set(kept), "an acknowledged append is missing"
        assert [seq for seq, _ in kept] == list(range(1, len(kept) + 1)), "numbers have a gap or a repeat"
        assert len(said[name]) > rounds
    assert (await store.verify()).problems == ()


async def test_while_the_server_is_away_nothing_else_in_the_process_waits_with_the_store(own_server, store):
    session = await store.create()
    own_server.stop("immediate")
    waiting = [asyncio.create_task(store.get(session.id)) for _ in range(40)]
    await asyncio.sleep(0.2)  # by now every thread of the store waits for the server
    begun = time.monotonic()
    await asyncio.to_thread(time.monotonic)
    assert time.monotonic() - begun < 2
    own_server.start()
    assert {one.id for one in await asyncio.gather(*waiting)} == {session.id}


async def test_a_line_that_broke_during_the_commit_is_said_to_be_uncertain(own_server, store, monkeypatch):
    """Nobody may repeat such a step by itself: it may have been kept."""
    session = await store.create()
    lease = await store.lease(session.id, holder="test", surface="cli", seconds=600)

    send = PostgresDb._send_queue

    def break_and_send(db):
        if db.is_committing:
            with psycopg.connect(own_server.url(), autocommit=True) as boss:
                boss.execute("SELECT pg_terminate_backend(%s, 5000)", (db._connection.info.backend_pid,))
        send(db)

    monkeypatch.setattr(PostgresDb, "_send_queue", break_and_send)
    with pytest.raises(SojournError) as told:
        await store.append(lease, [assistant("was it kept?")])
    assert "may be stored or not" in str(told.value)
    monkeypatch.undo()
    assert await texts(store, session.id) == []
