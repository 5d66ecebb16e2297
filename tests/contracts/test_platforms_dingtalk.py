"""dingtalk, on a server that speaks its wire."""

import json
import logging
from dataclasses import replace

import httpx2
import pytest

from sojourn.core.errors import KeyRefused, PlatformDown, SendRefused
from sojourn.core.places import Place
from sojourn.platforms.dingtalk.adapter import DingTalk
from sojourn.ports.platform import CanAsk, CanEdit, File
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_steps import listening
from tests.servers.dingtalk import (
    ANN,
    CARD_TOPIC,
    GROUP,
    MESSAGE_TOPIC,
    SECRET,
    TEMPLATE,
    DingTalkHarness,
    Refused,
    dingtalk_rig,
)


@pytest.fixture
async def harness():
    async with dingtalk_rig() as harness:
        yield harness


@pytest.fixture
async def adapter(harness):
    made = harness.connect()
    yield made
    await made.close()


class TestDingTalk(PlatformContract):
    pass


class TestDingTalkCards(PlatformContract):
    @pytest.fixture
    async def harness(self):
        async with dingtalk_rig(TEMPLATE) as harness:
            yield harness


def test_without_a_card_template_there_are_no_edits_and_no_buttons(adapter: DingTalk):
    assert not isinstance(adapter, CanEdit | CanAsk)


async def test_pings_and_events_are_answered_and_an_unknown_topic_is_refused(harness: DingTalkHarness, adapter):
    async with listening(harness, adapter) as ear:
        await harness.server.push("SYSTEM", "ping", {"opaque": "o1"}, id="p1")
        await harness.server.push("EVENT", "*", {}, id="e1")
        await harness.server.push("CALLBACK", "/v1.0/other", {}, id="u1")
        await harness.write(adapter.home(ANN.id), "hello", ANN)
        assert (await ear.hear()).text == "hello"
    ping, event, unknown = harness.server.answers
    assert (ping["code"], ping["headers"]["messageId"], json.loads(ping["data"])) == (200, "p1", {"opaque": "o1"})
    assert json.loads(event["data"]) == {"status": "SUCCESS", "message": ""}
    assert unknown["code"] == 404


async def test_when_the_server_is_about_to_close_the_next_line_is_opened_first(harness: DingTalkHarness, adapter):
    async with listening(harness, adapter) as ear:
        await harness.write(adapter.home(ANN.id), "before", ANN)
        assert (await ear.hear()).text == "before"
        ear.open()
        await harness.server.push("SYSTEM", "disconnect", {"reason": "upgrade"}, keep=False)
        await harness.server.changed.until(lambda: len(harness.server.opened) == 2 and len(harness.server.lines) == 1)
        await harness.write(adapter.home(ANN.id), "after", ANN)
        assert (await ear.hear()).text == "after"


async def test_without_the_right_to_send_the_session_webhook_is_used_also_after_a_restart(harness, adapter):
    async with listening(harness, adapter) as ear:
        await harness.write(adapter.home(GROUP), "hello", ANN)
        await ear.hear()
    await adapter.close()
    again = harness.connect()
    await harness.refuse("forbidden")
    sent = await again.send(again.home(GROUP), "**hi**\nyou")
    assert sent.id.startswith("session/")
    assert [one.text for one in await harness.read_messages(again.home(GROUP))] == ["**hi**  \nyou"]
    harness.server.session_result = {"errcode": 300001, "errmsg": "session is over"}
    await harness.refuse("forbidden")
    with pytest.raises(SendRefused) as refused:
        await again.send(again.home(GROUP), "more")
    assert refused.value.kind == "forbidden"
    harness.server.session_result = {"errcode": 130101, "errmsg": "too fast"}
    await harness.refuse("forbidden")
    with pytest.raises(SendRefused) as refused:
        await again.send(again.home(GROUP), "more")
    assert refused.value.kind == "rate_limited"
    await again.close()


async def test_without_right_and_session_the_missing_scope_is_named(harness, adapter):
    await harness.refuse("forbidden")
    with pytest.raises(SendRefused) as refused:
        await adapter.send(adapter.home(ANN.id), "hello")
    assert "qyapi_robot_sendmsg" in refused.value.hint


