"""qqbot over its webhook, on a server that signs as QQ does."""

import json
import time

import pytest

from sojourn.platforms.qqbot.webhook import build_key, is_signed
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_steps import listening
from tests.servers.qqbot import ANN, APP, SECRET
from tests.servers.qqbot_webhook import qqbot_webhook_rig, sign_request


@pytest.fixture
async def harness():
    async with qqbot_webhook_rig() as harness:
        yield harness


@pytest.fixture
async def adapter(harness):
    made = harness.connect()
    yield made
    await made.close()


class TestQqbotWebhook(PlatformContract):
    pass


PUBLISHED = (
    "87befc99c42c651b3aac0278e71ada338433ae26fcb24307bdc5ad38c1adc2d0"
    "1bcfcadc0842edac85e85205028a1132afe09280305f13aa6909ffc2d652c706"
)


def test_the_published_signature():
    key, words = build_key("DG5g3B4j9X2KOErG"), b"Arq0D5A61EgUu4OxUvOp"
    assert key.sign(b"1725442341" + words).hex() == PUBLISHED
    assert is_signed(key, "1725442341", words, PUBLISHED)
    assert not is_signed(key, "1725442342", words, PUBLISHED)


async def check(harness, **data):
    return await harness.http.post("/qqbot", json={"op": 13, "d": data}, headers={"X-Bot-Appid": APP})


async def test_the_address_is_confirmed_with_a_signature(harness, adapter):
    async with listening(harness, adapter):
        reply = (await check(harness, plain_token="Arq0D5A61EgUu4OxUvOp", event_ts="1725442341")).json()
    expected = build_key(SECRET).sign(b"1725442341Arq0D5A61EgUu4OxUvOp").hex()
    assert reply == {"plain_token": "Arq0D5A61EgUu4OxUvOp", "signature": expected}


async def test_nobody_gets_an_event_signed(harness, adapter):
    """Whoever can have any text signed could sign events of their own."""
    event = json.dumps({"op": 0, "t": "C2C_MESSAGE_CREATE", "d": {"id": "x"}})
    async with listening(harness, adapter) as ear:
        for token, stamp in ((event, "1725442341"), ("a", f"1725442341{event}"), (event[:20], "1"), ("{}", "1")):
            assert (await check(harness, plain_token=token, event_ts=stamp)).status_code == 401
        await ear.hears_nothing(0.05)


async def test_an_event_is_acknowledged_when_it_is_stored(harness, adapter):
    async with listening(harness, adapter) as ear:
        await harness.write(adapter.home(f"c2c:{ANN.id}"), "hello", ANN)
        await ear.hear()
        assert not harness.sender.answers
        ear.open()
        await harness.sender.until_sent()
    assert harness.sender.answers[0].json() == {"op": 12}


async def test_an_old_signature_is_refused(harness, adapter):
    body = json.dumps({"op": 0, "t": "C2C_MESSAGE_CREATE", "d": {"id": "x"}}).encode()
    async with listening(harness, adapter):
        path, _, headers = sign_request(body, at=time.time() - 2 * 86_400)
        assert (await harness.http.post(path, content=body, headers=headers)).status_code == 401
        path, _, headers = sign_request(body)
        other = {**headers, "X-Bot-Appid": "999"}
        assert (await harness.http.post(path, content=body, headers=other)).status_code == 401
