"""matrix, on a real Synapse."""

import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest

from sojourn.core.errors import BadInput, SendRefused
from sojourn.core.places import Place
from sojourn.platforms.matrix.adapter import Matrix
from sojourn.platforms.matrix.content import is_mentioned, read_relation
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_steps import listening
from tests.integration.gateway.network_steps import hand_over_and_go_on
from tests.servers.synapse import ENCRYPTION, MatrixHarness, World, synapse


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with synapse(tmp_path_factory.mktemp("synapse")) as port:
        yield World(port)


@pytest.fixture
async def harness(world: World) -> AsyncIterator[MatrixHarness]:
    async with MatrixHarness(world) as harness:
        yield harness


@pytest.fixture
async def adapter(harness: MatrixHarness) -> AsyncIterator[Matrix]:
    made = harness.connect()
    yield made
    await made.close()


class TestMatrix(PlatformContract):
    pass


async def test_a_session_goes_on_where_it_was_handed_over_to(harness: MatrixHarness, home, store):
    await hand_over_and_go_on(harness, home, store)


def at(room: str) -> Place:
    return Place(platform="matrix", chat=room)


async def test_follows_an_invitation_and_hears_what_was_said_with_it(harness: MatrixHarness, adapter: Matrix):
    async with listening(harness, adapter) as ear:
        room = await harness.make_room(harness.people[0].id, harness.us, join=False, is_direct=True)
        await harness.write(at(room), "are you there?", harness.people[0])
        heard = await ear.hear()
    assert (heard.text, heard.place.kind) == ("are you there?", "dm")
    assert adapter.home(room) == heard.place


async def test_the_past_of_a_group_is_not_heard_on_joining(harness: MatrixHarness, adapter: Matrix):
    ann, ben = harness.people
    async with listening(harness, adapter) as ear:
        room = await harness.make_room(ann.id, ben.id)
        await harness.write(at(room), "long before", ann)
        await harness.ask("POST", f"/rooms/{room}/invite", ann.id, {"user_id": harness.us})
        await harness.until_joined(room)
        await harness.write(at(room), "sojourn, welcome", ann)
        assert (await ear.hear()).text == "sojourn, welcome"


async def test_more_than_one_answer_of_the_server_holds_is_heard_whole(harness: MatrixHarness, adapter: Matrix):
    """A server tells the newest twenty; what lies before is fetched."""
    chat = at(harness.chats["dm"])
    async with listening(harness, adapter) as ear:
        await harness.write(chat, "first", harness.people[0])
        await ear.hear()
        await ear.hears_nothing()
    texts = [f"while you were away {n}" for n in range(26)]
    for text in texts:
        await harness.write(chat, text, harness.people[0])
    async with listening(harness, adapter) as ear:
        assert [(await ear.hear()).text for _ in texts] == texts


async def test_a_group_says_whether_we_are_named(harness: MatrixHarness, adapter: Matrix):
    async with listening(harness, adapter) as ear:
        for text in ("nice weather", "Sojourn, is it?"):
            await harness.write(at(harness.chats["group"]), text, harness.people[0])
        assert [(await ear.hear()).mentioned for _ in range(2)] == [False, True]


async def test_a_thread_speaks_to_us_if_we_began_it(harness: MatrixHarness, adapter: Matrix):
    group, ann = at(harness.chats["group"]), harness.people[0]
    theirs = await harness.write(group, "who comes?", ann)
    ours = await adapter.create_handoff_thread(group, "A thread of ours")
    async with listening(harness, adapter) as ear:
        await harness.write(replace(group, kind="thread", thread=theirs), "I do", ann)
        await harness.write(ours, "hello there", ann)
        assert [(await ear.hear()).mentioned for _ in range(2)] == [False, True]


async def test_an_answer_comes_without_what_it_quotes_and_a_correction_is_not_heard(
    harness: MatrixHarness, adapter: Matrix
):
    room, ann = harness.chats["dm"], harness.people[0].id
    async with listening(harness, adapter) as ear:
        sent = await adapter.send(at(room), "which one?")
        answer = {"msgtype": "m.text", "body": "> <@sojourn> which one?\n\nthe second"}
        id = await harness.post(room, answer | {"m.relates_to": {"m.in_reply_to": {"event_id": sent.id}}}, ann)
        new = {"msgtype": "m.text", "body": "the third"}
        change = {"m.new_content": new, "m.relates_to": {"rel_type": "m.replace", "event_id": id}}
        await harness.post(room, new | change, ann)
        heard = await ear.hear()
        assert (heard.text, heard.reply_to) == ("the second", sent.id)
        await ear.hears_nothing()


async def test_a_file_that_is_gone_is_said(harness: MatrixHarness, adapter: Matrix):
    content = {"msgtype": "m.image", "body": "dot.png", "url": "mxc://localhost/gone"}
    async with listening(harness, adapter) as ear:
        await harness.post(harness.chats["dm"], content, harness.people[0].id)
        heard = await ear.hear()
    assert heard.text.startswith("[dot.png could not be downloaded")
    assert heard.files == ()


