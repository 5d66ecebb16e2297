"""bluebubbles, on a server that speaks its wire."""

import logging

import pytest

from sojourn.core.errors import BadInput, PlatformDown, SendRefused
from sojourn.core.places import build_session_key
from sojourn.platforms.bluebubbles.messages import parse_row
from sojourn.ports.platform import CanReact, CanType, Sent
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_harness import PICTURE
from sojourn.testing.platform_steps import hear_one, listening, ours
from tests.servers.bluebubbles import ANN, BEN, GROUP, PASSWORD, MacRefused, bluebubbles_rig


@pytest.fixture
async def harness():
    async with bluebubbles_rig() as harness:
        yield harness


@pytest.fixture
async def adapter(harness):
    made = harness.connect()
    yield made
    await made.close()


class TestBluebubbles(PlatformContract):
    async def test_sends_files(self, harness, adapter, chat):
        """A caption is a message of its own; and the person has written before."""
        with pytest.raises(SendRefused, match="has to write first"):
            await adapter.send_file(chat, PICTURE)
        await hear_one(harness, adapter, chat, "send me a dot")
        sent = await adapter.send_file(chat, PICTURE, caption="a dot")
        words, picture = ours(await harness.read_messages(chat), harness)
        assert (words.text, picture.id) == ("a dot", sent.id)
        assert [one.data for one in picture.files] == [PICTURE.data]


class TestBluebubblesPrivate(TestBluebubbles):
    @pytest.fixture
    async def harness(self):
        async with bluebubbles_rig(private_api=True) as harness:
            yield harness

    async def test_reacts(self, harness, adapter, chat):
        """There are six signs."""
        heard = await hear_one(harness, adapter, chat, "something to see")
        sent = await adapter.send(chat, "something to like")
        await adapter.react(sent, "👍")
        await adapter.react(Sent(place=heard.place, id=heard.id), "❤️")
        shown = {one.id: one.reactions for one in await harness.read_messages(chat)}
        assert (shown[sent.id], shown[heard.id]) == (("👍",), ("❤️",))
        with pytest.raises(SendRefused, match="no reaction"):
            await adapter.react(sent, "👀")


async def test_only_the_private_api_reacts_and_types(harness, adapter):
    assert not isinstance(adapter, CanReact | CanType)
    async with bluebubbles_rig(private_api=True) as other:
        private = other.connect()
        assert isinstance(private, CanReact)
        heard = await hear_one(other, private, private.home(ANN.id), "hello")
        await private.typing(heard.place)
        await private.send(heard.place, "hi", reply_to=heard.id)
        await private.close()
    assert [name for name, _ in other.server.bodies] == ["read", "typing", "text"]
    assert other.server.bodies[-1][1]["selectedMessageGuid"] == heard.id
    assert other.server.bodies[-1][1]["method"] == "private-api"


async def test_a_private_api_that_is_not_connected_is_said(caplog):
    async with bluebubbles_rig(private_api=True) as harness:
        harness.server.has_private_api = False
        adapter = harness.connect()
        async with listening(harness, adapter):
            pass
        await adapter.close()
    assert "the Private API is not connected" in caplog.text


async def test_without_a_webhook_the_server_is_asked():
    async with bluebubbles_rig(polls=True) as harness:
        adapter = harness.connect()
        async with listening(harness, adapter) as ear:
            await harness.write(adapter.home(ANN.id), "hello", ANN)
            assert (await ear.hear()).text == "hello"
        assert not harness.server.webhooks
        await adapter.close()


async def test_the_webhook_is_registered_once_with_a_secret_and_follows_its_address(harness, adapter):
    async with listening(harness, adapter):
        pass
    [first] = harness.server.webhooks.values()
    assert first["events"] == ["new-message"]
    assert len(first["url"].rpartition("/")[2]) == 64
    assert PASSWORD not in first["url"]
    first["url"] = first["url"].replace("127.0.0.1", "192.168.7.7")
    for _ in range(2):
        async with listening(harness, adapter):
            pass
    [second] = harness.server.webhooks.values()
    assert "127.0.0.1" in second["url"]


async def test_everything_written_while_away_is_heard_in_order(harness, adapter):
    async with listening(harness, adapter) as ear:
        await harness.write(adapter.home(ANN.id), "here", ANN)
        await ear.hear()
        await ear.hears_nothing()
    await adapter.close()
    for n in range(130):  # more than a page
        await harness.write(adapter.home(BEN.id), f"away {n}", BEN)
    again = harness.connect()
    async with listening(harness, again) as ear:
        assert [(await ear.hear()).text for _ in range(130)] == [f"away {n}" for n in range(130)]
    await again.close()


