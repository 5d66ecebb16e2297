"""Whoever asks in a guest's place (`Sojourn-Principal`) gets from no route of our plugins what is somebody else's."""

import re

import pytest

from tests.e2e.http_server import Serving

GUEST = {"Sojourn-Principal": "guest:ben"}
SECRET_TITLE = "the garden plan"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Serving(tmp_path_factory.mktemp("home") / "home") as made:
        yield made


@pytest.fixture(scope="module")
def session(server):
    """A session of the owner with a turn."""
    made = server.client.post("/api/sessions", json={"title": SECRET_TITLE}).json()["id"]
    server.client.post("/api/chat/stream", json={"message": "hello", "session_id": made}).raise_for_status()
    return made


def list_routes(server):
    """Every route of a plugin that reads, with its parameters filled in."""
    for path, methods in server.get("/openapi.json").json()["paths"].items():
        if path.startswith("/api/plugins/") and "get" in methods:
            yield path


def test_the_context_of_a_turn_is_its_owners(server, session):
    for words in (session, SECRET_TITLE, session[:6]):
        path = f"/api/plugins/memory/used/{words}"
        assert server.get(path).status_code == 200
        assert server.client.get(path, headers=GUEST).status_code == 404


def test_hand_offs_are_those_of_ones_own_sessions(server, session):
    path = f"/api/plugins/gateway/sessions/{session}/handoffs"
    assert server.get(path).status_code == 200
    assert server.client.get(path, headers=GUEST).status_code == 404
    asked = server.client.post(f"/api/plugins/gateway/sessions/{session}/handoff", json={"to": "local"})
    assert asked.status_code == 202, asked.text
    one = f"/api/plugins/gateway/handoffs/{asked.json()['id']}"
    for method, where in (("GET", one), ("GET", f"{one}/events"), ("DELETE", one)):
        assert server.client.request(method, where, headers=GUEST).status_code == 404, (method, where)
    assert server.client.get("/api/plugins/gateway/handoffs", headers=GUEST).json() == []
    assert server.get("/api/plugins/gateway/handoffs").json()[0]["title"] == SECRET_TITLE
    assert server.get(one).status_code == 200
    own = server.client.post("/api/sessions", json={"title": "mine"}, headers=GUEST).json()["id"]
    found = server.client.get(f"/api/plugins/gateway/sessions/{own}/handoffs", headers=GUEST)
    assert (found.status_code, found.json()) == (200, [])


def test_no_other_route_of_our_plugins_answers_a_guest(server, session):
    own = {"/api/plugins/memory/facts", "/api/plugins/gateway/handoffs"}
    tried = 0
    for path in list_routes(server):
        filled = re.sub(
            r"\{[^}]*\}", lambda one: session if one[0] in ("{session}", "{session_id}", "{id}") else "1", path
        )
        answer = server.client.get(filled, headers=GUEST, params={"text": "a", "request": "a"})
        if path in own:
            assert answer.status_code == 200
            continue
        assert answer.status_code in (401, 404), (path, answer.status_code, answer.text[:200])
        tried += 1
    assert tried > 25


def test_a_guest_makes_no_template_of_somebody_elses_session(server, session):
    for body in ({"session": session, "name": "stolen"}, {"session": SECRET_TITLE, "name": "stolen"}):
        answer = server.client.post("/api/plugins/templates/templates", json=body, headers=GUEST)
        assert answer.status_code == 401, answer.text


def test_a_guest_changes_no_setting(server):
    path = "/api/plugins/dashboard/settings/tools.guest_tools"
    assert server.client.put(path, json={"value": "terminal"}, headers=GUEST).status_code == 401
    assert server.get("/api/plugins/dashboard/settings").status_code == 200