async def test_markdown_is_shown_formatted(harness: MatrixHarness, adapter: Matrix):
    sent = await adapter.send(at(harness.chats["dm"]), "**bold** <b>not</b>")
    event = await harness.ask("GET", f"/rooms/{harness.chats['dm']}/event/{sent.id}", harness.people[0].id)
    assert event["content"]["formatted_body"] == "<p><strong>bold</strong> &lt;b&gt;not&lt;/b&gt;</p>"


@pytest.mark.parametrize("is_listening", [True, False])
async def test_nothing_is_written_in_clear_into_an_encrypted_room(
    harness: MatrixHarness, adapter: Matrix, is_listening: bool
):
    room = await harness.make_room(harness.people[0].id, harness.us, initial_state=[ENCRYPTION])
    async with listening(harness, adapter) if is_listening else nullcontext():
        with pytest.raises(SendRefused, match="`encryption` is off") as refused:
            await adapter.send(at(room), "a secret")
    assert refused.value.kind == "forbidden"


async def test_an_encrypted_room_is_told_why_it_is_not_read(harness: MatrixHarness, adapter: Matrix):
    room, ann = (
        await harness.make_room(harness.people[0].id, harness.us, initial_state=[ENCRYPTION]),
        harness.people[0].id,
    )
    async with listening(harness, adapter) as ear:
        content = {"algorithm": "m.megolm.v1.aes-sha2", "session_id": "x", "device_id": "x", "ciphertext": "x"}
        for _ in range(2):
            path = f"/rooms/{room}/send/m.room.encrypted/{uuid.uuid4().hex}"
            await harness.ask("PUT", path, ann, content | {"sender_key": "x"})
        await harness.write(at(harness.chats["dm"]), "hello", harness.people[0])
        assert (await ear.hear()).text == "hello"
    newest = await harness.ask("GET", f"/rooms/{room}/messages?dir=b&limit=20", ann)
    said = [
        one["content"]["body"] for one in newest["chunk"] if one["sender"] == harness.us and "body" in one["content"]
    ]
    assert said == ["Messages in encrypted rooms are not read: `encryption` is off."]


async def test_a_person_names_the_room_with_them(harness: MatrixHarness, adapter: Matrix):
    async with listening(harness, adapter):
        assert adapter.home(harness.people[0].id).kind == "dm"
    for words in ("@nobody:localhost", "#alias:localhost", "somewhere"):
        with pytest.raises(BadInput):
            adapter.home(words)


MALFORMED: dict[str, dict[str, Any]] = {  # what a client, or another server, may put beside a text
    "relation that is a text": {"m.relates_to": "x"},
    "relation that is a list": {"m.relates_to": ["m.thread"]},
    "thread without a message": {"m.relates_to": {"rel_type": "m.thread"}},
    "thread of a number": {"m.relates_to": {"rel_type": "m.thread", "event_id": 7}},
    "thread that leads elsewhere": {"m.relates_to": {"rel_type": "m.thread", "event_id": "$../.."}},
    "reply to a text": {"m.relates_to": {"m.in_reply_to": "x"}},
    "reply to a list": {"m.relates_to": {"m.in_reply_to": {"event_id": ["x"]}}},
    "mentions that are a list": {"m.mentions": ["x"]},
    "mentions of a number": {"m.mentions": {"user_ids": 7}},
    "mentions of nobody": {"m.mentions": {"user_ids": None}},
    "picture without a description": {"msgtype": "m.image", "url": "mxc://x", "info": "x"},
    "picture elsewhere": {"msgtype": "m.image", "url": "https://elsewhere.example/a.png", "filename": ["a"]},
}


async def test_what_has_another_form_stops_nothing(harness: MatrixHarness, adapter: Matrix):
    """Whoever writes chooses all of it. An error would end the connection, and come back with the message. What our
    Synapse refuses from its own people would come from another server, or encrypted: it is read here."""
    group, ann = at(harness.chats["group"]), harness.people[0]
    async with listening(harness, adapter) as ear:
        for name, more in MALFORMED.items():
            content = {"msgtype": "m.text", "body": name} | more
            assert not is_mentioned(content, "@zoe:x")
            assert read_relation(content).thread == ""
            is_taken = await harness.try_to_post(group.chat, content, ann.id)
            await harness.write(group, f"behind {name}", ann)
            if is_taken:
                assert name in (await ear.hear()).text
            assert (await ear.hear()).text == f"behind {name}"


async def test_an_invitation_that_cannot_be_followed_stops_nothing(harness: MatrixHarness, adapter: Matrix):
    """It stays for ever, when a room's server is gone."""
    async with listening(harness, adapter) as ear:
        harness.refuse_to_let_us_in()
        room = await harness.make_room(harness.people[0].id, harness.us, join=False)
        await harness.write(at(harness.chats["dm"]), "still there?", harness.people[0])
        assert (await ear.hear()).text == "still there?"
        assert room not in adapter._client.rooms
