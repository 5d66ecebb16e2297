"""wecom, on a server that speaks the wire of its AI bots."""

import asyncio
import json
import logging

import pytest

from sojourn.core.errors import KeyRefused, PlatformDown, SendRefused
from sojourn.platforms.wecom import adapter as wecom_adapter
from sojourn.platforms.wecom import connection as wecom_connection
from sojourn.ports.platform import Button
from sojourn.testing.platform_abilities import BUTTONS
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_harness import PICTURE, InboundListener
from sojourn.testing.platform_steps import listening, ours
from tests.servers.wecom import ANN, BEN, GROUP, SECRET, Refused, wecom_rig


@pytest.fixture
async def harness():
    async with wecom_rig() as harness:
        yield harness


@pytest.fixture
async def adapter(harness):
    made = harness.connect()
    yield made
    await made.close()


class TestWecom(PlatformContract):
    """Three steps are tried as far as WeCom goes: only an answer can grow, a card is replaced only after a press, and
    a file has no caption."""

    async def test_edits_what_it_sent(self, harness, adapter, chat):
        async with listening(harness, adapter) as ear:
            await harness.write(chat, "tell me", ANN)
            heard = await ear.hear()
            sent = await adapter.send(heard.place, "half an ans …")
            for words in ("half an answer …", "half an answer, and …"):
                await adapter.edit(sent, words)  # too soon: WeCom counts every change
            assert [one.text for one in ours(await harness.read_messages(chat), harness)] == ["half an ans …"]
            await adapter.edit(sent, "half an answer, and the rest")
            [shown] = ours(await harness.read_messages(chat), harness)
            assert (shown.id, shown.text) == (sent.id, "half an answer, and the rest")
            assert harness.server.streams == {sent.id: True}
            with pytest.raises(SendRefused) as refused:
                await adapter.edit(sent, "too late")
            assert refused.value.kind == "forbidden"

    async def test_an_edit_takes_the_buttons_away(self, harness, adapter, chat):
        sent = await adapter.ask(chat, "May I?", BUTTONS)
        with pytest.raises(SendRefused):
            await adapter.edit(sent, "nobody pressed")
        async with listening(harness, adapter) as ear:
            [shown] = ours(await harness.read_messages(chat), harness)
            await harness.press(chat, shown, BUTTONS[0], BEN)
            await ear.hear()
            await adapter.edit(sent, "May I? → Yes")
        [shown] = ours(await harness.read_messages(chat), harness)
        assert (shown.text, shown.buttons) == ("May I? → Yes", ())

    async def test_sends_files(self, harness, adapter, chat):
        await adapter.send_file(chat, PICTURE, caption="a dot")
        caption, shown = ours(await harness.read_messages(chat), harness)
        assert (caption.text, [one.data for one in shown.files]) == ("a dot", [PICTURE.data])

    async def test_answers_in_place(self, harness, adapter, chat):
        """The answer is a stream of the same connection."""
        async with listening(harness, adapter) as ear:
            await harness.write(chat, "Where are you?", ANN)
            heard = await ear.hear()
            sent = await adapter.send(heard.place, "Here I am", reply_to=heard.id)
            second = await adapter.send(heard.place, "And more")
        answer, more = ours(await harness.read_messages(chat), harness)
        assert (answer.id, answer.text, sent.place) == (sent.id, "Here I am", heard.place)
        assert (more.text, second.id.startswith("message/")) == ("And more", True)
        assert harness.server.streams == {sent.id: True}


async def test_another_connection_that_takes_over_is_said_and_not_fought(harness, adapter):
    async with listening(harness, adapter) as ear:
        another = harness.connect()
        await another.send(another.home(ANN.id), "mine now")
        with pytest.raises(KeyRefused) as refused:
            await ear.hear()
        assert "one connection" in refused.value.hint
        subscribed = [one for one in harness.server.frames if one["cmd"] == "aibot_subscribe"]
        with pytest.raises(KeyRefused, match="taken over"):  # it does not take the bot back
            await adapter.send(adapter.home(ANN.id), "mine again")
        listener = InboundListener(adapter)
        with pytest.raises(KeyRefused, match="taken over"):
            await listener.hear()
        await listener.close()
        assert subscribed == [one for one in harness.server.frames if one["cmd"] == "aibot_subscribe"]
        await another.close()


