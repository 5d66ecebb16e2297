"""feishu, on a server that speaks its wire."""

import base64
import json
import logging

import pytest

from sojourn.core.errors import SendRefused, ThreadsUnsupported
from sojourn.platforms.feishu.frames import DATA, FeishuFrame, FrameParts, decode_frame
from sojourn.platforms.feishu.messages import build_text
from sojourn.platforms.reply_tickets import KIND
from sojourn.ports.platform import File, Sent
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_steps import listening
from tests.servers.feishu import ANN, BEN, BOT, GROUP, SECRET, Refused, feishu_rig


@pytest.fixture
async def harness():
    async with feishu_rig() as harness:
        yield harness


@pytest.fixture
async def adapter(harness):
    made = harness.connect()
    yield made
    await made.close()


class TestFeishu(PlatformContract):
    pass


async def test_an_event_in_parts_is_joined_and_acknowledged_with_its_last_frame(harness, adapter):
    async with listening(harness, adapter) as ear:
        event = harness.server.message(adapter.home(ANN.id), ANN, "a long word: " + "漢" * 5000)
        await harness.server.say(event, parts=3)
        assert (await ear.hear()).text.endswith("漢" * 5000)
        ear.open()
        await harness.server.changed.until(lambda: bool(harness.server.replies))
    [reply] = harness.server.replies
    assert reply.headers["seq"] == "2"
    assert (reply.log, reply.service, json.loads(reply.payload)) == (2**63 + 2, 77, {"code": 200})
    assert reply.headers["biz_rt"].isdecimal()


async def test_it_pings_with_its_service(harness, adapter):
    async with listening(harness, adapter):
        pass
    assert (harness.server.pings[0].headers, harness.server.pings[0].service) == ({"type": "ping"}, 77)


async def test_a_press_is_answered_with_an_empty_card_answer(harness, adapter):
    from sojourn.ports.platform import Button

    button = Button(label="Yes", value="q:0")
    await adapter.ask(adapter.home(GROUP), "May I?", [button])
    [shown] = await harness.read_messages(adapter.home(GROUP))
    async with listening(harness, adapter) as ear:
        await harness.press(adapter.home(GROUP), shown, button, BEN)
        await ear.hear()
        ear.open()
        await harness.server.changed.until(lambda: bool(harness.server.replies))
    answer = json.loads(harness.server.replies[0].payload)
    assert (answer["code"], base64.b64decode(answer["data"])) == (200, b"{}")


async def test_who_is_mentioned_is_told_apart(harness, adapter):
    group = adapter.home(GROUP)
    async with listening(harness, adapter) as ear:
        texts = ["@_user_1 and @_user_2 come", "@_all come", "nobody"]
        people = [{"key": "@_user_1", "id": {"open_id": BOT}, "name": "S"}]
        people.append({"key": "@_user_2", "id": {"open_id": BEN.id}, "name": "Ben"})
        for text, mentions in zip(texts, [people, [], []], strict=True):
            more = {"content": json.dumps({"text": text}), "mentions": mentions}
            await harness.server.say(harness.server.message(group, ANN, "", **more))
        heard = [await ear.hear() for _ in texts]
    assert [(one.text, one.mentioned) for one in heard] == [
        ("and @Ben come", True),
        ("@all come", False),
        ("nobody", False),
    ]


async def test_a_thread_is_answered_at_its_root_also_after_a_restart(harness, adapter):
    thread = await adapter.create_handoff_thread(adapter.home(GROUP), "A thread")
    await adapter.close()
    again = harness.connect()
    harness.server.calls.clear()
    await again.send(thread, "still here")
    unknown = again.home(GROUP)
    harness.server.posts[(GROUP, "omt_other")] = []
    await again.send(type(thread)(platform="feishu", chat=GROUP, kind="thread", thread="omt_other"), "there too")
    assert harness.server.calls == ["reply", "thread_id"]
    with pytest.raises(ThreadsUnsupported):
        await again.create_handoff_thread(thread, "in a thread")
    harness.server.faults.append(Refused(230002))
    with pytest.raises(ThreadsUnsupported) as refused:
        await again.create_handoff_thread(unknown, "x")
    assert "Add the app" in refused.value.hint
    await again.close()


