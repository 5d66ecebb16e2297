"""What the pages ask of the gateway: hand-offs step by step, the ledger, people at the door."""

import asyncio
import json

import httpx
import pytest
from fastapi import FastAPI

from sojourn.core.places import Sender
from sojourn.gateway.api import router
from sojourn.gateway.pairing import Identities
from sojourn.http import problems
from tests.integration.gateway.worlds import world

STEPS = ["requested", "claimed", "thread_ready", "bound", "turn_done", "delivered", "completed"]


@pytest.fixture
async def at(home, store):
    async with world(home, store) as made:
        yield made


@pytest.fixture
async def client(at):
    app = FastAPI()
    problems.install(app)
    app.include_router(router(at.kit))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as made:
        yield made


async def test_a_hand_off_is_followed_until_it_is_over(at, client):
    await at.start()
    session = await at.session("hello", title="herbs")
    asked = (await client.post(f"/sessions/{session.id}/handoff", json={"to": "fake", "surface": "cli"})).json()
    async with asyncio.timeout(10):
        text = (await client.get(f"/handoffs/{asked['id']}/events")).text
    frames = [dict(line.split(": ", 1) for line in block.splitlines()) for block in text.split("\n\n") if block]
    seen = [json.loads(one["data"])["state"] for one in frames]
    assert {one["event"] for one in frames} == {"step"}
    assert seen == [one for one in STEPS if one in seen]  # in their order, none twice; quick ones may be passed over
    assert seen[-1] == "completed"


async def test_the_hand_offs_of_all_sessions_have_titles_and_the_newest_is_first(at, client):
    await at.start()
    for title in ("herbs", "trees"):
        await at.hand_over(await at.session("hello", title=title))
    found = (await client.get("/handoffs")).json()
    assert [(one["title"], one["state"]) for one in found] == [("trees", "completed"), ("herbs", "completed")]
    assert len((await client.get("/handoffs?limit=1")).json()) == 1


async def test_the_ledger_tells_what_was_sent_newest_first(at, client):
    await at.start()
    at.network.say("42", "one")
    await at.texts("42", 1)
    at.network.say("42", "two")
    await at.texts("42", 2)
    await at.quiet()
    found = (await client.get("/outbox")).json()
    assert [one["text"] for one in found] == ["two", "one"]
    assert {one["state"] for one in found} <= {"sent", "delivered"}
    assert (await client.get("/outbox?state=failed")).json() == []
    assert (await client.get("/outbox?state=lost")).status_code == 422


async def test_health_is_progress(at, client):
    await at.start()
    async with asyncio.timeout(5):
        while (line := (await client.get("/status")).json()["gateways"][0]["lines"]["fake"])["state"] != "up":
            assert line["state"] == "starting"
            await asyncio.sleep(0.02)
    assert line["health"] == "good"


async def test_whoever_is_turned_away_waits_no_more_and_gets_no_code_for_an_hour(at, client):
    people = Identities(at.store, at.settings)
    code = await people.issue_code("fake", Sender(id="77", name="Ann"))
    waiting = (await client.get("/people")).json()["waiting"]
    assert [(one["sender"], one["name"]) for one in waiting] == [("77", "Ann")]
    assert (await client.delete("/people/waiting/fake/77")).json() == {"removed": True}
    assert (await client.delete("/people/waiting/fake/77")).json() == {"removed": False}
    assert (await client.get("/people")).json() == {"waiting": [], "paired": []}
    assert (await client.post("/people", json={"code": code})).status_code == 404
    assert await people.issue_code("fake", Sender(id="77", name="Ann")) is None
