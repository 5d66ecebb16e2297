"""Plugin routers: each at its place, and one that fails leaves the rest standing."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import asynccontextmanager

import pytest
from fastapi import APIRouter

from sojourn import config
from sojourn.app import App
from sojourn.core.errors import MissingPackage
from sojourn.http import plugin_routes
from sojourn.http.app import make_app
from tests.integration.http.conftest import TOKEN, connect, offer, ping_router


def raising(kit):
    raise OSError("no such model file")


def undescribable(kit):
    router = APIRouter()
    router.add_api_route("/x", lambda: None, response_model=dict[str, Callable[[], int]])
    return router


async def test_a_plugins_routes_have_their_place(kit):
    offer(kit, "one")
    async with connect(kit) as client:
        assert (await client.get("/api/plugins/one/ping")).json() == {"sessions": 0}
        assert "/api/plugins/one/ping" in (await client.get("/openapi.json")).json()["paths"]


def test_routes_of_ours_are_loaded_when_they_are_asked_for(home):
    program = """
import asyncio, sys
import httpx2
from sojourn.app import build
from sojourn.http.app import make_app

def loaded():
    return {"sojourn.templates.plugin_api", "sojourn.http.completions"} & set(sys.modules)

async def main():
    app = make_app(build({}), token="t" * 32)
    assert not loaded(), loaded()
    headers = {"authorization": "Bearer " + "t" * 32}
    transport = httpx2.ASGITransport(app=app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://localhost", headers=headers) as client:
        assert (await client.get("/api/sessions")).status_code == 200
        assert not loaded(), loaded()
        assert (await client.get("/api/plugins/templates/none/such")).status_code == 404
        assert (await client.get("/v1/models")).status_code == 200
        assert len(loaded()) == 2
        paths = (await client.get("/openapi.json")).json()["paths"]
        assert "/api/plugins/memory/facts" in paths
    await app.state.context.close()

asyncio.run(main())
"""
    environment = os.environ | {"SOJOURN_HOME": str(home), "SOJOURN_MODEL_DETECT": "no"}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr


def test_plugins_that_run_something_besides_their_routes_are_named(home):
    app, default = App(config.load({"home": str(home)}, {"HOME": str(home.parent)})), APIRouter().lifespan_context
    found = [(plugin.name, app.load(part)(app).lifespan_context) for plugin in app.plugins() for part in plugin.routes]
    assert {name for name, lifespan in found if type(lifespan) is not type(default)} == plugin_routes.WITH_LIFESPAN


async def test_a_bug_in_a_plugin_is_a_problem_like_any_other(kit):
    offer(kit, "one")
    async with connect(kit) as client:
        answer = await client.get("/api/plugins/one/bug")
        assert (answer.status_code, answer.json()["code"]) == (500, "internal")


BROKEN = {"raises": raising, "is no router": lambda kit: 3, "cannot be described": undescribable}


@pytest.mark.parametrize("broken", BROKEN.values(), ids=BROKEN)
async def test_a_plugin_that_fails_says_why_and_the_rest_stands(kit, broken):
    offer(kit, "bad", broken)
    offer(kit, "good")
    async with connect(kit) as client:
        listed = {one["name"]: one for one in (await client.get("/api/plugins")).json()}
        assert listed["bad"]["problem"]
        assert listed["good"]["problem"] == ""
        assert (await client.get("/api/plugins/good/ping")).status_code == 200
        answer = await client.get("/api/plugins/bad/ping")
        assert (answer.status_code, answer.json()["code"]) == (503, "plugin_failed")
        assert listed["bad"]["problem"] in answer.json()["detail"]
        assert (await client.get("/openapi.json")).status_code == 200
        assert (await client.get("/api/health")).json()["plugins_failed"] == ["bad"]


async def test_a_name_that_cannot_be_part_of_an_address_is_a_problem(kit):
    offer(kit, "a/b")
    async with connect(kit) as client:
        (listed,) = (await client.get("/api/plugins")).json()
        assert "a/b" in listed["problem"]


async def test_a_plugin_that_could_not_be_loaded_at_all_is_listed_too(kit):
    kit.lost["postgres"] = MissingPackage("It needs psycopg.", hint="`sojourn plugins install postgres`")
    async with connect(kit) as client:
        (listed,) = (await client.get("/api/plugins")).json()
        assert (listed["name"], listed["problem"]) == ("postgres", "It needs psycopg.")


def living(kit, words, *, begin=None, end=None):
    @asynccontextmanager
    async def lifespan(app):
        words.append("begins")
        if begin:
            await begin()
        yield
        words.append("ends")
        if end:
            await end()

    router = ping_router(kit)
    router.lifespan_context = lifespan
    return router


async def never():
    await asyncio.Event().wait()


async def fail():
    raise RuntimeError("out of luck")


async def test_a_plugin_begins_and_ends_with_the_server(kit):
    words = []
    offer(kit, "one", lambda kit: living(kit, words))
    app = make_app(kit, token=TOKEN)
    async with app.router.lifespan_context(app):
        assert words == ["begins"]
    assert words == ["begins", "ends"]


@pytest.mark.parametrize("begin", [fail, never])
async def test_a_plugin_that_cannot_begin_says_why_and_the_rest_stands(kit, begin, monkeypatch):
    monkeypatch.setattr(plugin_routes, "_START_SECONDS", 0.01)
    offer(kit, "bad", lambda kit: living(kit, [], begin=begin))
    offer(kit, "good")
    app = make_app(kit, token=TOKEN)
    async with app.router.lifespan_context(app), connect(kit, app=app) as client:
        answer = await client.get("/api/plugins/bad/ping")
        assert (answer.status_code, answer.json()["code"]) == (503, "plugin_failed")
        assert (await client.get("/api/plugins/good/ping")).status_code == 200


@pytest.mark.parametrize("end", [fail, never])
async def test_a_plugin_that_does_not_end_well_holds_nobody_up(kit, end, monkeypatch):
    monkeypatch.setattr(plugin_routes, "_STOP_SECONDS", 0.01)
    words = []
    offer(kit, "first", lambda kit: living(kit, words))
    offer(kit, "bad", lambda kit: living(kit, [], end=end))
    app = make_app(kit, token=TOKEN)
    async with app.router.lifespan_context(app):
        pass
    assert words == ["begins", "ends"]
