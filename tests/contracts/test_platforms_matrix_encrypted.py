"""matrix in encrypted rooms, on a real Synapse, with clients of the SDK that have keys of their own."""

import asyncio
import uuid
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest
from nio import AsyncClient, MegolmEvent, SyncResponse, ToDeviceMessage
from nio.exceptions import LocalProtocolError

from sojourn.core.errors import KeyRefused, PlatformDown, SendRefused
from sojourn.core.places import Place
from sojourn.core.settings import Secret
from sojourn.platforms.matrix import MatrixSettings
from sojourn.platforms.matrix.adapter import Matrix
from sojourn.platforms.matrix.sign_in import sign_in
from sojourn.platforms.matrix_encryption.device_signatures import OwnIdentity, build_seeds, find_identity
from sojourn.platforms.matrix_encryption.key_store import KeyStore
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_harness import PICTURE, PostedMessage
from sojourn.testing.platform_steps import listening
from tests.integration.gateway.worlds import world as gateway_world
from tests.servers.adapter_context import AdapterKit
from tests.servers.encrypted_synapse import EncryptedHarness, key_client, sync
from tests.servers.hostile_keys import build_hostile_answers
from tests.servers.synapse import World, synapse


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    with synapse(tmp_path_factory.mktemp("synapse")) as port:
        yield World(port, tmp_path_factory.mktemp("home"))


@pytest.fixture
async def harness(world: World) -> AsyncIterator[EncryptedHarness]:
    async with EncryptedHarness(world) as harness:
        yield harness


@pytest.fixture
async def adapter(harness: EncryptedHarness) -> AsyncIterator[Matrix]:
    made = harness.connect()
    yield made
    await made.close()


class TestEncryptedMatrix(PlatformContract):
    pass


def at(room: str) -> Place:
    return Place(platform="matrix", chat=room)


async def read_until(harness: EncryptedHarness, place: Place, text: str) -> list[PostedMessage]:
    async with asyncio.timeout(20):
        while True:
            found = await harness.read_messages(place)
            if any(text in one.text for one in found):
                return found
            await asyncio.sleep(0.05)


async def post_raw(harness: EncryptedHarness, room: str, content: dict[str, Any], by: str, kind: str) -> str:
    path = f"/rooms/{quote(room)}/send/{kind}/{uuid.uuid4().hex}"
    return str((await harness.ask("PUT", path, by, content))["event_id"])


async def test_a_session_is_handed_over_into_an_encrypted_room(harness: EncryptedHarness, adapter: Matrix, home, store):
    room, ann = harness.chats["dm"], harness.people[0]
    owner = {"gateway_owners": f"matrix:{ann.id}", "gateway_home": f"matrix:{room}"}
    async with gateway_world(home, store, **owner) as world:
        await world.start(adapter)
        await harness.until_listening()
        session = await world.session("where is the key?", title="The key")
        done = await world.hand_over(session, "matrix")
        assert done.state == "completed"
        thread = replace(at(room), kind="thread", thread=done.thread_id)
        await harness.write(thread, "under the mat", ann)
        shown = [one for one in await read_until(harness, thread, "under the mat") if one.by == harness.us]
        assert len(shown) >= 1
        assert world.runtime.seen[-1].session.id == session.id


async def test_two_first_messages_at_once_both_find_their_room(harness: EncryptedHarness, adapter: Matrix):
    chat = at(harness.chats["dm"])
    sent = await asyncio.gather(*(adapter.send(chat, f"number {n}") for n in range(4)))
    assert len({one.id for one in sent}) == 4


async def test_a_room_that_syncs_leave_out_is_written_to(harness: EncryptedHarness, adapter: Matrix, monkeypatch):
    """A server answers a first sync that meets a join with a token from after it, and no word of the room."""
    room, handle = harness.chats["dm"], adapter._client._handle_joined_rooms

    async def leave_out(response: SyncResponse) -> None:
        response.rooms.join.pop(room, None)
        await handle(response)

    monkeypatch.setattr(adapter._client, "_handle_joined_rooms", leave_out)
    async with listening(harness, adapter):
        assert room not in adapter._client.rooms
        await adapter.send(at(room), "welcome")
        await read_until(harness, at(room), "welcome")  # encrypted: the harness looks


