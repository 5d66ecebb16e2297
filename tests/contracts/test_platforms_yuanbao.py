"""yuanbao, on a server that speaks its wire."""

import json
import logging
import time

import pytest

from sojourn.core.errors import BadInput, KeyRefused, PlatformDown, SendRefused
from sojourn.core.settings import Secret
from sojourn.platforms.protobuf import MessageFields, encode_values
from sojourn.platforms.tencent_storage import StorageKey, sign_upload
from sojourn.platforms.yuanbao import api as yuanbao_api
from sojourn.platforms.yuanbao import connection as yuanbao_connection
from sojourn.platforms.yuanbao.api import sign
from sojourn.platforms.yuanbao.frames import YuanbaoFrame, decode_frame
from sojourn.platforms.yuanbao.messages import build_text, decode_push, read_file
from sojourn.ports.platform import File
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_harness import PICTURE, InboundListener
from sojourn.testing.platform_steps import listening
from tests.servers.yuanbao import ANN, BEN, BOT, GROUP, MENTION, OWNER, SECRET, custom, element, yuanbao_rig

HELLO = element("TIMTextElem", text="hello")


@pytest.fixture
async def harness():
    async with yuanbao_rig() as harness:
        yield harness


@pytest.fixture
async def adapter(harness):
    made = harness.connect()
    yield made
    await made.close()


class TestYuanbao(PlatformContract):
    pass


def test_the_signature_is_the_one_of_the_specification():
    stamp, nonce = "2026-01-02T03:04:05+08:00", "0123456789abcdef0123456789abcdef"
    expected = "088e1d64304f5674af23cac8fc58211b625c06c73c284f9e26b3dbaa0685682e"
    assert sign(nonce, stamp, "key", Secret("secret")) == expected


def test_an_upload_is_signed_as_tencents_own_library_does():
    """Computed with cos-python-sdk-v5 1.9.44 for the same request."""
    key = StorageKey(id="AKID", secret="key", token="lent", begins_at=1700000000, ends_at=1700003600)
    headers = sign_upload(key, "files-1.cos.ap-x.myqcloud.com", "/in box/ü", 5)
    assert headers["x-cos-security-token"] == "lent"
    assert headers["Authorization"].rpartition("=")[2] == "8c0a38125bfc9f355daf3bfe44d7c8f99ae35345"


async def test_a_push_is_acknowledged_with_its_own_head_when_it_is_stored(harness, adapter):
    async with listening(harness, adapter) as ear:
        id, data = harness.server.encode(adapter.home(ANN.id), ANN, [HELLO])
        pushed = await harness.server.push(data)
        assert (await ear.hear()).id == id
        assert harness.server.acknowledged == []
        ear.open()
        await harness.server.changed.until(lambda: bool(harness.server.acknowledged))
        await harness.server.push(data, needs_acknowledgement=False)
        await ear.hear()
        await ear.hears_nothing()
    [frame] = harness.server.acknowledged
    assert (frame.type, frame.id, frame.command, frame.data) == (3, pushed, "inbound_message", b"")


@pytest.mark.parametrize("form", ["bare", "envelope", "json"])
async def test_a_message_comes_bare_in_an_envelope_or_as_json(harness, adapter, form):
    _, data = harness.server.encode(adapter.home(ANN.id), ANN, [HELLO])
    if form == "envelope":
        data = encode_values({1: "/inbound", 2: "proxy", 3: "id", 4: data})
    if form == "json":
        body = [{"msg_type": "TIMTextElem", "msg_content": {"text": "hello"}}]
        data = json.dumps({"from_account": ANN.id, "msg_key": "k", "msg_body": body}).encode()
    async with listening(harness, adapter) as ear:
        await harness.server.push(data)
        heard = await ear.hear()
    assert (heard.text, heard.sender.id, heard.place.kind) == ("hello", ANN.id, "dm")


async def test_in_groups_a_mention_or_a_reply_to_us_addresses_us(harness, adapter):
    group = adapter.home(f"group:{GROUP}")
    other = custom(elem_type=1002, text="@Ben", user_id=BEN.id)
    reply = json.dumps({"quote": {"id": "q1", "sender_id": BOT}})
    async with listening(harness, adapter) as ear:
        for elements, more in (([MENTION, HELLO], {}), ([HELLO], {"f14": reply}), ([other, HELLO], {}), ([HELLO], {})):
            await harness.server.push(harness.server.encode(group, ANN, elements, **more)[1])
        heard = [await ear.hear() for _ in range(4)]
    assert [(one.text, one.mentioned, one.named) for one in heard] == [
        ("hello", True, True),
        ("hello", True, False),
        ("@Ben hello", False, False),
        ("hello", False, False),
    ]
    assert heard[1].reply_to == "q1"
    assert heard[0].place.name == "The garden"


