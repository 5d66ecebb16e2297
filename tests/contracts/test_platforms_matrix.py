"""matrix, on a real Synapse."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import pytest

from sojourn.core.errors import BadInput, SendRefused
from sojourn.core.places import Place
from sojourn.platforms.matrix.adapter import Matrix
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_steps import listening
from tests.servers.synapse import MatrixRig, World, synapse


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with synapse(tmp_path_factory.mktemp("synapse")) as port:
        yield World(port)


@pytest.fixture
async def rig(world: World) -> AsyncIterator[MatrixRig]:
    async with MatrixRig(world) as rig:
        yield rig


@pytest.fixture
async def adapter(rig: MatrixRig) -> AsyncIterator[Matrix]:
    made = rig.connect()
    yield made
    await made.close()


class TestMatrix(PlatformContract):
    pass


def at(room: str) -> Place:
    return Place(platform="matrix", chat=room)


async def test_follows_an_invitation_and_hears_what_was_said_with_it(rig: MatrixRig, adapter: Matrix):
    async with listening(rig, adapter) as ear:
        room = await rig.make_room(rig.people[0].id, rig.us, join=False, is_direct=True)
        await rig.write(at(room), "are you there?", rig.people[0])
        heard = await ear.hear()
    assert (heard.text, heard.place.kind) == ("are you there?", "dm")
    assert adapter.home(room) == heard.place


async def test_the_past_of_a_group_is_not_heard_on_joining(rig: MatrixRig, adapter: Matrix):
    ann, ben = rig.people
    async with listening(rig, adapter) as ear:
        room = await rig.make_room(ann.id, ben.id)
        await rig.write(at(room), "long before", ann)
        await rig.ask("POST", f"/rooms/{room}/invite", ann.id, {"user_id": rig.us})
        await rig.until_joined(room)
        await rig.write(at(room), "sojourn, welcome", ann)
        assert (await ear.hear()).text == "sojourn, welcome"


async def test_more_than_one_answer_of_the_server_holds_is_heard_whole(rig: MatrixRig, adapter: Matrix):
    """A server tells the newest twenty; what lies before is fetched."""
    chat = at(rig.chats["dm"])
    async with listening(rig, adapter) as ear:
        await rig.write(chat, "first", rig.people[0])
        await ear.hear()
        await ear.hears_nothing()
    texts = [f"while you were away {n}" for n in range(26)]
    for text in texts:
        await rig.write(chat, text, rig.people[0])
    async with listening(rig, adapter) as ear:
        assert [(await ear.hear()).text for _ in texts] == texts


async def test_a_group_says_whether_we_are_named(rig: MatrixRig, adapter: Matrix):
    async with listening(rig, adapter) as ear:
        for text in ("nice weather", "Sojourn, is it?"):
            await rig.write(at(rig.chats["group"]), text, rig.people[0])
        assert [(await ear.hear()).mentioned for _ in range(2)] == [False, True]


async def test_a_thread_speaks_to_us_if_we_began_it(rig: MatrixRig, adapter: Matrix):
    group, ann = at(rig.chats["group"]), rig.people[0]
    theirs = await rig.write(group, "who comes?", ann)
    ours = await adapter.create_handoff_thread(group, "A thread of ours")
    async with listening(rig, adapter) as ear:
        await rig.write(replace(group, kind="thread", thread=theirs), "I do", ann)
        await rig.write(ours, "hello there", ann)
        assert [(await ear.hear()).mentioned for _ in range(2)] == [False, True]


async def test_an_answer_comes_without_what_it_quotes_and_a_correction_is_not_heard(rig: MatrixRig, adapter: Matrix):
    room, ann = rig.chats["dm"], rig.people[0].id
    async with listening(rig, adapter) as ear:
        sent = await adapter.send(at(room), "which one?")
        answer = {"msgtype": "m.text", "body": "> <@sojourn> which one?\n\nthe second"}
        id = await rig.post(room, answer | {"m.relates_to": {"m.in_reply_to": {"event_id": sent.id}}}, ann)
        new = {"msgtype": "m.text", "body": "the third"}
        change = {"m.new_content": new, "m.relates_to": {"rel_type": "m.replace", "event_id": id}}
        await rig.post(room, new | change, ann)
        heard = await ear.hear()
        assert (heard.text, heard.reply_to) == ("the second", sent.id)
        await ear.hears_nothing()


async def test_a_file_that_is_gone_is_said(rig: MatrixRig, adapter: Matrix):
    content = {"msgtype": "m.image", "body": "dot.png", "url": "mxc://localhost/gone"}
    async with listening(rig, adapter) as ear:
        await rig.post(rig.chats["dm"], content, rig.people[0].id)
        heard = await ear.hear()
    assert heard.text.startswith("[dot.png could not be downloaded")
    assert heard.files == ()


async def test_markdown_is_shown_formatted(rig: MatrixRig, adapter: Matrix):
    sent = await adapter.send(at(rig.chats["dm"]), "**bold** <b>not</b>")
    event = await rig.ask("GET", f"/rooms/{rig.chats['dm']}/event/{sent.id}", rig.people[0].id)
    assert event["content"]["formatted_body"] == "<p><strong>bold</strong> &lt;b&gt;not&lt;/b&gt;</p>"


async def test_nothing_is_written_in_clear_into_an_encrypted_room(rig: MatrixRig, adapter: Matrix):
    how = {"type": "m.room.encryption", "state_key": "", "content": {"algorithm": "m.megolm.v1.aes-sha2"}}
    room = await rig.make_room(rig.people[0].id, rig.us, initial_state=[how])
    async with listening(rig, adapter):
        with pytest.raises(SendRefused) as refused:
            await adapter.send(at(room), "a secret")
    assert refused.value.kind == "forbidden"


async def test_a_person_names_the_room_with_them(rig: MatrixRig, adapter: Matrix):
    async with listening(rig, adapter):
        assert adapter.home(rig.people[0].id).kind == "dm"
    for words in ("@nobody:localhost", "#alias:localhost", "somewhere"):
        with pytest.raises(BadInput):
            adapter.home(words)