async def test_nothing_is_written_unencrypted_to_a_room_whose_state_was_left_out(
    harness: EncryptedHarness, adapter: Matrix, monkeypatch
):
    room, handle = harness.chats["dm"], adapter._client._handle_joined_rooms

    async def leave_out(response: SyncResponse) -> None:
        for one in response.rooms.join.values():
            one.state.clear()
            one.timeline.events[:] = [event for event in one.timeline.events if isinstance(event, MegolmEvent)]
        await handle(response)

    monkeypatch.setattr(adapter._client, "_handle_joined_rooms", leave_out)
    monkeypatch.setattr(KeyStore, "load_encrypted_rooms", lambda self: set())
    async with listening(harness, adapter):
        assert not adapter._client.rooms[room].encrypted
        await adapter.send(at(room), "a secret")
        await read_until(harness, at(room), "a secret")


async def test_a_sync_that_was_cut_off_is_asked_for_again(harness: EncryptedHarness, adapter: Matrix, monkeypatch):
    handle = adapter._client._handle_joined_rooms

    async def time_out(response: object) -> None:
        monkeypatch.setattr(adapter._client, "_handle_joined_rooms", handle)
        raise TimeoutError

    monkeypatch.setattr(adapter._client, "_handle_joined_rooms", time_out)
    with pytest.raises(PlatformDown):
        await anext(adapter.listen())
    async with listening(harness, adapter) as ear:
        await harness.write(at(harness.chats["dm"]), "still there?", harness.people[0])
        assert (await ear.hear()).text == "still there?"
        assert set(harness.chats.values()) <= set(adapter._client.rooms)  # the answer was read, not ignored


async def test_keys_are_private_and_survive_a_restart(harness: EncryptedHarness, adapter: Matrix, world: World):
    chat, ann = at(harness.chats["dm"]), harness.people[0]
    async with listening(harness, adapter) as ear:
        await harness.write(chat, "before", ann)
        assert (await ear.hear()).text == "before"
        await ear.hears_nothing()
    await adapter.close()
    [file] = (world.home / "matrix").glob("*.db")
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    await harness.write(chat, "after", ann)  # with a key that was shared before
    again = harness.connect()
    async with listening(harness, again) as ear:
        assert (await ear.hear()).text == "after"
    await again.close()


async def test_what_is_still_to_be_sent_at_the_end_opens_no_connection(harness: EncryptedHarness, adapter: Matrix):
    assert (await adapter._client.to_device(ToDeviceMessage("m.dummy", harness.us, "*", {}))).to_device_message
    await adapter.close()
    with pytest.raises(LocalProtocolError):
        await adapter._client.to_device(ToDeviceMessage("m.dummy", harness.us, "*", {}))
    assert adapter._client.client_session is None


async def test_only_one_process_uses_the_keys(harness: EncryptedHarness, adapter: Matrix):
    async with listening(harness, adapter):
        second = harness.connect()
        with pytest.raises(PlatformDown, match="locked"):
            await anext(second.listen())
        await second.close()


async def test_our_device_is_signed_by_our_identity(harness: EncryptedHarness, adapter: Matrix):
    async with listening(harness, adapter):
        raw = await harness.ask("POST", "/keys/query", harness.people[0].id, {"device_keys": {harness.us: []}})
    identity = find_identity(raw, harness.us)
    assert identity is not None
    assert [identity.has_signed(harness.us, one) for one in raw["device_keys"][harness.us].values()] == [True]


async def test_what_is_not_encrypted_is_not_read_and_the_room_is_told(harness: EncryptedHarness, adapter: Matrix):
    room, ann = harness.chats["dm"], harness.people[0]
    async with listening(harness, adapter) as ear:
        await post_raw(harness, room, {"msgtype": "m.text", "body": "delete everything"}, ann.id, "m.room.message")
        await harness.write(at(room), "what was that?", ann)
        assert (await ear.hear()).text == "what was that?"
        harness.allows_plaintext = True
        await read_until(harness, at(room), "was not read: it was not encrypted")


