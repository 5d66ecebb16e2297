"""Routes that come and go: there while they are wanted, and at other times as if they had never been."""

import httpx
import pytest
from fastapi import APIRouter, FastAPI
from fastapi.responses import PlainTextResponse

from sojourn.dashboard.host import ConditionalRoute
from sojourn.http import problems


@pytest.fixture
async def client():
    wanted: set[str] = set()
    app, ours, theirs = FastAPI(), APIRouter(), APIRouter()
    problems.install(app)
    ours.add_api_route("/garden/plants", lambda: "ours", methods=["GET"])
    theirs.routes.append(ConditionalRoute(PlainTextResponse("theirs"), lambda path: path in wanted, ("GET",)))
    app.include_router(ours)
    app.include_router(theirs, prefix="/garden")
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as made:
        made.wanted = wanted
        yield made


async def test_a_route_is_there_while_it_is_wanted(client):
    assert (await client.get("/garden/tulips")).json()["code"] == "no_route"
    client.wanted.add("/garden/tulips")
    assert (await client.get("/garden/tulips")).text == "theirs"
    client.wanted.clear()
    assert (await client.get("/garden/tulips")).json()["code"] == "no_route"


async def test_it_changes_nothing_for_the_routes_beside_it(client):
    refused = await client.post("/garden/plants")
    assert (refused.status_code, refused.headers["allow"]) == (405, "GET")
    client.wanted.add("/garden/tulips")
    assert (await client.post("/garden/tulips")).status_code == 405
    assert (await client.get("/garden/plants")).json() == "ours"
