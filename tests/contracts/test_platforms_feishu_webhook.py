"""feishu over its webhook, on a server that encrypts and signs as Feishu does."""

import base64
import json
import time

import pytest

from sojourn.core.errors import BadConfig
from sojourn.core.settings import Secret
from sojourn.platforms.feishu import FeishuSettings
from sojourn.platforms.feishu.adapter import Feishu
from sojourn.platforms.feishu.webhook import decrypt
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_steps import listening
from tests.servers.adapter_context import With
from tests.servers.feishu import ANN, APP, SECRET
from tests.servers.feishu_webhook import VERIFICATION_TOKEN, encrypt_event, feishu_webhook_rig, sign_request


@pytest.fixture
async def harness():
    async with feishu_webhook_rig() as harness:
        yield harness


@pytest.fixture
async def adapter(harness):
    made = harness.connect()
    yield made
    await made.close()


class TestFeishuWebhook(PlatformContract):
    pass


def test_the_published_example_is_decrypted():
    assert decrypt("test key", "P37w+VZImNgPEO1RBhJ6RtKl7n6zymIbEG1pReEzghk=") == b"hello world"


@pytest.mark.parametrize("text", ["", "x", "é", "AAAA", "P37w+VZImNgPEO1RBhJ6RtKl7n6zymIbEG1pReEzghk"])
def test_what_is_not_encrypted_with_the_key_is_refused(text):
    with pytest.raises(ValueError, match=r".+"):
        decrypt("test key", text)


async def test_the_address_is_confirmed_to_who_has_key_and_token(harness, adapter):
    check = {"type": "url_verification", "challenge": "c-42", "token": VERIFICATION_TOKEN}
    async with listening(harness, adapter):
        reply = await harness.http.post("/feishu", content=encrypt_event(check))
        assert (reply.status_code, reply.json()) == (200, {"challenge": "c-42"})
        for body in (
            encrypt_event(check | {"token": "other"}),
            encrypt_event(check, "another key"),
            json.dumps(check).encode(),
        ):
            assert (await harness.http.post("/feishu", content=body)).status_code == 401


async def test_what_was_encrypted_wrongly_says_nothing_about_what_it_decrypts_to(harness, adapter):
    """Else a stranger could read an encrypted event byte by byte: some of these decrypt to text that is no JSON."""
    sealed = base64.b64decode(json.loads(encrypt_event({"token": VERIFICATION_TOKEN}))["encrypt"])
    answers = set()
    async with listening(harness, adapter):
        for byte in range(256):
            changed = sealed[:-17] + bytes([byte]) + sealed[-16:]
            body = json.dumps({"encrypt": base64.b64encode(changed).decode()}).encode()
            reply = await harness.http.post("/feishu", content=body)
            answers.add((reply.status_code, reply.text))
    assert len(answers) == 1


async def test_another_apps_event_is_acknowledged_and_left_out(harness, adapter):
    async with listening(harness, adapter) as ear:
        header = {"event_id": "e1", "event_type": "im.message.receive_v1", "app_id": "cli_other"}
        await harness.server.push({"schema": "2.0", "header": header, "event": {}})
        await harness.write(adapter.home(ANN.id), "ours", ANN)
        assert (await ear.hear()).text == "ours"
        ear.open()
        await harness.sender.until_sent()
    assert [one.json() for one in harness.sender.answers] == [{}, {}]


async def test_an_old_signature_and_another_token_are_refused(harness, adapter):
    header = {"event_id": "e1", "event_type": "im.message.receive_v1", "app_id": APP, "token": VERIFICATION_TOKEN}
    event = encrypt_event({"schema": "2.0", "header": header, "event": {}})
    wrong = encrypt_event({"schema": "2.0", "header": header | {"token": "other"}, "event": {}})
    async with listening(harness, adapter) as ear:
        for body, at in ((event, time.time() - 2 * 86_400), (wrong, time.time())):
            path, _, headers = sign_request(body, at=at)
            assert (await harness.http.post(path, content=body, headers=headers)).status_code == 401
        await ear.hears_nothing(0.05)


def test_both_keys_are_needed(harness):
    settings = FeishuSettings(app_id=APP, app_secret=Secret(SECRET), webhook=True, encrypt_key=Secret("x"))
    with pytest.raises(BadConfig, match="verification_token"):
        Feishu(With(harness.kit, settings))