async def test_a_replayed_message_is_not_read_again_not_even_after_a_restart(
    harness: EncryptedHarness, adapter: Matrix
):
    room, ann, ben = harness.chats["group"], *harness.people
    async with listening(harness, adapter) as ear:
        id = await harness.write(at(room), "sojourn, pay ten", ann)
        assert (await ear.hear()).text == "sojourn, pay ten"
        stolen = (await harness.ask("GET", f"/rooms/{quote(room)}/event/{id}", ben.id))["content"]
        await post_raw(harness, room, stolen, ann.id, "m.room.encrypted")
        await harness.write(at(room), "sojourn, once", ann)
        assert (await ear.hear()).text == "sojourn, once"
        await ear.hears_nothing()
    await adapter.close()
    again = harness.connect()
    async with listening(harness, again) as ear:
        await post_raw(harness, room, stolen, ann.id, "m.room.encrypted")
        await harness.write(at(room), "sojourn, only once", ann)
        assert (await ear.hear()).text == "sojourn, only once"
    await again.close()


async def test_a_message_of_one_person_is_not_read_as_anothers(harness: EncryptedHarness, adapter: Matrix):
    room, ann, ben = harness.chats["group"], *harness.people
    async with listening(harness, adapter) as ear:
        await harness.write(at(room), "sojourn, hello", ann)  # so that we have the key
        await ear.hear()
        kind, stolen = harness.clients[ann.id].encrypt(room, "m.room.message", {"msgtype": "m.text", "body": "sojourn"})
        await post_raw(harness, room, stolen, ben.id, kind)
        await harness.write(at(room), "sojourn, is that you?", ben)
        assert (await ear.hear()).text == "sojourn, is that you?"