async def test_a_message_whose_answer_was_lost_is_sent_once(harness, adapter):
    from unittest import mock

    from sojourn.core.errors import PlatformDown

    real, calls = adapter._api.call, []

    async def lose_first(method, path, **options):
        reply = await real(method, path, **options)
        calls.append(options["json"]["uuid"])
        if len(calls) == 1:
            raise PlatformDown("lost")
        return reply

    with mock.patch.object(adapter._api, "call", lose_first):
        await adapter.send(adapter.home(ANN.id), "once")
    assert len(set(calls)) == 1
    assert len(await harness.read_messages(adapter.home(ANN.id))) == 1


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (Refused(99991400, 429, {"x-ogw-ratelimit-reset": "9"}), "rate_limited"),
        (Refused(230020), "rate_limited"),
        (Refused(230013), "forbidden"),
        (Refused(230028), "bad_format"),
        (Refused(230025), "too_long"),
        (Refused(231003), "not_found"),
        (Refused(1, 500), "transient"),
        (Refused(77), "unknown"),
    ],
)
async def test_codes_become_kinds(harness, adapter, fault, kind):
    harness.server.faults.append(fault)
    with pytest.raises(SendRefused) as refused:
        await adapter.send(adapter.home(ANN.id), "hello")
    assert refused.value.kind == kind


async def test_a_missing_permission_is_named(harness, adapter):
    missing = {"permission_violations": [{"type": "action_scope_required", "subject": "im:message:send_as_bot"}]}
    harness.server.faults.append(Refused(99991672, error=missing))
    with pytest.raises(SendRefused) as refused:
        await adapter.send(adapter.home(ANN.id), "hello")
    assert (refused.value.kind, "im:message:send_as_bot" in refused.value.hint) == ("forbidden", True)


async def test_a_token_that_ran_out_is_renewed_while_sending(harness, adapter):
    await adapter.send(adapter.home(ANN.id), "one")
    harness.server.tokens.clear()
    await adapter.send(adapter.home(ANN.id), "two")
    assert len(await harness.read_messages(adapter.home(ANN.id))) == 2


async def test_a_file_that_is_gone_is_said(harness, adapter):
    async with listening(harness, adapter) as ear:
        more = {"message_type": "file", "content": json.dumps({"file_key": "file_gone", "file_name": "a.pdf"})}
        await harness.server.say(harness.server.message(adapter.home(ANN.id), ANN, "", **more))
        assert (await ear.hear()).text.startswith("[A file could not be downloaded: Feishu says: 230011")


async def test_other_files_follow_their_caption(harness, adapter):
    home = adapter.home(GROUP)
    sent = await adapter.send_file(home, File(name="a.pdf", media_type="application/pdf", data=b"%PDF"), caption="read")
    first, second = await harness.read_messages(home)
    assert (first.text, second.id, second.files[0].data) == ("read", sent.id, b"%PDF")


async def test_of_twenty_edits_some_are_left_for_the_complete_text(harness, adapter):
    sent = await adapter.send(adapter.home(ANN.id), "0 …")
    for n in range(1, 40):
        await adapter.edit(sent, f"{n} …")
    [shown] = await harness.read_messages(sent.place)
    assert shown.text == "17 …"
    await adapter.edit(sent, "all of it")
    [shown] = await harness.read_messages(sent.place)
    assert shown.text == "all of it"


async def test_a_sign_that_feishu_lacks_is_refused(harness, adapter):
    sent = await adapter.send(adapter.home(ANN.id), "x")
    for sign in ("🦔", "nosuch"):
        with pytest.raises(SendRefused):
            await adapter.react(Sent(place=sent.place, id=sent.id), sign)


def test_nobody_is_called_by_what_a_model_writes():
    for plain in (True, False):
        _, content = build_text('<at user_id="all">all</at> <AT id=all></AT> <attic>', plain=plain)
        assert "<at " not in json.dumps(content).lower()
        assert "<attic>" in json.dumps(content)


def test_code_has_a_row_of_its_own():
    _, content = build_text("before\n```py\nx = 1\n```\nafter", plain=False)
    assert [row[0]["text"] for row in content["zh_cn"]["content"]] == ["before", "```py\nx = 1\n```", "after"]


