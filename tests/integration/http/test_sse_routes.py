"""Streams: numbered frames that go on where they ended, and that end when the server does."""

import asyncio
import json

import pytest

from sojourn.core.errors import StoreLocked
from sojourn.core.events import Chunk, Done, Failed, Metadata, Progress
from sojourn.core.messages import assistant, user
from sojourn.http.sse import EventStream, Streams
from sojourn.text.codec import decode_recorded
from tests.integration.http.conftest import Listener, say


@pytest.fixture
async def session(store):
    made = await store.create(title="live")
    turn = [user("hello"), Metadata(runtime="echo"), Progress("thinking"), Chunk("hi\r\n\u2028 \udc80")]
    await say(store, made, *turn, assistant("hi"), Failed("x", "y"), Done())
    return made


async def test_a_session_is_told_from_the_beginning_and_then_live(app, store, session):
    listener = Listener(app, f"/api/sessions/{session.id}/events", "include=messages")
    told = await listener.frames(7)
    assert [frame["event"] for frame in told] == [
        "message",
        "metadata",
        "progress",
        "chunk",
        "message",
        "error",
        "done",
    ]
    assert [frame["id"] for frame in told] == ["1", "2", "3", "4", "5", "6", "7"]
    assert json.loads(told[0]["data"])["id"] == f"{session.id}:1"
    assert json.loads(told[3]["data"])["text"] == "hi\r\n\u2028 \ufffd"
    assert json.loads(told[3]["data"]).keys() == {"text", "at", "turn_id"}
    await say(store, session, Chunk("more"))
    (frame,) = await listener.frames(1)
    assert (frame["event"], frame["id"]) == ("chunk", "8")
    await listener.hang_up()


async def test_only_the_five_events_are_told_unless_rows_are_asked_for(app, session):
    listener = Listener(app, f"/api/sessions/{session.id}/events")
    told = await listener.frames(5)
    assert [(frame["id"], frame["event"]) for frame in told] == [
        ("2", "metadata"),
        ("3", "progress"),
        ("4", "chunk"),
        ("6", "error"),
        ("7", "done"),
    ]
    assert json.loads(told[0]["data"])["session_id"] == session.id
    await listener.hang_up()


async def test_a_client_of_ours_gets_back_exactly_what_was_kept(app, store, session):
    listener = Listener(app, f"/api/sessions/{session.id}/events", headers=[(b"sojourn-form", b"exact")])
    told = await listener.frames(7)
    made = [decode_recorded(one["event"], int(one["id"]), json.loads(one["data"])) for one in told]
    assert made == [one async for one in store.read(session.id)]
    await listener.hang_up()


async def test_a_quiet_line_says_that_it_is_alive(app, session):
    app.state.streams = Streams(0.02)
    listener = Listener(app, f"/api/sessions/{session.id}/events")
    await listener.frames(5)
    while listener.beats < 3:
        await asyncio.sleep(0)
    await listener.hang_up()


@pytest.mark.parametrize(
    ("query", "headers"), [("after=5", []), ("", [(b"last-event-id", b"5")]), ("after=0", [(b"last-event-id", b"5")])]
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
    while session.id not in store.subscribers._by_name:
        await asyncio.sleep(0)
    await listener.hang_up()
    assert session.id not in store.subscribers._by_name


async def test_streams_end_cleanly_when_the_server_closes(app, session):
    listener = Listener(app, f"/api/sessions/{session.id}/events")
    await listener.frames(5)
    app.state.streams.close()
    await asyncio.wait_for(listener.task, 5)
    assert listener.ended
    late = Listener(app, f"/api/sessions/{session.id}/events")
    await asyncio.wait_for(late.task, 5)
    assert (late.status, late.ended, late.heard.empty()) == (200, True, True)


async def test_a_session_that_is_deleted_ends_its_stream(app, store, session):
    listener = Listener(app, f"/api/sessions/{session.id}/events")
    await listener.frames(5)
    await store.delete(session.id)
    await asyncio.wait_for(listener.task, 5)
    assert listener.ended


@pytest.mark.parametrize("query", ["after=-1", "after=x", f"after={2**63}"])
async def test_a_place_that_is_none_is_refused(client, session, query):
    assert (await client.get(f"/api/sessions/{session.id}/events?{query}")).status_code == 422


async def test_a_session_nobody_knows_cannot_be_followed(client):
    assert (await client.get("/api/sessions/nobody/events")).status_code == 404


async def sent(source):
    """All that an answer from this source says, and whether it came to its end."""
    said: list = []

    async def never():
        await asyncio.Event().wait()

    async def send(message):
        said.append(message)

    await EventStream(Streams(), source)({"type": "http"}, never, send)
    return b"".join(one.get("body", b"") for one in said), not said[-1].get("more_body", True)


async def test_a_store_that_fails_in_the_middle_ends_the_stream():
    async def source():
        yield b"one"
        raise StoreLocked("Locked.")

    assert await sent(source()) == (b"retry: 1000\n\none", True)


async def test_what_nobody_expected_breaks_the_answer_off():
    async def source():
        raise TimeoutError
        yield

    with pytest.raises(TimeoutError):
        await sent(source())