async def test_the_owner_is_whom_yuanbao_names(harness, adapter):
    assert adapter.info.owner == ""
    async with listening(harness, adapter) as ear:
        await harness.write(adapter.home(ANN.id), "hello", ANN)
        await ear.hear()
    assert adapter.info.owner == OWNER


async def test_stickers_cards_and_things_without_a_file_are_said(harness, adapter):
    data = json.dumps({"sticker_id": "278", "package_id": "1003", "name": "cheers"})
    sticker = element("TIMFaceElem", data=data)
    link = custom(elem_type=1010, title="A page", link="https://example.org")
    inside = custom(elem_type=1007, content='{"link": "https://example.org/x"}')
    parts = [sticker, element("TIMFaceElem", data="x"), link, inside, custom(elem_type=1009), element("TIMSoundElem")]
    home = adapter.home(ANN.id)
    async with listening(harness, adapter) as ear:
        for part in parts:
            await harness.server.push(harness.server.encode(home, ANN, [part])[1])
        heard = [(await ear.hear()).text for _ in parts]
    assert heard[:4] == ["[sticker: cheers]", "[sticker]", "A page\nhttps://example.org", "https://example.org/x"]
    assert heard[4].startswith("[forwarded")
    assert heard[5] == "[voice message]"
    await adapter.send(home, "[sticker: cheers]")
    await adapter.send(home, "[sticker: unheard of]")
    sent = [body.list_messages(5)[0] for _, body in harness.server.sent]
    assert [one.get_text(1) for one in sent] == ["TIMFaceElem", "TIMTextElem"]
    assert MessageFields(sent[0].get_bytes(2)).get_text(4) == data


async def test_a_private_chat_that_began_in_a_group_is_answered_so_also_after_a_restart(harness, adapter):
    home = adapter.home(ANN.id)
    async with listening(harness, adapter) as ear:
        await harness.server.push(harness.server.encode(home, ANN, [HELLO], f19=GROUP)[1])
        await ear.hear()
    again = harness.connect()
    await again.send(home, "one")
    await again.send(again.home(BEN.id), "two")
    assert [body.get_text(6) for _, body in harness.server.sent] == [GROUP, ""]
    await again.close()


async def test_a_reply_in_a_group_names_its_message(harness, adapter):
    await adapter.send(adapter.home(f"group:{GROUP}"), "yes", reply_to="m5")
    [(command, body)] = harness.server.sent
    assert (command, body.get_text(7), body.get_text(5).isdecimal()) == ("send_group_message", "m5", True)


async def test_typing_is_shown_to_a_person_and_to_who_wrote_last_in_a_group(harness, adapter):
    group = adapter.home(f"group:{GROUP}")
    await adapter.typing(group)
    async with listening(harness, adapter) as ear:
        await harness.write(group, "hello", BEN)
        await ear.hear()
        await adapter.typing(group)
        await adapter.typing(adapter.home(ANN.id))
        harness.server.faults.append(1652513)
        await adapter.typing(group)
    assert harness.server.typing == [("send_group_heartbeat", BEN.id), ("send_private_heartbeat", ANN.id)]


async def test_files_of_any_kind_go_out_and_come_in(harness, adapter):
    notes, home = File(name="notes.txt", media_type="text/plain", data=b"thyme"), adapter.home(ANN.id)
    await adapter.send_file(home, notes)
    [(_, body)] = harness.server.sent
    content = MessageFields(body.list_messages(5)[0].get_bytes(2))
    assert (content.get_text(12), content.get_number(11)) == ("notes.txt", 5)
    harness.server.files["r1"] = notes
    url = "https://yuanbao.tencent.com/api/resource/download?resourceId=r1"
    async with listening(harness, adapter) as ear:
        part = element("TIMFileElem", url=url, file_name="notes.txt")
        await harness.server.push(harness.server.encode(home, ANN, [part])[1])
        [file] = (await ear.hear()).files
        evil = element("TIMFileElem", url="https://evil.example/x", file_name="x")
        await harness.server.push(harness.server.encode(home, ANN, [HELLO, evil])[1])
        said = await ear.hear()
        broken = element("TIMFileElem", url="https://[x", file_name="x")
        await harness.server.push(harness.server.encode(home, ANN, [HELLO, broken])[1])
        heard = await ear.hear()
    assert (file.name, file.data) == ("notes.txt", b"thyme")
    assert (said.files, "not on a server of Yuanbao" in said.text) == ((), True)
    assert (heard.files, "could not be downloaded" in heard.text) == ((), True)


