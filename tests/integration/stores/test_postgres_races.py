"""Two at once: PostgreSQL lets them run side by side, and the rows still obey."""

import asyncio
import threading

import psycopg
import pytest

from sojourn.core.errors import NotFound, TitleTaken
from sojourn.core.events import Chunk
from sojourn.core.messages import Message, assistant
from sojourn.core.sessions import OWNER, SessionId
from sojourn.ports.importer import Transcript
from sojourn.stores.postgres.db import WRITE
from sojourn.stores.postgres.store import PostgresStore
from sojourn.stores.sql import log
from sojourn.stores.sql.tables import TABLES_BY_NAME

pytestmark = pytest.mark.postgres


@pytest.fixture
async def stores(postgres_url):
    opened = [PostgresStore(postgres_url) for _ in range(4)]
    yield opened
    for store in opened:
        await store.close()


def transcript(count: int, **fields) -> Transcript:
    messages = [
        Message(role="user", content=f"line {n}", timestamp=float(n + 1), native_id=str(n)) for n in range(count)
    ]
    return Transcript(native_id="abc", fields={"started_at": 1.0, **fields}, messages=messages)


async def bring_in(store: PostgresStore, found: Transcript, mark: str = "1"):
    return (await store.ingest("test", "/home", [(mark, found)], principal=OWNER))[0]


async def test_of_two_who_want_a_title_one_gets_it(stores):
    for turn in range(10):
        wishes = [store.create(title=f"garden {turn}") for store in stores]
        done = await asyncio.gather(*wishes, return_exceptions=True)
        assert sum(not isinstance(one, BaseException) for one in done) == 1
        assert [type(one) for one in done if isinstance(one, BaseException)] == [TitleTaken] * 3


async def test_a_session_imported_twice_at_once_is_there_once(stores):
    done = await asyncio.gather(*(bring_in(store, transcript(40, title="garden")) for store in stores))
    assert {one.session for one in done} == {"abc"}
    assert sum(one.new_messages for one in done) == 40
    assert [kept.seq async for kept in stores[0].read(SessionId("abc"))] == list(range(1, 41))
    assert (await stores[0].verify()).clean


async def test_an_import_and_a_turn_do_not_take_the_same_number(stores):
    """The import has looked at the session and not yet written when the turn appends."""
    one, other, *_ = stores
    await bring_in(one, transcript(3))
    lease = await one.lease(SessionId("abc"), holder="test", surface="cli", seconds=600)

    async def chat():
        for n in range(30):
            await one.append(lease, [assistant(f"said {n}")])

    async def rescue():
        for n in range(15):
            await bring_in(other, transcript(4 + n), mark=str(n))

    await asyncio.gather(chat(), rescue())
    kept = [item.seq async for item in one.read(SessionId("abc"))]
    assert kept == list(range(1, 3 + 30 + 15 + 1))
    assert (await one.verify()).clean


async def test_appends_of_several_stores_are_numbered_without_gap(stores):
    session = await stores[0].create()
    lease = await stores[0].lease(session.id, holder="test", surface="cli", seconds=600)
    await asyncio.gather(*(store.append(lease, [assistant(str(n))]) for store in stores for n in range(20)))
    assert [kept.seq async for kept in stores[1].read(session.id)] == list(range(1, 81))


async def test_a_reader_sees_messages_and_events_of_one_moment(stores):
    """Between the two SELECTs of a page somebody appends: a later event must not hide an earlier message."""
    one, other, *_ = stores
    session = await one.create()
    lease = await one.lease(session.id, holder="test", surface="cli", seconds=600)

    def append(*items):
        other._transactions.run(lambda db: log.append(db, lease, items), WRITE)

    def read_with_a_pause(db):
        ask, count = db.fetch_all, 0

        def all_(sql, params=()):
            nonlocal count
            count += 1
            if count == 2:
                thread = threading.Thread(target=append, args=(assistant("two"), Chunk("three")))
                thread.start()
                thread.join()
            return ask(sql, params)

        db.fetch_all = all_
        return [item.seq for item in log.read_page(db, session.id, 0, False, 100)]

    await asyncio.to_thread(append, assistant("one"))
    assert await one._read(read_with_a_pause) == [1]
    assert [item.seq async for item in one.read(session.id)] == [1, 2, 3]