async def test_an_answer_to_a_forgotten_message_is_a_message_of_its_own(harness, adapter):
    async with listening(harness, adapter) as ear:
        await harness.write(adapter.home(ANN.id), "hello", ANN)
        heard = await ear.hear()
        harness.server.requests.clear()
        assert (await adapter.send(heard.place, "hi")).id.startswith("message/")
        await harness.write(adapter.home(ANN.id), "hello", ANN)
        heard = await ear.hear()
        harness.server.faults.append(Refused(846608))
        assert (await adapter.send(heard.place, "hi")).id.startswith("message/")


@pytest.mark.parametrize("plain", [True, False])
async def test_nobody_is_called_by_what_a_model_writes(harness, adapter, plain):
    await adapter.send(adapter.home(f"group:{GROUP}"), "<@all> <@ann> look", plain=plain)
    [shown] = await harness.read_messages(adapter.home(f"group:{GROUP}"))
    assert "<@" not in shown.text
    assert shown.text.endswith("look")


async def test_a_growing_answer_is_changed_every_few_seconds(harness, adapter, monkeypatch):
    monkeypatch.setattr(wecom_adapter, "_EDIT_SECONDS", 0.0)
    async with listening(harness, adapter) as ear:
        await harness.write(adapter.home(ANN.id), "hello", ANN)
        sent = await adapter.send((await ear.hear()).place, "one …")
        await adapter.edit(sent, "one, two …")
    assert [one.text for one in await harness.read_messages(sent.place)] == ["one, two …"]
    assert harness.server.streams == {sent.id: False}


async def test_an_answer_that_ends_in_three_dots_is_finished(harness, adapter):
    async with listening(harness, adapter) as ear:
        await harness.write(adapter.home(ANN.id), "hello", ANN)
        sent = await adapter.send((await ear.hear()).place, "Well, I wonder…")
    assert harness.server.streams == {sent.id: True}


async def test_a_stream_that_is_too_old_is_finished_and_left(harness, adapter, monkeypatch):
    async with listening(harness, adapter) as ear:
        await harness.write(adapter.home(ANN.id), "hello", ANN)
        sent = await adapter.send((await ear.hear()).place, "one …")
        monkeypatch.setattr(wecom_adapter, "_STREAM_SECONDS", 0.0)
        with pytest.raises(SendRefused):
            await adapter.edit(sent, "two")
    assert harness.server.streams == {sent.id: True}  # it does not look as if it went on growing
    assert [one.text for one in await harness.read_messages(sent.place)][-1] == "one …"


@pytest.mark.parametrize(
    ("code", "kind"), [(45009, "rate_limited"), (40035, "bad_format"), (-1, "transient"), (7, "unknown")]
)
async def test_codes_become_kinds(harness, adapter, code, kind):
    harness.server.faults.append(Refused(code))
    with pytest.raises(SendRefused) as refused:
        await adapter.send(adapter.home(ANN.id), "hello")
    assert refused.value.kind == kind


async def test_a_lost_subscription_is_an_outage(harness, adapter):
    await adapter.send(adapter.home(ANN.id), "hello")
    harness.server.lines.clear()
    with pytest.raises(PlatformDown):
        await adapter.send(adapter.home(ANN.id), "hello")


async def test_the_heartbeat_has_no_body_and_a_silent_server_is_left(harness, adapter, monkeypatch):
    monkeypatch.setattr(wecom_connection, "_HEARTBEAT_SECONDS", 0.05)
    async with listening(harness, adapter) as ear:
        await harness.server.changed.until(lambda: any(one["cmd"] == "ping" for one in harness.server.frames))
        monkeypatch.setattr(wecom_connection, "_REPLY_TIMEOUT_SECONDS", 0.1)

        async def silence(*_):
            await asyncio.sleep(5)

        harness.server._answer = silence
        with pytest.raises(PlatformDown):
            await ear.hear()


async def test_only_our_own_name_is_left_out(harness, adapter):
    async with listening(harness, adapter) as ear:
        for text, expected in (("@Sojourn hi", "hi"), ("@Sojourner hi", "@Sojourner hi"), ("@ben hi", "@ben hi")):
            body = harness.server.body(GROUP, ANN, msgtype="text", text={"content": text})
            await harness.server.push("aibot_msg_callback", body)
            assert (await ear.hear()).text == expected


async def test_voice_is_its_words_and_a_foreign_or_broken_file_is_said(harness, adapter):
    harness.server.files["in"] = PICTURE
    good = f"{harness.server.url}/media/in"
    links = [{"url": "https://evil.example/x"}, {"url": good, "aeskey": "AAAA"}, {"url": good, "aeskey": "é"}]
    async with listening(harness, adapter) as ear:
        body = harness.server.body(ANN.id, ANN, msgtype="voice", voice={"content": "good morning"})
        await harness.server.push("aibot_msg_callback", body)
        assert (await ear.hear()).text == "good morning"
        for link in links:
            body = harness.server.body(ANN.id, ANN, msgtype="file", file=link)
            await harness.server.push("aibot_msg_callback", body)
            assert (await ear.hear()).text.startswith("[A file could not be downloaded: The file")


