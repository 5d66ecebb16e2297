"""webhook, with a program that really knocks."""

import asyncio
import hashlib
import hmac
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

from sojourn.core.errors import BadConfig, PlatformDown, SendRefused
from sojourn.core.settings import Secret
from sojourn.platforms.answer_delivery import sign
from sojourn.platforms.webhook import WebhookSettings
from sojourn.platforms.webhook.adapter import Webhook
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_steps import listening
from tests.servers.webhook import SECRET, HookHarness

AT = "/webhook/deploys"
FORGE = "/webhook/forge"  # a route for services that sign the body alone


@pytest.fixture
async def harness() -> AsyncIterator[HookHarness]:
    async with HookHarness() as harness:
        yield harness


@pytest.fixture
async def adapter(harness: HookHarness) -> AsyncIterator[Webhook]:
    made = harness.connect()
    yield made
    await made.close()


class TestWebhook(PlatformContract):
    pass


def as_github(body: bytes) -> dict[str, str]:
    mark = hmac.new(SECRET.reveal().encode(), body, hashlib.sha256).hexdigest()
    return {"X-Hub-Signature-256": f"sha256={mark}", "X-GitHub-Event": "push"}


async def test_a_knock_is_answered_when_its_message_is_kept_and_not_before(harness: HookHarness, adapter: Webhook):
    async with listening(harness, adapter) as ear:
        body = b'{"text": "done"}'
        knock = asyncio.create_task(harness.http.post(AT, content=body, headers=sign(SECRET, body, time.time())))
        heard = await ear.hear()
        assert not knock.done()
        ear.open()
        reply = await knock
    assert (reply.status_code, reply.json()["id"]) == (202, heard.id)


async def test_a_service_that_signs_the_body_alone_is_heard(harness: HookHarness, adapter: Webhook):
    async with listening(harness, adapter) as ear:
        body = b'{"ref": "main"}'
        knock = asyncio.create_task(harness.http.post(FORGE, content=body, headers=as_github(body)))
        assert (await ear.hear()).text == 'push\n{"ref": "main"}'
        knock.cancel()


async def test_a_repeated_knock_is_the_same_message(harness: HookHarness, adapter: Webhook):
    async with listening(harness, adapter) as ear:
        body = b"plain words"
        knocks = [
            asyncio.create_task(harness.http.post(FORGE, content=body, headers=as_github(body))) for _ in range(2)
        ]
        first, second = await ear.hear(), await ear.hear()
        assert first.id == second.id
        for knock in knocks:
            knock.cancel()


@pytest.mark.parametrize(
    ("route", "headers"),
    [
        ("deploys", {}),
        ("deploys", sign(Secret("another-secret-here"), b"x", time.time())),
        ("deploys", sign(SECRET, b"another body", time.time())),
        ("deploys", sign(SECRET, b"x", 1_000_000_000)),
        ("deploys", {"X-Sojourn-Timestamp": "soon", "X-Sojourn-Signature": "é"}),
        ("nowhere", sign(SECRET, b"x", time.time())),
        ("quiet", sign(SECRET, b"x", time.time())),
    ],
)
async def test_who_cannot_sign_is_not_heard(
    harness: HookHarness, adapter: Webhook, route: str, headers: dict[str, str]
):
    async with listening(harness, adapter) as ear:
        given = {name.encode(): value.encode() for name, value in headers.items()}
        reply = await harness.http.post(f"/webhook/{route}", content=b"x", headers=given)
        assert reply.status_code == 401
        await ear.hears_nothing(0.05)


async def test_a_body_that_is_too_big_is_refused(harness: HookHarness, adapter: Webhook):
    async with listening(harness, adapter):
        assert (await harness.http.post(AT, content=b"x" * 1_000_001)).status_code == 413


async def test_a_route_without_a_receiver_says_so(harness: HookHarness, adapter: Webhook):
    with pytest.raises(SendRefused) as refused:
        await adapter.send(adapter.home("quiet"), "hello")
    assert (refused.value.kind, "deliver" in refused.value.hint) == ("forbidden", True)


async def test_a_taken_port_is_said(harness: HookHarness, adapter: Webhook):
    async with listening(harness, adapter):
        with pytest.raises(PlatformDown) as refused:
            await anext(harness.connect().listen())
    assert "port" in refused.value.hint


@pytest.mark.parametrize(
    "routes",
    [
        {},
        {"a": {"secret": "short"}},
        {"a b": {}},
        {"a": {"secrets": "x"}},
        {"a": {"secret": "x" * 16, "signature": "none"}},
        {"a": 1},
        7,
    ],
)
def test_a_wrong_route_is_said(routes: Any):
    with pytest.raises(BadConfig, match="route"):
        WebhookSettings(routes=routes).parse_routes()
