"""Streams: numbered frames that go on where they ended, and that end when the server does."""

import asyncio
import json
from contextlib import aclosing

import pytest

from sojourn.core.errors import StoreLocked
from sojourn.core.events import Chunk, Done, Failed, Metadata, Progress
from sojourn.core.messages import assistant, user
from sojourn.http.sse import Streams
from tests.unit.http.conftest import BEARER, say


class Listener:
    """A client that reads frames as they come, below the client library, which would wait for the end."""

    def __init__(self, app, path, query="", headers=()):
        self.heard: asyncio.Queue = asyncio.Queue()
        self.status, self.ended = 0, False
        self._gone = asyncio.Event()
        self._asked = False
        head = [(b"host", b"localhost"), (b"authorization", BEARER["Authorization"].encode()), *headers]
        scope = {
            "type": "http", "method": "GET", "path": path, "query_string": query.encode(), "headers": head,
            "asgi": {"version": "3.0", "spec_version": "2.3"}, "http_version": "1.1", "scheme": "http",
            "raw_path": path.encode(), "root_path": "", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
        }  # fmt: skip
        self.task = asyncio.create_task(app(scope, self._receive, self._send))

    async def _receive(self):
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message):
        if message["type"] == "http.response.start":
            self.status = message["status"]
        else:
            for block in message["body"].decode().split("\n\n"):
                if block:
                    self.heard.put_nowait(dict(line.split(": ", 1) for line in block.split("\n")))
            self.ended = not message.get("more_body")

    async def frames(self, number):
        return [await asyncio.wait_for(self.heard.get(), 5) for _ in range(number)]

    async def hang_up(self):
        self._gone.set()
        await asyncio.wait_for(self.task, 5)


@pytest.fixture
async def session(store):
    made = await store.create(title="live")
    turn = [user("hello"), Metadata(runtime="echo"), Progress("thinking"), Chunk("hi\r\n\u2028 \udc80")]
    await say(store, made, *turn, assistant("hi"), Failed("x", "y"), Done())
    return made


async def test_a_session_is_told_from_the_beginning_and_then_live(app, store, session):
    listener = Listener(app, f"/api/sessions/{session.id}/events")
    told = await listener.frames(7)
    assert [frame["event"] for frame in told] == [
        "message", "metadata", "progress", "chunk", "message", "error", "done",
    ]  # fmt: skip
    assert [frame["id"] for frame in told] == ["1", "2", "3", "4", "5", "6", "7"]
    assert json.loads(told[0]["data"])["id"] == f"{session.id}:1"
    assert json.loads(told[3]["data"])["text"] == "hi\r\n\u2028 \ufffd"
    assert json.loads(told[3]["data"]).keys() == {"text", "at", "turn_id"}
    await say(store, session, Chunk("more"))
    (frame,) = await listener.frames(1)
    assert (frame["event"], frame["id"]) == ("chunk", "8")
    await listener.hang_up()


@pytest.mark.parametrize(
    ("query", "headers"),
    [("after=5", []), ("", [(b"last-event-id", b"5")]), ("after=0", [(b"last-event-id", b"5")])],
)
async def test_it_goes_on_where_it_ended(app, session, query, headers):
    listener = Listener(app, f"/api/sessions/{session.id}/events", query, headers)
    assert [frame["id"] for frame in await listener.frames(2)] == ["6", "7"]
    await listener.hang_up()


async def test_the_feed_tells_from_now_on_and_says_where_that_is(app, store, session):
    now = await store.last_change()
    listener = Listener(app, "/api/changes")
    (start,) = await listener.frames(1)
    assert start["id"] == str(now)
    other = await store.create()
    (frame,) = await listener.frames(1)
    told = json.loads(frame["data"])
    assert (frame["event"], told["kind"], told["session"], int(frame["id"])) == (
        "created",
        "created",
        other.id,
        told["n"],
    )
    await listener.hang_up()


async def test_the_feed_can_be_told_from_the_beginning(app, store, session):
    listener = Listener(app, "/api/changes", "after=0")
    frames = await listener.frames(2)
    assert frames[1]["event"] in ("created", "log")
    await listener.hang_up()


async def test_hanging_up_stops_the_watching(app, store, session):
    listener = Listener(app, f"/api/sessions/{session.id}/events", "after=7")
    while session.id not in store.waiters._waiting:
        await asyncio.sleep(0)
    await listener.hang_up()
    assert session.id not in store.waiters._waiting


async def test_streams_end_cleanly_when_the_server_closes(app, session):
    listener = Listener(app, f"/api/sessions/{session.id}/events")
    await listener.frames(7)
    app.state.streams.close()
    await asyncio.wait_for(listener.task, 5)
    assert listener.ended
    late = Listener(app, f"/api/sessions/{session.id}/events")
    await asyncio.wait_for(late.task, 5)
    assert (late.status, late.ended, late.heard.empty()) == (200, True, True)


async def test_a_session_that_is_deleted_ends_its_stream(app, store, session):
    listener = Listener(app, f"/api/sessions/{session.id}/events")
    await listener.frames(7)
    await store.delete(session.id)
    await asyncio.wait_for(listener.task, 5)
    assert listener.ended


@pytest.mark.parametrize("query", ["after=-1", "after=x", f"after={2**63}"])
async def test_a_place_that_is_none_is_refused(client, session, query):
    assert (await client.get(f"/api/sessions/{session.id}/events?{query}")).status_code == 422


async def test_a_session_nobody_knows_cannot_be_followed(client):
    assert (await client.get("/api/sessions/nobody/events")).status_code == 404


async def test_a_store_that_fails_in_the_middle_ends_the_stream():
    async def source():
        yield 1
        raise StoreLocked("Locked.")

    async with aclosing(Streams().frames(source(), lambda item: item)) as frames:
        assert [frame async for frame in frames] == [1]


async def test_a_time_out_of_the_source_is_not_taken_for_the_end():
    async def source():
        raise TimeoutError
        yield

    with pytest.raises(TimeoutError):
        await anext(Streams().frames(source(), lambda item: item))
