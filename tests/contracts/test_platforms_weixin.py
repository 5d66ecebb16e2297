"""weixin, on a server that speaks its wire."""

import base64
import logging
from contextlib import aclosing

import pytest

from sojourn.core.errors import BadInput, KeyRefused, PlatformDown, SendRefused
from sojourn.platforms.reply_tickets import KIND
from sojourn.platforms.weixin import adapter as weixin_adapter
from sojourn.platforms.weixin import sign_in as weixin_sign_in
from sojourn.platforms.weixin.media import decrypt, encrypt, parse_key
from sojourn.platforms.weixin.sign_in import sign_in
from sojourn.ports.platform import File
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_harness import PICTURE, InboundListener
from sojourn.testing.platform_steps import listening
from tests.servers.weixin import ACCOUNT, ANN, BEN, FIRST_ID, TOKEN, weixin_rig

KEY = bytes(range(16))


@pytest.fixture
async def harness():
    async with weixin_rig() as harness:
        yield harness


@pytest.fixture
async def adapter(harness):
    made = harness.connect()
    yield made
    await made.close()


class TestWeixin(PlatformContract):
    pass


async def test_the_cursor_is_saved_when_all_before_it_is_stored(harness, adapter):
    for n in range(3):
        harness.server.push(harness.server.message(ANN, f"number {n}"))
    ear = InboundListener(adapter)
    assert [(await ear.hear()).text for _ in range(2)] == ["number 0", "number 1"]
    await ear.close()
    async with listening(harness, harness.connect()) as again:
        assert [(await again.hear()).text for _ in range(3)] == ["number 0", "number 1", "number 2"]
        await again.hears_nothing()
    assert harness.server.polls[0] == harness.server.polls[1] == ""
    async with listening(harness, harness.connect()) as ear:
        await ear.hears_nothing()
    assert harness.server.started == 3


async def test_ids_of_64_bits_are_kept_as_they_are(harness, adapter):
    async with listening(harness, adapter) as ear:
        await harness.write(adapter.home(ANN.id), "hello", ANN)
        assert (await ear.hear()).id == str(FIRST_ID)


async def test_answers_carry_the_newest_context_token_also_after_a_restart(harness, adapter):
    home = adapter.home(ANN.id)
    await adapter.send(home, "before anybody wrote")
    async with listening(harness, adapter) as ear:
        for text in ("one", "two"):
            await harness.write(home, text, ANN)
            await ear.hear()
        newest = harness.server.updates[-1]["context_token"]
    again = harness.connect()
    await again.send(home, "hello")
    assert "context_token" not in harness.server.sent[0]
    assert harness.server.sent[-1]["context_token"] == newest
    assert harness.server.sent[0]["client_id"] != harness.server.sent[-1]["client_id"]
    await again.close()


@pytest.mark.parametrize("fault", [{"ret": -2}, {"ret": -2, "errmsg": "unknown error"}, {"errcode": -2}])
async def test_a_refusal_is_tried_again_once_and_then_the_person_must_write(harness, adapter, fault):
    home, kinds = adapter.home(ANN.id), []
    for _ in range(2):
        harness.server.faults.append(fault)
        with pytest.raises(SendRefused) as refused:
            await adapter.send(home, "hello")
        kinds.append((refused.value.kind, "write first" in refused.value.hint))
    assert kinds == [("rate_limited", True), ("forbidden", True)]
    async with listening(harness, adapter) as ear:
        await harness.write(home, "I am back", ANN)
        await ear.hear()
    harness.server.faults.append(fault)
    with pytest.raises(SendRefused) as refused:
        await adapter.send(home, "hello")
    assert refused.value.kind == "rate_limited"
    await adapter.send(home, "now it works")


async def test_other_codes_are_unknown_and_an_ended_session_is_the_key(harness, adapter):
    home = adapter.home(ANN.id)
    for fault in ({"ret": 7}, {"ret": "x"}, [], {"ret": 0, "errcode": 5}):
        harness.server.faults.append(fault)
        with pytest.raises(SendRefused) as refused:
            await adapter.send(home, "hello")
        assert refused.value.kind == "unknown"
    harness.server.faults.append({"ret": 0, "errcode": -14})
    with pytest.raises(KeyRefused, match="ended") as ended:
        await adapter.send(home, "hello")
    assert "gateway add weixin" in ended.value.hint
    harness.server.faults.append({})  # the plugin takes an empty answer for success
    await adapter.send(home, "hello")


