"""Programs that write to Sojourn: whose rights they have, how they sign, and what a repeated request does."""

import asyncio
import hashlib
import hmac
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from sojourn.core.sessions import OWNER
from sojourn.gateway.host import Gateway
from sojourn.platforms.answer_delivery import sign
from sojourn.platforms.webhook import WebhookSettings
from sojourn.platforms.webhook import adapter as webhook_module
from sojourn.platforms.webhook.adapter import Webhook
from sojourn.testing.hermes_process import free_port
from sojourn.testing.platform_steps import listening
from tests.integration.gateway.worlds import World, world
from tests.servers.adapter_context import With
from tests.servers.homeassistant import HouseHarness
from tests.servers.store import temporary_store
from tests.servers.webhook import SECRET, HookHarness


def hub_signature(body: bytes) -> dict[str, str]:
    return {"X-Hub-Signature-256": "sha256=" + hmac.new(SECRET.reveal().encode(), body, hashlib.sha256).hexdigest()}


class Programs:
    """A gateway with a webhook server, and programs that post to it."""

    def __init__(self, made: World) -> None:
        self.world, self.port = made, free_port()
        self.http = httpx2.AsyncClient(base_url=f"http://127.0.0.1:{self.port}", timeout=10)
        self.gateway: Gateway | None = None

    async def start(self) -> None:
        secret = SECRET.reveal()
        routes: dict[str, Any] = {name: {"secret": secret} for name in ("deploys", "alerts", "forge")}
        routes["forge"]["signature"] = "hub"
        settings = WebhookSettings(port=self.port, routes=routes)
        await self.world.start(Webhook(With(self.world.kit, settings)))  # type: ignore[arg-type]
        while True:
            try:
                await self.http.get("/")
                return
            except httpx2.TransportError:
                await asyncio.sleep(0.01)

    async def post(self, route: str, body: bytes, headers: dict[str, str] | None = None) -> httpx2.Response:
        headers = headers or sign(SECRET, body, time.time())
        return await self.http.post(f"/webhook/{route}", content=body, headers=headers)

    async def sessions(self) -> dict[str, str]:
        """The principal of the session in which each text was said."""
        await self.world.quiet()
        await self.world.service.settle()
        return {turn.said: turn.session.principal for turn in self.world.runtime.seen}


@asynccontextmanager
async def programs(home: Any, **settings: Any) -> AsyncIterator[Programs]:
    store = temporary_store()
    async with world(home, store, **settings) as made:
        them = Programs(made)
        yield them
        await them.http.aclose()
    await store.close()


async def test_program_is_a_guest_and_each_route_another_one(home):
    async with programs(home) as them:
        await them.start()
        for route in ("deploys", "alerts"):
            body = b'{"text": "from %s", "sender": "owner"}' % route.encode()
            assert (await them.post(route, body)).status_code == 202
        seen = await them.sessions()
    assert seen == {"from deploys": "guest:webhook-deploys", "from alerts": "guest:webhook-alerts"}


async def test_route_is_the_owners_only_if_the_settings_say_so(home):
    async with programs(home, gateway_owners="webhook:deploys, webhook:boss") as them:
        await them.start()
        await them.post("deploys", b'{"text": "mine"}')
        await them.post("alerts", b'{"text": "not mine", "sender": "boss"}')
        seen = await them.sessions()
    assert seen == {"mine": OWNER, "not mine": "guest:webhook-alerts"}


async def test_program_of_the_owner_answers_no_question_and_gives_no_command(home):
    async with programs(home, gateway_owners="webhook:deploys") as them:
        await them.start()
        for text in (b'{"text": "/new"}', b'{"text": "yes"}'):
            await them.post("deploys", text)
        seen = await them.sessions()
    assert set(seen) == {"/new", "yes"}  # as words for the agent


