"""wecom_app, on a server that encrypts as WeCom does."""

import time

import pytest

from sojourn.core.errors import BadConfig, BadInput, SendRefused
from sojourn.platforms.request_checks import RequestRefused
from sojourn.platforms.wecom_app.callbacks import (
    CallbackKeys,
    decrypt,
    find_encrypted,
    open_callback,
    parse_aes_key,
    parse_fields,
)
from sojourn.ports.platform import Button
from sojourn.testing.platform_abilities import has_lasting_buttons
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_harness import PICTURE
from sojourn.testing.platform_steps import listening, ours
from tests.servers.wecom_app import (
    ANN,
    BEN,
    CORP,
    CodeRefused,
    encrypt,
    sign_query,
    sign_request,
    to_xml,
    wecom_app_rig,
    wrap,
)


@pytest.fixture
async def harness():
    async with wecom_app_rig() as harness:
        yield harness


@pytest.fixture
async def adapter(harness):
    made = harness.connect()
    yield made
    await made.close()


class TestWecomApp(PlatformContract):
    async def test_sends_files(self, harness, adapter, chat):
        """A caption is a message of its own."""
        sent = await adapter.send_file(chat, PICTURE, caption="a dot")
        words, picture = ours(await harness.read_messages(chat), harness)
        assert (words.text, picture.id) == ("a dot", sent.id)
        assert [one.data for one in picture.files] == [PICTURE.data]


KEYS = CallbackKeys(
    token="QDG6eK", aes_key=parse_aes_key("jWmYm7qr5nMoAUwZRjGtBxmz3KA1tkAj3ykkR6q2B2C"), receiver="wx5823bf96d3bd56c7"
)
PUBLISHED_CHECK = {
    "msg_signature": "5c45ff5e21c57e6ad56bac8758b79b1d9ac89fd3",
    "timestamp": "1409659589",
    "nonce": "263014780",
    "echostr": "P9nAzCzyDtyTWESHep1vC5X9xho/qYX3Zpb4yKa9SKld1DsH3Iyt3tP3zNdtp+4RPcs8TgAE7OaBO+FZXvnaqQ==",
}
PUBLISHED_QUERY = {
    "msg_signature": "477715d11cdb4164915debcba66cb864d751f3e6",
    "timestamp": "1409659813",
    "nonce": "1372623149",
}
PUBLISHED_MESSAGE = (
    "RypEvHKD8QQKFhvQ6QleEB4J58tiPdvo+rtK1I9qca6aM/wvqnLSV5zEPeusUiX5L5X/0lWfrf0QADHHhGd3QczcdCUpj911L3vg3W/sYYvuJTs3"
    "TUUkSUXxaccAS0qhxchrRYt66wiSpGLYL42aM6A8dTT+6k4aSknmPj48kzJs8qLjvd4Xgpue06DOdnLxAUHzM6+kDZ+HMZfJYuR+LtwGc2hgf5gs"
    "ijff0ekUNXZiqATP7PF5mZxZ3Izoun1s4zG4LUMnvw2r+KqCKIw+3IQH03v+BCA9nMELNqbSf6tiWSrXJB3LAVGUcallcrw8V2t9EL4EhzJWrQUa"
    "x5wLVMNS0+rUPA3k22Ncx4XXZS9o0MBH27Bo6BpNelZpS+/uh9KsNlY6bHCmJU9p8g7m3fVKn28H3KDYA5Pl/T8Z1ptDAVe0lXdQ2YoyyH2uyPIG"
    "HBZZIs2pDBS8R07+qN+E7Q=="
)


def test_the_published_check():
    assert open_callback(KEYS, PUBLISHED_CHECK, PUBLISHED_CHECK["echostr"]) == "1616140317555161061"


def test_the_published_message():
    fields = parse_fields(open_callback(KEYS, PUBLISHED_QUERY, find_encrypted(wrap(PUBLISHED_MESSAGE))))
    assert (fields["Content"], fields["FromUserName"]) == ("hello", "mycreate")
    assert (fields["MsgId"], fields["AgentID"]) == ("4561255354251345929", "218")


def test_a_changed_message_and_another_company_are_refused():
    with pytest.raises(RequestRefused, match="signature"):
        open_callback(KEYS, PUBLISHED_QUERY, f"A{PUBLISHED_MESSAGE[1:]}")
    with pytest.raises(ValueError, match="another company"):
        decrypt(KEYS, encrypt(b"<xml/>", receiver="wx-another"))


@pytest.mark.parametrize("encrypted", ["", "é", "AAAA", "QUJD" * 16])
def test_what_is_not_encrypted_is_refused(encrypted):
    with pytest.raises(ValueError, match=r".+"):
        decrypt(KEYS, encrypted)


@pytest.mark.parametrize(
    "text", ["", "<xml>", "words", '<!DOCTYPE x [<!ENTITY a "b">]><xml><A>&a;</A></xml>', "<!doctype x><x/>"]
)
def test_entities_and_broken_xml_are_refused(text):
    with pytest.raises(RequestRefused):
        parse_fields(text)