async def test_a_person_outside_the_company_is_answered_in_their_session_only(harness, adapter):
    async with listening(harness, adapter) as ear:
        message = harness.server.message(ANN.id, ANN, "hello", senderStaffId="")
        await harness.server.say(message)
        heard = await ear.hear()
    assert heard.sender.id == heard.place.chat == f"$:LWCP_v1:{ANN.id}"
    assert (await adapter.send(heard.place, "hi")).id.startswith("session/")
    with pytest.raises(SendRefused) as refused:
        await adapter.send(adapter.home("$:LWCP_v1:stranger"), "hi")
    assert refused.value.kind == "forbidden"


async def test_a_webhook_elsewhere_is_not_kept(harness, adapter):
    async with listening(harness, adapter) as ear:
        for url in ("https://evil.example/robot/sendBySession", harness.server.url + ".evil.example/", "", 7, None):
            message = harness.server.message(ANN.id, ANN, "hello", sessionWebhook=url)
            await harness.server.say(message)
            await ear.hear()
    assert await harness.kit.store.list_records("platform_ticket") == []


async def test_lists_inside_a_200_are_refusals(harness, adapter):
    for person, kind in (("gone", "not_found"), ("busy", "rate_limited")):
        with pytest.raises(SendRefused) as refused:
            await adapter.send(adapter.home(person), "hello")
        assert refused.value.kind == kind


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Refused(429, "Throttling.Api"), "rate_limited"),
        (Refused(403, "Forbidden.AccessDenied.QpsLimitForApi"), "rate_limited"),
        (Refused(500, "ServiceUnavailable"), "transient"),
        (Refused(400, "somethingNew"), "bad_format"),
    ],
)
async def test_codes_are_words(harness, adapter, fault, kind):
    harness.server.faults.append(fault)
    with pytest.raises(SendRefused) as refused:
        await adapter.send(adapter.home(ANN.id), "hello")
    assert refused.value.kind == kind


async def test_a_token_that_ran_out_is_renewed_while_sending(harness, adapter):
    await adapter.send(adapter.home(ANN.id), "one")
    harness.server.tokens.clear()
    await adapter.send(adapter.home(ANN.id), "two")
    assert len(await harness.read_messages(adapter.home(ANN.id))) == 2


async def test_a_robot_that_does_not_exist_is_a_wrong_key(harness, adapter):
    harness.server.faults.append(Refused(400, "invalidParameter.robotCode.notExsit"))
    with pytest.raises(KeyRefused) as refused:
        await adapter.send(adapter.home(ANN.id), "one")
    assert "ROBOT_CODE" in refused.value.hint


async def test_voice_is_its_words_and_a_foreign_file_is_said(harness, adapter):
    async with listening(harness, adapter) as ear:
        voice = {"msgtype": "audio", "content": {"recognition": "good morning", "downloadCode": "d9"}}
        await harness.server.say(harness.server.message(ANN.id, ANN, "", **voice))
        assert ((heard := await ear.hear()).text, heard.files) == ("good morning", ())
        foreign = {"msgtype": "file", "content": {"downloadCode": "http://evil.example/x", "fileName": "x.pdf"}}
        await harness.server.say(harness.server.message(ANN.id, ANN, "", **foreign))
        heard = await ear.hear()
    assert heard.text == "[A file could not be downloaded: The file is not on a server of DingTalk.]"


async def test_other_files_follow_their_caption(harness, adapter):
    home = adapter.home(GROUP)
    sent = await adapter.send_file(home, File(name="a.pdf", media_type="application/pdf", data=b"%PDF"), caption="read")
    first, second = await harness.read_messages(home)
    assert (first.text, second.id, second.files[0].data) == ("read", sent.id, b"%PDF")


async def test_plain_words_are_no_card_and_cannot_be_edited():
    async with dingtalk_rig(TEMPLATE) as harness:
        adapter = harness.connect()
        assert isinstance(adapter, CanEdit)
        sent = await adapter.send(adapter.home(ANN.id), "a*b", plain=True)
        with pytest.raises(SendRefused) as refused:
            await adapter.edit(sent, "c")
        assert refused.value.kind == "forbidden"
        await adapter.close()