async def test_a_poll_that_ends_without_an_answer_is_repeated(harness, adapter, monkeypatch):
    monkeypatch.setattr(weixin_adapter, "_POLL_SECONDS", 0.1)
    monkeypatch.setattr(weixin_adapter, "_POLL_MARGIN_SECONDS", 0.0)
    monkeypatch.setattr(weixin_adapter, "_MIN_POLL_SECONDS", 0.0)
    async with listening(harness, adapter) as ear:
        await harness.server.changed.until(lambda: len(harness.server.polls) > 2)
        harness.server.push(harness.server.message(ANN, "late"))
        assert (await ear.hear()).text == "late"


async def test_an_ended_session_while_listening(harness, adapter):
    async with listening(harness, adapter) as ear:
        harness.server.poll_results.append({"ret": -14})
        harness.server.changed.ring()
        with pytest.raises(KeyRefused):
            await ear.hear()
    listener = InboundListener(adapter)
    harness.server.poll_results.append({"ret": 1, "errmsg": "busy"})
    with pytest.raises(PlatformDown, match="busy"):
        await listener.hear()
    await listener.close()


async def test_typing_asks_once_for_a_ticket(harness, adapter):
    home = adapter.home(ANN.id)
    for _ in range(2):
        await adapter.typing(home)
    assert harness.server.typing == [(ANN.id, 1), (ANN.id, 1)]


@pytest.mark.parametrize(
    ("item", "field", "name"),
    [(4, "file_item", "notes.txt"), (5, "video_item", "video.mp4"), (3, "voice_item", "voice.silk")],
)
@pytest.mark.parametrize("form", ["raw", "hex"])
async def test_files_are_decrypted_whatever_form_their_key_has(harness, adapter, item, field, name, form):
    key = base64.b64encode(KEY if form == "raw" else KEY.hex().encode()).decode()
    about = {"media": {"encrypt_query_param": harness.server.keep(PICTURE, KEY), "aes_key": key}}
    about |= {"file_name": "notes.txt"} if item == 4 else {}
    async with listening(harness, adapter) as ear:
        harness.server.push(harness.server.message(ANN, "", item_list=[{"type": item, field: about}]))
        [file] = (await ear.hear()).files
    assert (file.name, file.data) == (name, PICTURE.data)


async def test_a_pictures_own_key_goes_first_and_a_full_address_is_used(harness, adapter):
    url = f"{harness.server.url}/c2c/download?encrypted_query_param="
    parameter = harness.server.keep(PICTURE, KEY).replace("+", "%2B").replace("/", "%2F")
    media = {"full_url": url + parameter, "aes_key": base64.b64encode(bytes(16)).decode()}
    item = {"type": 2, "image_item": {"media": media, "aeskey": KEY.hex()}}
    async with listening(harness, adapter) as ear:
        harness.server.push(harness.server.message(ANN, "", item_list=[item]))
        [file] = (await ear.hear()).files
    assert (file.data, file.media_type) == (PICTURE.data, PICTURE.media_type)


@pytest.mark.parametrize("gives_full_url", [False, True])
async def test_files_go_out_encrypted_each_as_its_kind(harness, adapter, gives_full_url):
    harness.server.gives_full_url = gives_full_url
    home, notes = adapter.home(ANN.id), File(name="notes.txt", media_type="text/plain", data=b"")
    for file in (PICTURE, notes, File(name="a.mp4", media_type="video/mp4", data=b"v" * 16)):
        await adapter.send_file(home, file)
    items = [one["item_list"][0] for one in harness.server.sent]
    assert [one["type"] for one in items] == [2, 4, 5]
    assert items[1]["file_item"]["file_name"] == "notes.txt"
    assert [one.files[0].data for one in harness.server.posts[ANN.id]] == [PICTURE.data, b"", b"v" * 16]


def test_the_cipher_is_aes_128_in_ecb():
    """The example of FIPS 197, appendix C.1, and a whole block of padding behind it."""
    plain = bytes.fromhex("00112233445566778899aabbccddeeff")
    sealed = encrypt(plain, KEY)
    assert sealed[:16].hex() == "69c4e0d86a7b0430d8cdb78070b4c55a"
    assert (len(sealed), decrypt(sealed, KEY)) == (32, plain)
    for text in ("AA==", "?", base64.b64encode(b"z" * 32).decode()):
        with pytest.raises(SendRefused):
            parse_key(text)