async def test_the_address_is_confirmed_with_the_decrypted_words(harness, adapter):
    words = encrypt(b"1616140317555161061")
    async with listening(harness, adapter):
        reply = await harness.http.get(f"/wecom_app?{sign_query(words, echostr=words)}")
        assert (reply.status_code, reply.text) == (200, "1616140317555161061")
        assert (await harness.http.get(f"/wecom_app?{sign_query(words, 'x', echostr=words)}")).status_code == 401


async def test_a_callback_is_answered_with_nothing_when_it_is_stored(harness, adapter):
    async with listening(harness, adapter) as ear:
        await harness.write(adapter.home(ANN.id), "hello", ANN)
        await ear.hear()
        assert not harness.sender.answers
        ear.open()
        await harness.sender.until_sent()
    assert harness.sender.answers[0].content == b""


async def test_an_old_callback_is_refused_and_another_apps_is_left_out(harness, adapter):
    body = wrap(encrypt(to_xml(harness.server.build_fields(ANN, "old"))))
    async with listening(harness, adapter) as ear:
        path, _, headers = sign_request(body, at=time.time() - 2 * 86_400)
        assert (await harness.http.post(path, content=body, headers=headers)).status_code == 401
        harness.notify(harness.server.build_fields(ANN, "no", AgentID="999"))
        harness.notify(harness.server.build_fields(ANN, "no", ToUserName="wx-another"))
        harness.notify(harness.server.build_fields(ANN, "", MsgType="event", Event="enter_agent"))
        await harness.write(adapter.home(ANN.id), "yes", ANN)
        assert (await ear.hear()).text == "yes"


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"MsgType": "location", "Label": "Zoo", "Location_X": "52.5", "Location_Y": "13"}, "Location: Zoo, 52.5, 13"),
        ({"MsgType": "link", "Title": "A page", "Url": "https://x.example/"}, "A page\nhttps://x.example/"),
        (
            {"MsgType": "file", "MediaId": "gone"},
            "[A file could not be downloaded: WeCom says: 40007 invalid media_id.]",
        ),
    ],
)
async def test_other_kinds_of_messages_become_words(harness, adapter, more, text):
    async with listening(harness, adapter) as ear:
        harness.notify(harness.server.build_fields(ANN, "", **more))
        assert (await ear.hear()).text == text


async def test_buttons_stay_and_a_long_question_is_sent_whole_before_them(harness, adapter):
    assert has_lasting_buttons(adapter)
    place, words = adapter.home(ANN.id), "rm -r " + "x" * 500
    await adapter.ask(place, words, [Button(label="Yes", value="y")], plain=True)
    first, second = await harness.read_messages(place)
    assert (first.text, len(second.buttons)) == (words, 1)
    with pytest.raises(SendRefused):
        await adapter.ask(place, "Which?", [Button(label=str(n), value=str(n)) for n in range(7)])


async def test_an_expired_token_is_renewed(harness, adapter):
    await adapter.send(adapter.home(ANN.id), "one")
    harness.server.tokens.clear()
    assert (await adapter.send(adapter.home(ANN.id), "two")).id
    assert [one["markdown"]["content"] for one in harness.server.sent] == ["one", "two"]


async def test_a_person_outside_the_range_is_not_found(harness, adapter):
    harness.server.invalid_user = BEN.id
    with pytest.raises(SendRefused) as refused:
        await adapter.send(adapter.home(BEN.id), "hello")
    assert (refused.value.kind, "visible range" in refused.value.hint) == ("not_found", True)


@pytest.mark.parametrize(
    ("code", "kind"), [(45009, "rate_limited"), (48002, "forbidden"), (45002, "too_long"), (-1, "transient")]
)
async def test_codes_inside_a_200_become_kinds(harness, adapter, code, kind):
    harness.server.faults.append(CodeRefused(code))
    with pytest.raises(SendRefused) as refused:
        await adapter.send(adapter.home(ANN.id), "hello")
    assert refused.value.kind == kind


async def test_nobody_is_called_by_what_a_model_writes(harness, adapter):
    await adapter.send(adapter.home(ANN.id), "<@ben.b> come")
    assert "<@" not in harness.server.sent[0]["markdown"]["content"]


@pytest.mark.parametrize("name", ["", "a b", "@all", "x" * 65, "a..b"])
def test_what_is_no_member_is_refused(adapter, name):
    with pytest.raises(BadInput):
        adapter.home(name)


@pytest.mark.parametrize("key", ["", "short", "é" * 43])
def test_a_wrong_key_in_the_settings_is_said(harness, key):
    with pytest.raises(BadConfig, match="aes_key"):
        harness.connect(aes_key=key)


def test_the_account_is_the_companys_app(adapter):
    assert adapter.account == f"{CORP}/218"