async def test_a_token_that_ran_out_is_renewed_for_files_and_for_the_connection(harness, adapter):
    home = adapter.home(ANN.id)
    await adapter.send_file(home, PICTURE)
    harness.server.tokens.clear()
    await adapter.send_file(home, PICTURE)
    harness.server.bind_codes = [41104]
    again = harness.connect()
    await again.send(home, "hello")
    await again.close()
    assert len(harness.server.tokens) == 3


@pytest.mark.parametrize(
    ("codes", "error"),
    [
        ([41104, 41104], KeyRefused),
        ([41107], KeyRefused),
        ([41102], KeyRefused),
        ([50503], PlatformDown),
        ([51002], PlatformDown),
    ],
)
async def test_codes_of_the_sign_in(harness, adapter, codes, error):
    harness.server.bind_codes = list(codes)
    listener = InboundListener(adapter)
    with pytest.raises(error):
        await listener.hear()
    await listener.close()


async def test_who_is_bound_already_is_bound(harness, adapter):
    harness.server.bind_codes = [41101]
    async with listening(harness, adapter) as ear:
        await harness.write(adapter.home(ANN.id), "hello", ANN)
        assert (await ear.hear()).text == "hello"


async def test_a_busy_server_is_asked_again_for_a_token(harness, adapter, monkeypatch):
    monkeypatch.setattr(yuanbao_api, "_RETRY_SECONDS", 0.0)
    harness.server.sign_results = [{"code": 10099}] * 3
    await adapter.send(adapter.home(ANN.id), "hello")
    again = harness.connect()
    harness.server.sign_results = [{"code": 10099}] * 4
    with pytest.raises(SendRefused) as refused:
        await again.send(again.home(ANN.id), "hello")
    assert refused.value.kind == "transient"
    for result in ({}, {"code": 0}, {"code": 0, "data": []}, {"code": 0, "data": {"token": "t"}}):
        harness.server.sign_results = [result]
        with pytest.raises(SendRefused):
            await again.send(again.home(ANN.id), "hello")
    await again.close()


async def test_who_is_replaced_does_not_fight(harness, adapter):
    async with listening(harness, adapter) as ear:
        await harness.server.push(encode_values({1: 1, 2: "elsewhere"}), command="kickout")
        with pytest.raises(KeyRefused, match="elsewhere") as refused:
            await ear.hear()
    assert "Stop the other one" in refused.value.hint
    bound = len(harness.server.bound)
    with pytest.raises(KeyRefused, match="elsewhere"):
        await adapter.send(adapter.home(ANN.id), "mine again")
    assert len(harness.server.bound) == bound


@pytest.mark.parametrize(("code", "error"), [(4014, KeyRefused), (4018, KeyRefused), (1001, PlatformDown)])
async def test_close_codes(harness, adapter, code, error):
    async with listening(harness, adapter) as ear:
        await harness.server.lines[-1][1].close(code=code)
        with pytest.raises(error):
            await ear.hear()


async def test_it_beats_as_often_as_it_is_told_and_gives_up_without_answers(harness, adapter, monkeypatch):
    monkeypatch.setattr(yuanbao_connection, "_FIRST_BEAT_SECONDS", 0.01)
    monkeypatch.setattr(yuanbao_connection, "_MIN_BEAT_SECONDS", 0.02)
    harness.server.interval = 1
    async with listening(harness, adapter) as ear:
        await harness.server.changed.until(lambda: harness.server.beats > 2)
        harness.server.answers_beats = False
        with pytest.raises(PlatformDown):
            await ear.hear(seconds=5)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [(50400, "transient"), (51002, "rate_limited"), (7, "unknown"), (-7, "unknown"), ((90001,), "transient")],
)
async def test_codes_become_kinds(harness, adapter, fault, kind):
    harness.server.faults.append(fault)
    with pytest.raises(SendRefused) as refused:
        await adapter.send(adapter.home(ANN.id), "hello")
    assert refused.value.kind == kind


