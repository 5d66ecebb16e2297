"""A secret that a model writes in pieces is neither stored nor shown, whole or in part."""

import asyncio
import json

import httpx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sojourn.core.events import Chunk, Done, Progress
from sojourn.core.messages import Message, assistant, text_of
from sojourn.ports.service import TurnRequest
from sojourn.service.local import LocalService
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.testing.app import FakeApp, make_settings
from sojourn.testing.scripted_runtime import Emit, Fail, ScriptedRuntime
from sojourn.testing.service_steps import ME, follow, join_chunks, opened, talk
from sojourn.text.redaction import redact
from tests.contracts.http_service import TOKEN, Served

KEY = "sk-proj-" + "Ab1" * 12
TEXT = f"The key is {KEY} and password: hunter2222, keep it."


def cut(text, size):
    return [text[at : at + size] for at in range(0, len(text), size)]


@pytest.fixture
def runtime():
    return ScriptedRuntime()


@pytest.fixture
async def service(home, runtime):
    store = SqliteStore(home / "state.db")
    service = LocalService(FakeApp(store=store, settings=make_settings(home), runtimes=[runtime]))
    yield service
    await service.close()
    await store.close()


def bytes_on_disk(home):
    return b"".join(file.read_bytes() for file in home.glob("state.db*"))


@pytest.mark.parametrize("size", [1, 3, 7, 20])
async def test_a_secret_in_pieces_is_in_no_file_and_no_event(service, runtime, home, size):
    pieces = cut(TEXT, size)
    thoughts = [Emit(Progress("thinking", {"text": piece})) for piece in pieces]
    runtime.on("tell", *thoughts, *(Emit(Chunk(piece)) for piece in pieces), Emit(assistant(TEXT)))
    session = await opened(service)
    kept = await talk(service, session, "tell")
    assert join_chunks(kept) == redact(TEXT)
    thought = [one.item.detail["text"] for one in kept if getattr(one.item, "stage", "") == "thinking"]
    assert "".join(thought) == redact(TEXT)
    [answer] = [one.item for one in kept if isinstance(one.item, Message) and one.item.role == "assistant"]
    assert text_of(answer) == redact(TEXT)
    await service.close()
    disk = bytes_on_disk(home)
    assert b"Ab1Ab1" not in disk
    assert b"hunter2" not in disk


async def test_a_turn_that_fails_inside_a_secret_stores_nothing_of_it(service, runtime):
    runtime.on("tell", *(Emit(Chunk(piece)) for piece in cut(f"it is {KEY}", 4)), Fail(RuntimeError("gone")))
    session = await opened(service)
    kept = await talk(service, session, "tell")
    shown = [text_of(one.item) for one in kept if isinstance(one.item, Message) and one.item.role == "assistant"]
    assert shown == ["it is [redacted:api-key]"]
    assert join_chunks(kept) == "it is [redacted:api-key]"


async def test_no_frame_of_the_http_stream_holds_a_part_of_it(home, runtime):
    pieces = cut(TEXT, 5)
    runtime.on("tell", *(Emit(Chunk(piece)) for piece in pieces), Emit(assistant(TEXT)))

    def make_kit():
        return FakeApp(
            store=SqliteStore(home / "state.db"),
            settings=make_settings(home, gateway_embedded=False),
            runtimes=[runtime],
            make_service=LocalService,
        )

    with Served(make_kit) as served:
        async with httpx.AsyncClient(
            base_url=served.server.address, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=20
        ) as client:
            session = (await client.post("/api/sessions", json={})).json()["id"]
            begun = (await client.post(f"/api/sessions/{session}/turns", json={"message": "tell"})).json()
            live = await read_frames(client, session, begun["after"])
            points = [begun["after"], *(seq for seq, _, _ in live[:-1])]
            after = [await read_frames(client, session, seq) for seq in points]
    texts = {seq: text for seq, name, text in live if name == "chunk"}
    assert "".join(texts.values()) == redact(TEXT)
    assert "Ab1Ab1" not in repr(live)
    for seq, frames in zip(points, after, strict=True):
        seen = "".join(text for number, text in texts.items() if number <= seq)
        assert seen + "".join(text for _, name, text in frames if name == "chunk") == redact(TEXT)


async def read_frames(client, session, after):
    """The frames of a session's stream up to `done`: number, name, text."""
    frames, name, text = [], "", ""
    async with (
        asyncio.timeout(20),
        client.stream("GET", f"/api/sessions/{session}/events", params={"after": after}) as stream,
    ):
        async for line in stream.aiter_lines():
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                text = json.loads(line[6:]).get("text", "")
            elif line.startswith("id: "):
                frames.append((int(line[4:]), name, text))
                if name == "done":
                    return frames
    return frames


words = st.text(alphabet="ab \n\x00\x1aé名'\"", max_size=6)
pieces_of_turns = st.lists(st.one_of(words, st.sampled_from([KEY, KEY[:9], "password: ", "hunter2222 "])), max_size=12)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(pieces=pieces_of_turns, breaks=st.sets(st.integers(0, 11), max_size=3))
async def test_any_reconnect_point_yields_the_same_text(service, runtime, pieces, breaks):
    said = f"tell {len(runtime.seen)}"
    steps = [Emit(Chunk(piece)) for piece in pieces]
    for at in sorted(breaks, reverse=True):
        steps.insert(at, Emit(Progress("memory", {"title": "x"})))
    runtime.on(said, *steps, Emit(assistant("".join(pieces) or "nothing")))
    session = await opened(service)
    turn = await service.say(session, TurnRequest(text=said), ME)
    live = await follow(service, turn)
    assert isinstance(live[-1].item, Done)
    whole = redact("".join(pieces))
    assert join_chunks(live) == whole
    for seen in live:
        before = [one for one in live if one.seq <= seen.seq]
        later = await follow_from(service, turn, seen.seq) if seen is not live[-1] else []
        assert join_chunks(before) + join_chunks(later) == whole


async def follow_from(service, turn, after):
    found = []
    async with asyncio.timeout(20):
        async for one in service.watch(turn.session, after=after):
            found.append(one)
            if isinstance(one.item, Done):
                return found
    return found