async def test_a_word_to_a_turn_whose_session_is_deleted_leaves_nothing(stores, postgres_url):
    one, other, *_ = stores
    for _ in range(15):
        session = await one.create()
        said, _gone = await asyncio.gather(
            other.send_control(session.id, "stop"), one.delete(session.id), return_exceptions=True
        )
        assert not isinstance(said, BaseException) or isinstance(said, NotFound)
    with psycopg.connect(postgres_url) as connection:
        assert connection.execute("SELECT count(*) FROM controls").fetchone() == (0,)


async def test_an_attachment_survives_the_deletion_of_another_session_that_had_it(stores):
    one, other, *_ = stores
    for turn in range(15):
        first, second = await one.create(), await one.create()
        data = f"picture {turn}".encode()
        await one.put_blob(first.id, data, media_type="text/plain")
        digest, _ = await asyncio.gather(other.put_blob(second.id, data, media_type="text/plain"), one.delete(first.id))
        assert await other.get_blob(second.id, digest) == (data, "text/plain")


async def test_a_system_prompt_survives_the_deletion_of_another_session_that_had_it(stores):
    one, other, *_ = stores
    for turn in range(15):
        details = {"system_prompt": f"You are gardener {turn}."}
        first = await one.create(details=details)
        second, _ = await asyncio.gather(other.create(details=details), one.delete(first.id))
        assert (await other.get(second.id)).details["system_prompt"] == details["system_prompt"]


async def test_new_messages_are_numbered_after_imported_rows(stores):
    one, *_ = stores
    session = await one.create()
    shape = TABLES_BY_NAME["messages"].columns
    flags = {"structured": 0, "observed": 0, "active": 1, "compacted": 0}
    row = dict.fromkeys(shape) | flags | {"id": 5000, "session_id": session.id, "seq": 1, "timestamp": 1.0}
    row |= {"role": "user", "content": "tulip"}
    await one.import_rows("messages", [tuple(row[name] for name in shape)])
    await one._write(
        lambda db: db.execute("UPDATE sessions SET last_seq = 1, message_count = 1 WHERE id = ?", (session.id,))
    )
    lease = await one.lease(session.id, holder="test", surface="cli")
    await one.append(lease, [assistant("rose")])
    ids = await one._read(lambda db: [row["id"] for row in db.fetch_all("SELECT id FROM messages ORDER BY seq")])
    assert ids == [5000, 5001]


async def test_a_scanner_knows_when_nothing_was_written(stores):
    one, other, *_ = stores
    session = await one.create()
    history = one.history()
    before = history.fingerprint()
    await other.get(session.id)
    assert history.fingerprint() == before
    await other.change(session, session)
    assert history.fingerprint() != before
    history.close()


async def test_what_follows_a_cancelled_write_is_written_after_it(stores, postgres_url):
    one, *_ = stores
    session = await one.create()
    lease = await one.lease(session.id, holder="test", surface="cli", seconds=600)
    with psycopg.connect(postgres_url) as other:
        other.execute("SELECT 1 FROM sessions FOR UPDATE")
        gone = asyncio.create_task(one.append(lease, [assistant("gone")]))
        await asyncio.sleep(0.1)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        assert gone.cancelled()
        here = asyncio.create_task(one.append(lease, [assistant("here")]))
        await asyncio.sleep(0.1)
        other.rollback()
    await here
    assert [kept.item.content async for kept in one.read(session.id)] == ["gone", "here"]


async def test_of_two_who_wait_for_each_other_both_get_through(stores):
    one, other, *_ = stores
    first, second = await one.create(), await one.create()
    met = threading.Barrier(2, timeout=20)

    def touch(*sessions):
        waits = [met]

        def work(db):
            for session in sessions:
                db.execute("UPDATE sessions SET pinned = pinned + 1 WHERE id = ?", (session,))
                if waits:  # only the first time: the second time the other one is through
                    waits.pop().wait()

        return work

    await asyncio.gather(one._write(touch(first.id, second.id)), other._write(touch(second.id, first.id)))
    pins = await one._read(lambda db: [row["pinned"] for row in db.fetch_all("SELECT pinned FROM sessions")])
    assert pins == [2, 2]


async def test_flags_may_be_given_as_yes_and_no(stores):
    one, *_ = stores
    session = await one.create(details={"expiry_finalized": True})
    assert (await one.get(session.id)).details["expiry_finalized"] == 1