async def test_a_forgotten_connection_is_opened_anew(harness, adapter):
    home = adapter.home(ANN.id)
    harness.server.faults.append((40100,))
    with pytest.raises(PlatformDown):
        await adapter.send(home, "one")
    await adapter.send(home, "two")
    assert len(harness.server.bound) == 2


def test_frames_are_what_the_open_plugins_own_description_makes_of_them():
    """Encoded by protobufjs from the plugin's conn.json and biz.json."""
    frame = YuanbaoFrame(type=0, command="ping", sequence=7, id="ab", module="conn_access", data=b"\x08\x01")
    data = bytes.fromhex("0a19120470696e671807220261622a0b636f6e6e5f61636365737312020801")
    assert frame.encode() == data
    assert decode_frame(data) == decode_frame(data + bytes.fromhex("1a0178")) == frame
    sent = "0a01691205616e6e5f311a03626f7420092a130a0b54494d54657874456c656d12040a026869320147"
    assert encode_values({1: "i", 2: "ann_1", 3: "bot", 4: 9, 5: [build_text("hi")], 6: "G"}).hex() == sent
    pushed = (
        "0a184332432e43616c6c6261636b416674657253656e644d73671205616e6e5f31500562026d316a160a0b54494d54657874456c656d"
        "12070a0568656c6c6f6a240a0c54494d496d616765456c656d1214120175420f080110032a0968747470733a2f2f788201016f900102"
    )
    document = decode_push(bytes.fromhex(pushed))
    assert (document["from_account"], document["msg_id"], document["bot_owner_id"]) == ("ann_1", "m1", "o")
    assert [read_file(one)[0] for one in document["msg_body"]] == ["", "https://x"]


def test_words_that_name_no_chat(adapter):
    for words in ("", "group:", "a b", "../x", "group:a/b", "a" * 200):
        with pytest.raises(BadInput):
            adapter.home(words)


def message(**more):
    values = {2: ANN.id, 10: int(time.time()), 12: "m", 13: [HELLO]}
    return encode_values(values | {int(name[1:]): value for name, value in more.items()})


HOSTILE_PUSHES = [
    b"",
    b"{}",
    b"{",
    b"[]",
    b"\xff" * 50,
    b"\x0a",
    b"\x6a\x05ab",
    b'{"msg_body": "x"}',
    b'{"from_account": 7, "msg_id": "m", "msg_body": [7]}',
    b'{"from_account": "a", "msg_id": 7, "msg_body": []}',
    b'{"a":' * 50_000,
    encode_values({4: b"\xff\xff"}),
    encode_values({4: encode_values({13: [b"\xff"]})}),
    message(f2=""),
    message(f2="../x"),
    message(f2="a" * 4000),
    message(f2=BOT),
    message(f2=7),
    message(f6="a b"),
    message(f6="../x"),
    message(f12=""),
    message(f12="m" * 5000),
    message(f1="C2C.CallbackAfterMsgWithDraw"),
    message(f1="Group.CallbackAfterRecallMsg"),
    message(f13=[b""]),
    message(f13=[b"\xff"]),
    message(f13=[element("TIMTextElem")]),
    message(f13=[element("TIMTextElem", text="  ")]),
    message(f13=[element("TIMCustomElem", data="{")]),
    message(f13=[element("TIMCustomElem", data='{"elem_type": [1]}')]),
    message(f13=[element("Unheard", text="x")]),
    message(f13=[custom(elem_type=1010, title=7)]),
]


async def test_hostile_input_is_ignored_and_listening_goes_on(harness, adapter, caplog):
    caplog.set_level(logging.DEBUG)
    async with listening(harness, adapter) as ear:
        for frame in (b"", b"\xff", b"\x0a\xff", YuanbaoFrame(type=9, command="x").encode()):
            await harness.server.push_raw(frame)
        await harness.server.lines[-1][1].send_str("text")
        await harness.server.push(b"\xff", command="kickout")
        for data in HOSTILE_PUSHES:
            await harness.server.push(data)
        await harness.write(adapter.home(ANN.id), "still there?", ANN)
        assert (await ear.hear()).text == "still there?"
    assert len(HOSTILE_PUSHES) >= 30
    assert SECRET not in caplog.text
    assert not any(token in caplog.text for token in harness.server.tokens)