async def test_what_was_written_before_the_first_start_is_left_alone(harness, adapter):
    await harness.write(adapter.home(ANN.id), "years ago", ANN)
    async with listening(harness, adapter) as ear:
        await ear.hears_nothing()


@pytest.mark.parametrize(
    "more",
    [
        {"associatedMessageType": "love", "associatedMessageGuid": "p:0/x"},
        {"associatedMessageType": "-like"},
        {"itemType": 1},
        {"groupActionType": 1},
        {"text": "\ufffc"},
        {"text": None},
        {"handle": None},
        {"handle": {"address": "nobody at all"}},
        {"chats": []},
        {"chats": [{"guid": "x", "style": 45}]},
        {"chats": [{"guid": f"iMessage;-;{ANN.id}", "style": 43}]},
        {"guid": 7},
    ],
)
async def test_what_no_person_wrote_to_us_is_left_out(harness, adapter, more):
    async with listening(harness, adapter) as ear:
        harness.server.fire(harness.server.add_row(f"iMessage;-;{ANN.id}", ANN.id, "no", **more))
        await harness.write(adapter.home(ANN.id), "yes", ANN)
        assert (await ear.hear()).text == "yes"


@pytest.mark.parametrize("number", [None, True, "7", -1, 2**63, 1.5])
def test_a_row_without_a_number_cannot_be_read_on_from(number):
    assert parse_row({"originalROWID": number, "guid": "x", "text": "words"}, "Sojourn") is None


async def test_one_person_is_one_place_under_every_service(harness, adapter):
    async with listening(harness, adapter) as ear:
        for guid in (f"iMessage;-;{ANN.id}", f"SMS;-;{ANN.id}", f"any;-;{ANN.id}"):
            harness.server.fire(harness.server.add_row(guid, ANN.id, "me again"))
        heard = [await ear.hear() for _ in range(3)]
    assert {build_session_key(one.place) for one in heard} == {build_session_key(adapter.home(ANN.id))}
    await adapter.send(heard[0].place, "hello")
    assert harness.server.bodies[-1][1]["chatGuid"] == f"any;-;{ANN.id}"  # what the Mac calls it now


async def test_who_has_not_written_is_written_to_in_a_new_chat(harness, adapter):
    sent = await adapter.send(adapter.home("New@Example.org"), "**hello**")
    name, body = harness.server.bodies[0]
    assert (name, body["addresses"], body["message"]) == ("new", ["new@example.org"], "hello")
    assert sent.id


async def test_in_a_group_a_name_addresses_us(harness, adapter):
    async with listening(harness, adapter) as ear:
        for text in ("hello all", "sojourn, are you there?", "sojourner"):
            await harness.write(adapter.home(GROUP), text, BEN)
        heard = [await ear.hear() for _ in range(3)]
    assert [one.mentioned for one in heard] == [False, True, False]
    assert {one.place.kind for one in heard} == {"group"}


async def test_a_timeout_may_have_been_sent_and_apples_errors_are_not_tried_again(harness, adapter):
    harness.server.faults = [
        MacRefused(504, "Gateway Timeout"),
        MacRefused(500, "iMessage Error"),
        MacRefused(500, "x"),
    ]
    with pytest.raises(PlatformDown):
        await adapter.send(adapter.home(ANN.id), "hello")
    for kind in ("unknown", "transient"):
        with pytest.raises(SendRefused) as refused:
            await adapter.send(adapter.home(ANN.id), "hello")
        assert refused.value.kind == kind


async def test_a_profile_is_the_apple_account(harness, adapter):
    assert (await adapter.identify()).name == "sojourn@example.org"


@pytest.mark.parametrize("name", ["", "ann", "a;b;c", "iMessage;+;x", "+49", "chat", "a b@c"])
def test_what_is_no_chat_is_refused(adapter, name):
    with pytest.raises(BadInput):
        adapter.home(name)


async def test_the_password_is_not_logged_by_us(harness, adapter, caplog):
    caplog.set_level(logging.DEBUG, logger="sojourn")
    caplog.set_level(logging.DEBUG, logger="uvicorn")
    harness.server.faults.append(MacRefused(400))
    with pytest.raises(SendRefused) as refused:
        await adapter.send(adapter.home(ANN.id), "hello")
    await hear_one(harness, adapter, adapter.home(ANN.id), "hello")
    assert PASSWORD not in str(refused.value) + "".join(
        one.getMessage() for one in caplog.records if one.name.startswith(("sojourn", "uvicorn"))
    )