async def encrypt_without_key(harness: EncryptedHarness, room: str, text: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """A message of the first person that nobody can read, and the key of it for our device, which is not sent yet."""
    client = harness.clients[harness.people[0].id]
    await sync(client)
    await client.joined_members(room)
    client.olm.users_for_key_query.add(harness.us)
    await client.keys_query()
    [device] = client.device_store.active_user_devices(harness.us)
    if client.olm.session_store.get(device.curve25519) is None:
        await client.keys_claim({harness.us: [device.id]})
    assert client.olm.session_store.get(device.curve25519) is not None
    client.olm.create_outbound_group_session(room)
    _, keys = client.olm.share_group_session(room, [harness.us], ignore_unverified_devices=True)
    assert keys["messages"][harness.us][device.id]
    client.olm.outbound_group_sessions[room].shared = True
    _, secret = client.encrypt(room, "m.room.message", {"msgtype": "m.text", "body": text})
    client.invalidate_outbound_session(room)
    return secret, keys


async def test_a_key_that_comes_late_is_waited_for_across_a_restart(harness: EncryptedHarness, adapter: Matrix):
    room, ann = harness.chats["dm"], harness.people[0].id
    async with listening(harness, adapter) as ear:  # publishes the keys of our device
        await harness.write(at(room), "first of all", harness.people[0])
        assert (await ear.hear()).text == "first of all"
        await ear.hears_nothing()
    secret, keys = await encrypt_without_key(harness, room, "better late")
    await post_raw(harness, room, secret, ann, "m.room.encrypted")
    async with listening(harness, adapter) as ear:
        await harness.write(at(harness.chats["group"]), "sojourn, in the meantime", harness.people[1])
        assert (await ear.hear()).text == "sojourn, in the meantime"
        await ear.hears_nothing()
    await adapter.close()
    again = harness.connect()
    async with listening(harness, again) as ear:
        await harness.ask("PUT", f"/sendToDevice/m.room.encrypted/{uuid.uuid4().hex}", ann, keys)
        assert (await ear.hear()).text == "better late"
        await ear.hears_nothing()
    await again.close()


async def test_garbage_from_anybody_does_not_stop_the_line(harness: EncryptedHarness, adapter: Matrix):
    """The SDK by itself ends its sync with an exception, again and again, for some of these."""
    eve = await harness.register(f"eve{uuid.uuid4().hex[:6]}")
    room = await harness.make_room(eve, harness.us)
    async with listening(harness, adapter) as ear:
        devices = await harness.ask("POST", "/keys/query", eve, {"device_keys": {harness.us: []}})
        [device] = devices["device_keys"][harness.us].values()
        key = device["keys"][f"curve25519:{device['device_id']}"]
        olm = {"algorithm": "m.olm.v1.curve25519-aes-sha2", "sender_key": key}
        for body in ({"type": 0, "body": "!"}, {"type": 1, "body": ""}, {"type": 1, "body": "AAAA"}, {"type": 7}):
            message = {"messages": {harness.us: {device["device_id"]: olm | {"ciphertext": {key: body}}}}}
            await harness.ask("PUT", f"/sendToDevice/m.room.encrypted/{uuid.uuid4().hex}", eve, message)
        megolm = {"algorithm": "m.megolm.v1.aes-sha2", "session_id": "x", "device_id": "x", "ciphertext": "x"}
        for content in (megolm, megolm | {"sender_key": ""}, megolm | {"sender_key": key}, {"algorithm": "rot13"}):
            await post_raw(harness, room, content, eve, "m.room.encrypted")
        await harness.write(at(harness.chats["dm"]), "still there?", harness.people[0])
        assert (await ear.hear()).text == "still there?"


_USER, _LOGIN = {"type": "m.id.user"}, {"type": "m.login.password", "password": "p"}


async def test_what_another_server_says_of_its_people_stops_nothing(
    harness: EncryptedHarness, adapter: Matrix, tmp_path
):
    """Whoever writes to us from a new device makes us ask for it."""
    dm, ann = at(harness.chats["dm"]), harness.people[0]
    overhear = harness._line.overhear
    async with listening(harness, adapter) as ear:
        await harness.write(dm, "before", ann)
        assert (await ear.hear()).text == "before"
        for n, answer in enumerate(build_hostile_answers()):
            answers = [answer]
            (tmp_path / str(n)).mkdir()

            def answer_once(said: bytes, left: list[bytes] = answers) -> bytes | None:
                return left.pop() if b"/keys/query" in said and left else overhear(said)

            harness._line.overhear = answer_once
            made = await harness.ask("POST", "/login", ann.id, {**_LOGIN, "identifier": {**_USER, "user": ann.id}})
            address = f"http://127.0.0.1:{harness._world.port}"
            async with key_client(address, ann.id, made["access_token"], tmp_path / str(n)) as client:
                words = {"msgtype": "m.text", "body": "from a new device"}
                await client.room_send(dm.chat, "m.room.message", words, ignore_unverified_devices=True)
            await harness.write(dm, f"behind {n}", ann)
            while (await ear.hear()).text != f"behind {n}":
                pass  # what the new device said, if its keys were asked for again in time
            assert answers == []


async def test_a_file_the_server_could_have_changed_is_not_read(harness: EncryptedHarness, adapter: Matrix):
    chat, ann = at(harness.chats["dm"]), harness.people[0]
    async with listening(harness, adapter) as ear:
        plain = {"msgtype": "m.image", "body": "dot.png", "url": "mxc://localhost/plain"}
        await harness.post(chat.chat, plain, ann.id)  # not heard: encrypted messages carry encrypted files
        harness.damage_files = True
        await harness.write(chat, "dot.png", ann, files=[PICTURE])
        heard = await ear.hear()
    assert (heard.files, heard.text) == ((), "[dot.png could not be downloaded: Mismatched SHA-256 digest.]")


async def test_devices_that_an_identity_has_not_signed_are_neither_read_nor_given_keys(
    harness: EncryptedHarness, adapter: Matrix, tmp_path
):
    """The homeserver, or whoever has the password, adds a device to an account, and then replaces its identity."""
    cleo = await harness.register(f"cleo{uuid.uuid4().hex[:6]}")
    await harness.open_client(cleo)
    first, mine = harness.clients[cleo], OwnIdentity(cleo, build_seeds())
    await harness.ask("POST", "/keys/device_signing/upload", cleo, mine.build_upload())
    await sign(harness, cleo, first.device_id, mine)
    room = await harness.make_room(cleo, harness.us)
    login = {"type": "m.login.password", "identifier": {"type": "m.id.user", "user": cleo}, "password": "p"}
    token = (await harness.ask("POST", "/login", cleo, login))["access_token"]
    async with key_client(first.homeserver, cleo, token, tmp_path) as second, listening(harness, adapter) as ear:
        await say(first, room, "it is me")
        assert (await ear.hear()).text == "it is me"
        await say(second, room, "so am I")
        await ear.hears_nothing(1)
        sent = await adapter.send(at(room), "for your eyes only")
        for client, can_read in ((first, True), (second, False)):
            await sync(client)
            event = (await client.room_get_event(room, sent.id)).event
            assert isinstance(event, MegolmEvent) != can_read
        await sign(harness, cleo, second.device_id, mine)
        await say(second, room, "now signed")
        assert (await ear.hear()).text == "now signed"
        forged = OwnIdentity(cleo, build_seeds())
        await harness.ask("POST", "/keys/device_signing/upload", cleo, forged.build_upload() | {"auth": login})
        await sign(harness, cleo, second.device_id, forged)
        await say(second, room, "trust me")
        await ear.hears_nothing(1)
    await adapter.close()
    harness.identities = (f"{cleo} {forged.master}",)  # it was really them
    told = harness.connect()
    async with listening(harness, told) as ear:
        await say(first, room, "from a device that is not signed anew")
        await ear.hears_nothing(1)
        await sign(harness, cleo, first.device_id, forged)
        await say(first, room, "signed anew")
        assert (await ear.hear()).text == "signed anew"
    await told.close()


async def say(client: AsyncClient, room: str, text: str) -> None:
    await sync(client)
    content = {"msgtype": "m.text", "body": text}
    await client.room_send(room, "m.room.message", content, ignore_unverified_devices=True)


async def sign(harness: EncryptedHarness, user: str, device: str, identity: OwnIdentity) -> None:
    raw = await harness.ask("POST", "/keys/query", user, {"device_keys": {user: []}})
    signed = identity.sign_device(raw["device_keys"][user][device])
    answer = await harness.ask("POST", "/keys/signatures/upload", user, {user: {device: signed}})
    assert not answer["failures"]


async def test_a_sign_in_makes_a_device_of_its_own_and_keeps_no_password(harness: EncryptedHarness, tmp_path):
    finn, ann = await harness.register(f"finn{uuid.uuid4().hex[:6]}"), harness.people[0]
    address = harness.clients[ann.id].homeserver
    await harness.open_client(finn)  # somebody else's client of the account
    wrong = sign_in({})
    assert (await anext(wrong)).has_question
    assert not (await wrong.asend(address)).is_secret
    assert (await wrong.asend(finn)).is_secret
    with pytest.raises(KeyRefused):
        await wrong.asend("not p")
    steps = sign_in({"homeserver": address, "user": finn})
    await anext(steps)
    kept = dict((await steps.asend("p")).settings or {})
    await steps.aclose()
    assert set(kept) == {"homeserver", "user", "access_token"}
    token = Secret(kept["access_token"])
    kit = AdapterKit(MatrixSettings(homeserver=kept["homeserver"], user=kept["user"], access_token=token), tmp_path)
    ours = Matrix(kit)
    await ours.send(at(await harness.make_room(ann.id, finn)), "from my own device")
    await ours.close()
    await kit.close()


async def test_a_token_of_another_programs_device_is_said(harness: EncryptedHarness, adapter: Matrix, tmp_path):
    dora = await harness.register(f"dora{uuid.uuid4().hex[:6]}")
    ann = harness.people[0].id
    await harness.open_client(dora)  # which has published its keys
    kit = AdapterKit(
        MatrixSettings(
            homeserver=harness.clients[dora].homeserver,
            user=dora,
            access_token=Secret(harness.clients[dora].access_token),
        ),
        tmp_path,
    )
    ours = Matrix(kit)
    room = await harness.make_room(ann, dora)
    with pytest.raises(SendRefused, match="another program"):
        await ours.send(at(room), "a secret")
    await ours.close()
    await kit.close()
