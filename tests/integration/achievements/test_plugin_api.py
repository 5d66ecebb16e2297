"""The plugin's routes as FastAPI sees them: each registered once, described, and behind the plugin guard."""

from __future__ import annotations

import pytest
from fastapi import Depends, FastAPI
from fastapi.testclient import TestClient

from sojourn.achievements.plugin_api import routes
from sojourn.core.errors import SojournError, StoreUnavailable
from sojourn.http.problems import to_problem
from tests.integration.achievements.test_achievements_plugin import World


@pytest.fixture
def world(tmp_path):
    world = World(tmp_path)
    yield world
    world.scans.close()


def test_a_wait_that_is_too_long_is_shortened(world):
    world.fresh()
    assert world.get("achievements", wait="1e9").status_code == 200


def test_each_route_is_registered_once_and_the_wait_is_described_as_a_number(world):
    api = routes(lambda: world.scans)
    paths = [(route.path, *sorted(route.methods)) for route in api.routes]
    assert len(paths) == len(set(paths))
    assert all(route.include_in_schema for route in api.routes)
    app = FastAPI()
    app.include_router(api)
    (wait,) = app.openapi()["paths"]["/achievements"]["get"]["parameters"]
    assert wait["schema"]["type"] == "number"


def test_a_plugin_that_failed_to_start_refuses_every_route(world):
    def refuse():
        raise StoreUnavailable("The plugin could not start.", hint="See the log.")

    app = FastAPI()
    app.include_router(routes(lambda: world.scans), dependencies=[Depends(refuse)])
    app.add_exception_handler(SojournError, lambda request, error: to_problem(request.scope, error))
    client = TestClient(app)
    for path in ("achievements", "scan-status", "recent-unlocks", "sessions/s0/badges"):
        assert client.get(f"/{path}").status_code == StoreUnavailable.status