def test_parts_that_never_come_are_forgotten_and_wild_numbers_ignored():
    parts = FrameParts()
    for n in range(1000):
        headers = {"message_id": str(n), "sum": "2", "seq": "0"}
        assert parts.add(FeishuFrame(method=DATA, headers=headers, payload=b"x")) is None
    assert len(parts._waiting) <= 65
    for total, at in (("9" * 5000, "0"), ("300", "1"), ("2", "7"), ("-2", "0"), ("２", "0")):
        parts.add(FeishuFrame(method=DATA, headers={"message_id": "m", "sum": total, "seq": at}, payload=b"x"))


def event(**changes):
    message = {"message_id": "om_1", "chat_type": "p2p", "message_type": "text", "content": '{"text":"x"}'}
    sender = {"sender_id": {"open_id": "ou_ann"}, "sender_type": "user"}
    sent = {"sender": sender, "message": message | changes}
    return {"header": {"event_type": "im.message.receive_v1", "event_id": "e"}, "event": sent}


def press(**changes):
    given = {
        "operator": {"open_id": "ou_ann"},
        "action": {"value": {"value": "q", "chat": "oc_1"}},
        "context": {"open_message_id": "om_1"},
    }
    return {"header": {"event_type": "card.action.trigger", "event_id": "e"}, "event": given | changes}


HOSTILE_FRAMES = [b"", b"\x00", b"\x08", b"\xff" * 100, b"\x2a\x05ab", b"\x2a\x02\x08\x01", b"\x20\x01\x42\xff\xff\x03"]
HOSTILE_FRAMES += [bytes([0x2A, 0x04, 0x0A, 0x02, 0xFF, 0xFE]), b"\x0b\x0c"]
HOSTILE_PAYLOADS = [
    b"",
    b"null",
    b"[]",
    b"not json",
    b"\xff\xfe",
    b'{"a":' * 90_000,
    b"9" * 5000,
    {"header": [], "event": {}},
    {"header": {"event_type": "im.message.receive_v1"}, "event": []},
    {"header": {"event_type": ["im.message.receive_v1"]}, "event": {}},
    event(message_id=7),
    event(message_id="../x"),
    event(chat_type="channel"),
    event(chat_type="group"),
    event(chat_type="group", chat_id="ou_other/../x"),
    event(chat_type="group", chat_id="oc_1", thread_id="../etc"),
    event(content=None),
    event(content="[]"),
    event(content='{"text":["x"]}'),
    event(content='{"text":"  "}'),
    event(message_type="post", content='{"content":7}'),
    event(message_type="post", content='{"content":[7,[7,null]]}'),
    event(message_type="image", content='{"image_key":"../../x"}'),
    event(message_type="sticker"),
    press(operator={}),
    press(operator={"open_id": "oc_1"}),
    press(action={"value": "text"}),
    press(action={"value": {"value": "q", "chat": "../x"}}),
    press(action=None),
    press(context=7),
]


async def test_hostile_input_is_ignored_and_listening_goes_on(harness, adapter, caplog):
    caplog.set_level(logging.DEBUG)
    strangers = [{"sender_type": "user"}, {"sender_id": {"open_id": BOT}, "sender_type": "user"}, None, "ann"]
    async with listening(harness, adapter) as ear:
        for data in HOSTILE_FRAMES:
            await harness.server.push_raw(data)
        for payload in HOSTILE_PAYLOADS:
            await harness.server.push(payload, keep=False)
        for one in strangers:
            wrong = event()
            wrong["event"]["sender"] = one
            await harness.server.push(wrong, keep=False)
        await harness.server.lines[-1][1].send_str("text, not bytes")
        await harness.write(adapter.home(ANN.id), "still there?", ANN)
        assert (await ear.hear()).text == "still there?"
    assert len(HOSTILE_FRAMES) + len(HOSTILE_PAYLOADS) >= 30
    assert SECRET not in caplog.text
    assert await harness.kit.store.list_records(KIND) == []


def test_a_frame_is_read_as_it_was_written():
    frame = FeishuFrame(method=1, service=7, sequence=1, log=2**64 - 1, headers={"type": "event"}, payload=b"{}")
    assert decode_frame(frame.encode()) == frame