async def test_a_large_file_goes_in_chunks_and_too_many_buttons_are_refused(harness, adapter):
    from sojourn.ports.platform import File

    file = File(name="a.bin", media_type="application/octet-stream", data=bytes(1_200_000))
    await adapter.send_file(adapter.home(ANN.id), file)
    assert sum(one["cmd"] == "aibot_upload_media_chunk" for one in harness.server.frames) == 3
    with pytest.raises(SendRefused) as refused:
        await adapter.ask(adapter.home(ANN.id), "Which?", [Button(label=str(n), value=str(n)) for n in range(7)])
    assert refused.value.kind == "bad_format"


GOOD = {"msgid": "m", "chattype": "single", "from": {"userid": "ann"}, "msgtype": "text", "text": {"content": "x"}}
PRESS = {
    "eventtype": "template_card_event",
    "template_card_event": {"event_key": '{"value":"q","chat":"ann"}', "task_id": "t"},
}
HOSTILE_MESSAGES: list[object] = [
    None,
    [],
    "text",
    {},
    GOOD | {"msgid": 7},
    GOOD | {"msgid": "m" * 5000},
    GOOD | {"from": None},
    GOOD | {"from": {"userid": "../x"}},
    GOOD | {"from": {"userid": "a/b"}},
    GOOD | {"from": {"userid": "a" * 4000}},
    GOOD | {"from": ["ann"]},
    GOOD | {"chattype": "group"},
    GOOD | {"chattype": "group", "chatid": 7},
    GOOD | {"chattype": "group", "chatid": "/etc/passwd"},
    GOOD | {"text": None},
    GOOD | {"text": {"content": 7}},
    GOOD | {"text": {"content": "  "}},
    GOOD | {"msgtype": 7},
    GOOD | {"msgtype": "unknown"},
    GOOD | {"msgtype": "mixed", "mixed": {"msg_item": 7}},
    GOOD | {"msgtype": "mixed", "mixed": {"msg_item": [7, None, {"msgtype": "text"}]}},
    GOOD | {"msgtype": "image", "image": {"url": 7}},
]
HOSTILE_EVENTS = [
    {"event": PRESS},
    GOOD | {"event": {}},
    GOOD | {"event": PRESS | {"template_card_event": []}},
    GOOD | {"event": PRESS | {"template_card_event": {"event_key": "x", "task_id": "t"}}},
    GOOD | {"event": PRESS | {"template_card_event": {"event_key": '{"value":7}', "task_id": "t"}}},
    GOOD | {"event": PRESS | {"template_card_event": {"event_key": '{"value":"q"}'}}},
    GOOD | {"event": PRESS | {"template_card_event": {"event_key": '{"value":"q","chat":".."}', "task_id": "t"}}},
    GOOD | {"event": {"eventtype": "enter_chat"}},
]
HOSTILE_FRAMES = [
    "",
    "not json",
    "[]",
    "7",
    "{}",
    '{"errcode": 0}',
    '{"errcode": 0, "headers": []}',
    '{"cmd": 7, "headers": 7, "body": 7}',
    '{"a":' * 90_000,
    '{"cmd": "aibot_msg_callback"}',
]


async def test_hostile_input_is_ignored_and_listening_goes_on(harness, adapter, caplog):
    caplog.set_level(logging.DEBUG)
    logging.getLogger("websockets").setLevel(logging.INFO)
    async with listening(harness, adapter) as ear:
        for text in HOSTILE_FRAMES:
            await harness.server.push_raw(text)
        for body in HOSTILE_MESSAGES:
            await harness.server.push("aibot_msg_callback", body)
        for body in HOSTILE_EVENTS:
            await harness.server.push("aibot_event_callback", body)
        await harness.write(adapter.home(ANN.id), "still there?", ANN)
        assert (await ear.hear()).text == "still there?"
    assert len(HOSTILE_FRAMES) + len(HOSTILE_MESSAGES) + len(HOSTILE_EVENTS) >= 30
    assert SECRET not in caplog.text
    assert json.dumps(harness.server.frames[0]["body"]) == json.dumps({"bot_id": "bot1", "secret": SECRET})