async def test_voices_are_heard_as_words_and_quotes_are_shown(harness, adapter):
    voice = {"type": 3, "voice_item": {"text": "water the garden"}}
    quote = {"title": "", "message_item": {"type": 1, "text_item": {"text": "shall I?"}}}
    reply = {"type": 1, "text_item": {"text": "yes"}, "ref_msg": quote}
    async with listening(harness, adapter) as ear:
        for item in (voice, reply):
            harness.server.push(harness.server.message(ANN, "", item_list=[item]))
        assert [(await ear.hear()).text for _ in range(2)] == ["water the garden", "> shall I?\nyes"]


def test_the_owner_is_who_scanned_the_code(adapter):
    assert adapter.info.owner == ANN.id
    for words in ("", "ann", "ann@im.wechat/x", "../x@im.wechat", "a b@im.wechat"):
        with pytest.raises(BadInput):
            adapter.home(words)


GOOD = {"message_id": 1, "from_user_id": "ann@im.wechat", "item_list": [{"type": 1, "text_item": {"text": "x"}}]}
FILE = {
    "type": 4,
    "file_item": {"media": {"full_url": "https://evil.example/x", "aes_key": base64.b64encode(KEY).decode()}},
}
HOSTILE_MESSAGES: list[object] = [
    {},
    [],
    "text",
    None,
    7,
    GOOD | {"message_id": None},
    GOOD | {"message_id": True},
    GOOD | {"message_id": 1.5},
    GOOD | {"message_id": [1]},
    GOOD | {"message_id": 0, "client_id": "c" * 5000},
    GOOD | {"from_user_id": None},
    GOOD | {"from_user_id": ""},
    GOOD | {"from_user_id": "../x"},
    GOOD | {"from_user_id": "a" * 4000 + "@im.wechat"},
    GOOD | {"from_user_id": ["ann@im.wechat"]},
    GOOD | {"message_type": 2},
    GOOD | {"group_id": "g"},
    GOOD | {"item_list": None},
    GOOD | {"item_list": "x"},
    GOOD | {"item_list": [None, 7, "x", []]},
    GOOD | {"item_list": [{"type": 1}]},
    GOOD | {"item_list": [{"type": 1, "text_item": "x"}]},
    GOOD | {"item_list": [{"type": 1, "text_item": {"text": 7}}]},
    GOOD | {"item_list": [{"type": [1]}]},
    GOOD | {"item_list": [{"type": {}}]},
    GOOD | {"item_list": [{"type": 2}]},
    GOOD | {"item_list": [{"type": 2, "image_item": {"media": []}}]},
    GOOD | {"item_list": [{"type": 4, "file_item": {"media": {"full_url": 7}}}]},
    GOOD | {"item_list": [{"type": 99, "x": {}}]},
    GOOD | {"create_time_ms": "x", "item_list": []},
]
HOSTILE_PAGES: list[object] = [
    {"ret": 0, "msgs": "x", "get_updates_buf": 7},
    {"ret": 0, "msgs": [None], "longpolling_timeout_ms": -5},
    {"ret": 0, "longpolling_timeout_ms": "soon"},
]


async def test_hostile_input_is_ignored_and_listening_goes_on(harness, adapter, caplog, monkeypatch):
    monkeypatch.setattr(weixin_adapter, "_MIN_POLL_SECONDS", 0.0)
    caplog.set_level(logging.DEBUG)
    async with listening(harness, adapter) as ear:
        harness.server.poll_results.extend(HOSTILE_PAGES)
        for message in HOSTILE_MESSAGES:
            harness.server.push(message)
        await harness.write(adapter.home(ANN.id), "still there?", ANN)
        assert (await ear.hear()).text == "still there?"
    assert len(HOSTILE_MESSAGES) + len(HOSTILE_PAGES) >= 30
    assert TOKEN not in caplog.text
    assert len(await harness.kit.store.list_records(KIND)) == 1


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (FILE, "not on a server of Weixin"),
        ({"type": 4, "file_item": {"media": {"encrypt_query_param": "x"}}}, "without its key"),
        ({"type": 4, "file_item": {"media": {"encrypt_query_param": "x", "aes_key": "?"}}}, "cannot be read"),
        ({"type": 4, "file_item": {"media": {"encrypt_query_param": "x", "aes_key": "ä"}}}, "cannot be read"),
    ],
)
async def test_a_file_that_cannot_be_fetched_is_said(harness, adapter, item, reason):
    async with listening(harness, adapter) as ear:
        harness.server.push(harness.server.message(ANN, "", item_list=[item]))
        heard = await ear.hear()
    assert reason in heard.text
    assert heard.files == ()