GOOD = {"msgId": "m", "conversationType": "1", "senderStaffId": "ann01", "msgtype": "text", "text": {"content": "x"}}
HOSTILE_MESSAGES = [
    {},
    {"msgId": 7},
    GOOD | {"msgId": None},
    GOOD | {"senderStaffId": "", "senderId": ""},
    GOOD | {"senderStaffId": "../../etc"},
    GOOD | {"senderStaffId": "/etc/passwd"},
    GOOD | {"senderStaffId": "a\x00b"},
    GOOD | {"senderStaffId": "a" * 5000},
    GOOD | {"senderStaffId": ["ann01"], "senderId": {}},
    GOOD | {"conversationType": "2", "conversationId": "not-a-group"},
    GOOD | {"conversationType": "3"},
    GOOD | {"conversationType": 1},
    GOOD | {"conversationType": "1", "senderStaffId": "cidGarden=="},
    GOOD | {"text": None},
    GOOD | {"text": "words"},
    GOOD | {"text": {"content": ["x"]}},
    GOOD | {"text": {"content": "   "}},
    GOOD | {"msgtype": "unknown"},
    GOOD | {"msgtype": "richText", "content": {"richText": "no list"}},
    GOOD | {"msgtype": "richText", "content": {"richText": [1, None, "x"]}},
    GOOD | {"msgtype": "file", "content": {"downloadCode": 7}},
    GOOD | {"msgtype": "audio", "content": []},
]
HOSTILE_FRAMES = [
    "",
    "not json",
    "[]",
    "null",
    "7",
    '"text"',
    "{}",
    '{"type": 7, "headers": [], "data": {}}',
    '{"type": "CALLBACK", "headers": null, "data": null}',
    "[" * 100_000,
    '{"type": "CALLBACK", "headers": {"topic": "/v1.0/im/bot/messages/get", "messageId": "x"}, "data": "{{"}',
    json.dumps(
        {"type": "CALLBACK", "headers": {"topic": MESSAGE_TOPIC, "messageId": "deep"}, "data": '{"a":' * 90_000}
    ),
    json.dumps({"type": "CALLBACK", "headers": {"topic": MESSAGE_TOPIC, "messageId": "big"}, "data": "9" * 5000}),
]
HOSTILE_PRESSES = [
    {"content": "x"},
    {"userId": "ben02", "content": json.dumps({"cardPrivateData": {"params": {"value": "{}"}}})},
    {"userId": "ben02", "content": json.dumps({"cardPrivateData": {"params": []}})},
    {"userId": "ben02", "content": json.dumps({"cardPrivateData": {"params": {"value": '{"value":"q","chat":".."}'}}})},
]


async def test_hostile_input_is_ignored_and_listening_goes_on(harness, adapter, caplog):
    caplog.set_level(logging.DEBUG)
    async with listening(harness, adapter) as ear:
        for text in HOSTILE_FRAMES:
            await harness.server.push_raw(text)
        for message in HOSTILE_MESSAGES:
            await harness.server.push("CALLBACK", MESSAGE_TOPIC, message, keep=False)
        for press in HOSTILE_PRESSES:
            await harness.server.push("CALLBACK", CARD_TOPIC, press, keep=False)
        await harness.write(adapter.home(ANN.id), "still there?", ANN)
        assert (await ear.hear()).text == "still there?"
    assert len(HOSTILE_FRAMES) + len(HOSTILE_MESSAGES) + len(HOSTILE_PRESSES) >= 30
    assert SECRET not in caplog.text
    assert len(await harness.kit.store.list_records("platform_ticket")) == 1  # of the last message


async def test_a_date_from_nowhere_is_no_date(harness, adapter):
    async with listening(harness, adapter) as ear:
        for at in (10**400, -5, "now", None, True):
            await harness.server.say(harness.server.message(ANN.id, ANN, "when?", createAt=at))
            assert (await ear.hear()).at in (0.0, 0.001)


def test_a_place_has_no_thread(adapter):
    assert adapter.home(GROUP) == Place(platform="dingtalk", chat=GROUP, kind="group")
    assert replace(adapter.home(" ann01 "), name="x").chat == "ann01"


@pytest.mark.parametrize("page", [{}, {"accessToken": 7}, {"accessToken": None, "expireIn": 7200}])
async def test_an_answer_without_a_token_is_no_success(adapter: DingTalk, monkeypatch, page):
    async def answer(*_, **__):
        return httpx2.Response(200, json=page)

    monkeypatch.setattr(adapter._api._http, "exchange", answer)
    with pytest.raises(PlatformDown, match="no token"):
        await adapter.identify()