async def test_event_of_home_assistant_is_a_guests(home):
    store = temporary_store()
    async with HouseHarness() as house, world(home, store) as made:
        await made.start(house.connect())
        await house.until_listening()
        place = house.connect().home(next(iter(house.chats.values())))
        await house.write(place, "open the door", house.people[0])
        await made.until(lambda: made.runtime.seen)
        (turn,) = made.runtime.seen
        assert turn.session.principal == "guest:homeassistant-sojourn_message"
        await made.quiet()
    await store.close()


@pytest.mark.parametrize(
    ("route", "scheme"), [("deploys", "hub"), ("forge", "sojourn"), ("forge", "both"), ("deploys", "both")]
)
async def test_route_takes_one_kind_of_signature_only(home, route, scheme):
    body = b'{"text": "forged"}'
    headers = sign(SECRET, body, time.time()) if scheme == "sojourn" else hub_signature(body)
    if scheme == "both":  # the wrong one is right, the right one is wrong
        headers = (
            {**hub_signature(b"x"), **sign(SECRET, body, time.time())}
            if route == "forge"
            else {**hub_signature(body), **sign(SECRET, b"x", time.time())}
        )
    async with programs(home) as them:
        await them.start()
        assert (await them.post(route, body, headers)).status_code == 401
        assert await them.sessions() == {}


async def test_signature_of_one_kind_is_none_of_the_other(home):
    """A service that signs bodies alone must not be able to make a signature with a time in it."""
    stamp = str(int(time.time()))
    body = b'{"text": "forged"}'
    signed = hub_signature(f"{stamp}.".encode() + body)["X-Hub-Signature-256"]
    async with programs(home) as them:
        await them.start()
        reply = await them.post("forge", body, {"X-Sojourn-Timestamp": stamp, "X-Sojourn-Signature": signed})
        assert reply.status_code == 401


@pytest.mark.parametrize("scheme", ["sojourn", "hub"])
async def test_replayed_request_does_nothing_after_a_restart_and_a_clean_up(home, scheme):
    body = b'{"text": "deploy"}'
    route = "forge" if scheme == "hub" else "deploys"
    headers = hub_signature(body) if scheme == "hub" else sign(SECRET, body, time.time())
    store = temporary_store()
    for run in range(2):
        async with world(home, store) as made:
            them = Programs(made)
            await them.start()  # another port, too
            for _ in range(2):
                reply = await them.post(route, body, headers)
                assert reply.status_code == 202
            assert len(await them.sessions()) == (1 if run == 0 else 0)
            await them.http.aclose()
            await store.prune_journal(time.time() + 10)  # as a week later
    await store.close()


async def test_replay_with_a_clock_that_goes_back_does_nothing(home, monkeypatch):
    async with programs(home) as them:
        await them.start()
        body, past = b'{"text": "deploy"}', time.time() - 3600
        monkeypatch.setattr(webhook_module.time, "time", lambda: past)
        headers = sign(SECRET, body, past)
        await them.post("deploys", body, headers)
        assert len(await them.sessions()) == 1
        await them.world.store.prune_journal(time.time() + 7200)
        monkeypatch.undo()
        assert (await them.post("deploys", body, headers)).status_code == 401
        monkeypatch.setattr(webhook_module.time, "time", lambda: past)
        them.world.runtime.seen.clear()
        assert (await them.post("deploys", body, headers)).status_code == 202
        assert await them.sessions() == {}


async def test_two_bodies_with_one_number_are_two_messages_of_a_service():
    async with HookHarness() as harness:
        adapter = harness.connect()
        async with listening(harness, adapter) as ear:
            heard = []
            for action in (b"opened", b"closed"):
                body = b'{"id": 7, "action": "%s"}' % action
                knock = asyncio.create_task(
                    harness.http.post("/webhook/forge", content=body, headers=hub_signature(body))
                )
                heard.append(await ear.hear())
                knock.cancel()
        await adapter.close()
    assert len({one.id for one in heard}) == 2