# signing in
CONFIRMED = {"status": "confirmed", "bot_token": TOKEN, "ilink_bot_id": ACCOUNT, "ilink_user_id": BEN.id}


async def walk(server, statuses, answers=()):
    """The steps of a sign-in, with what is typed in at questions."""
    server.statuses, left, shown = list(statuses), list(answers), []
    async with aclosing(sign_in({"base_url": server.url})) as steps:
        step = await anext(steps)
        while True:
            shown.append(step)
            try:
                step = await steps.asend(left.pop(0) if step.has_question else "")
            except StopAsyncIteration:
                return shown


@pytest.fixture
def quick(monkeypatch):
    monkeypatch.setattr(weixin_sign_in, "_PAUSE_SECONDS", 0.0)


async def test_a_scanned_code_gives_what_the_adapter_needs(harness, quick):
    steps = await walk(harness.server, [{"status": "wait"}, {"hang_up": True}, {"status": "scaned"}, CONFIRMED])
    assert [one.scan for one in steps] == ["https://weixin.qq.com/x/1", "", ""]
    assert steps[-1].settings == {
        "token": TOKEN,
        "account_id": ACCOUNT,
        "owner_id": BEN.id,
        "base_url": harness.server.url,
    }
    assert TOKEN not in "".join(one.text for one in steps)


async def test_digits_are_asked_for_until_they_are_right(harness, quick):
    question = {"status": "need_verifycode"}
    steps = await walk(harness.server, [question, question, {"status": "scaned"}, CONFIRMED], ["11", " 22 "])
    assert [one.has_question for one in steps] == [False, True, True, False, False]
    assert "not the digits" in steps[2].text
    assert [one.get("verify_code") for one in harness.server.asked] == [None, "11", "22", None]


async def test_a_code_that_expires_is_replaced_twice(harness, quick):
    expired, blocked = {"status": "expired"}, {"status": "verify_code_blocked"}
    steps = await walk(harness.server, [expired, blocked, CONFIRMED])
    assert [one.scan[-1:] for one in steps] == ["1", "2", "3", ""]
    with pytest.raises(PlatformDown, match="in time"):
        await walk(harness.server, [expired] * 3)


@pytest.mark.parametrize(
    ("status", "error"),
    [
        ({"status": "binded_redirect"}, BadInput),
        ({"status": "scaned_but_redirect", "redirect_host": "evil.example"}, PlatformDown),
        ({"status": "scaned_but_redirect", "redirect_host": "evil.example/weixin.qq.com"}, PlatformDown),
        ({"status": "scaned_but_redirect", "redirect_host": "a@weixin.qq.com:7"}, PlatformDown),
        (CONFIRMED | {"baseurl": "https://evil.example"}, PlatformDown),
        (CONFIRMED | {"baseurl": "http://weixin.qq.com"}, PlatformDown),
        (CONFIRMED | {"baseurl": "https://fooweixin.qq.com"}, PlatformDown),
        (CONFIRMED | {"bot_token": ""}, PlatformDown),
        (CONFIRMED | {"ilink_bot_id": 7}, PlatformDown),
    ],
)
async def test_a_sign_in_that_goes_wrong_is_said(harness, quick, status, error):
    with pytest.raises(error):
        await walk(harness.server, [status])


async def test_it_follows_to_another_server_of_weixin(harness, quick, monkeypatch):
    asked, fetch = list[str](), weixin_sign_in._fetch

    async def follow(base_url, *rest):
        asked.append(base_url)
        return await fetch(harness.server.url, *rest)

    monkeypatch.setattr(weixin_sign_in, "_fetch", follow)
    moved = {"status": "scaned_but_redirect", "redirect_host": "sh.ilinkai.weixin.qq.com"}
    await walk(harness.server, [moved, CONFIRMED])
    assert asked == [harness.server.url, harness.server.url, "https://sh.ilinkai.weixin.qq.com"]
