"""Who may come in: token, Host, Origin, size."""

import pytest

from sojourn.http import auth
from tests.integration.http.conftest import BEARER, TOKEN, connect, offer


@pytest.fixture
async def stranger(kit, app):
    async with connect(kit, headers={}, app=app) as client:
        yield client


@pytest.mark.parametrize("path", ["/api/sessions", "/openapi.json", "/nowhere", "/api/plugins/x/y", "/healthz/"])
async def test_without_the_token_nothing_is_said(stranger, path):
    answer = await stranger.get(path)
    assert (answer.status_code, answer.json()["code"]) == (401, "not_allowed")
    assert answer.headers["www-authenticate"] == "Bearer"
    assert "server.json" in answer.json()["hint"]


@pytest.mark.parametrize(
    "header", ["", TOKEN, f"Basic {TOKEN}", f"Bearer {TOKEN}x", f"Bearer {TOKEN[:-1]}", "Bearer", "Bearer tökên"]
)
async def test_a_wrong_token_is_refused(stranger, header):
    answer = await stranger.get("/api/sessions", headers={"Authorization": header.encode("latin-1")})
    assert answer.status_code == 401


async def test_two_tokens_are_no_token(stranger):
    headers = [("Authorization", f"Bearer {TOKEN}"), ("Authorization", f"Bearer {TOKEN}")]
    assert (await stranger.get("/api/sessions", headers=headers)).status_code == 401


async def test_the_token_in_the_address_does_not_count(stranger):
    assert (await stranger.get(f"/api/sessions?token={TOKEN}")).status_code == 401


async def test_health_needs_no_token(stranger):
    assert (await stranger.get("/healthz")).status_code == 200


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:1", "127.0.0.1:8790", "[::1]:8790", "127.8.8.8", "localhost."]
)
async def test_names_of_this_machine_are_answered(client, host):
    assert (await client.get("/api/sessions", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "192.0.2.7", "localhost.evil.example", "127.0.0.1.evil.example", ""])
async def test_a_foreign_name_that_points_here_is_not_answered(client, host):
    for path in ("/healthz", "/api/sessions"):
        answer = await client.get(path, headers={"Host": host})
        assert (answer.status_code, answer.json()["code"]) == (421, "foreign_host")


async def test_a_server_for_others_answers_to_its_addresses_and_its_name(kit):
    async with connect(kit, host="box.lan") as client:
        for host, status in (("192.0.2.7:8790", 200), ("box.lan", 200), ("evil.example", 421)):
            assert (await client.get("/api/sessions", headers={"Host": host})).status_code == status


@pytest.mark.parametrize(
    "origin", ["http://evil.example", "null", "http://localhost:1", "http://localhost.evil.example", "http://[", "x"]
)
async def test_a_foreign_page_cannot_write(client, origin):
    answer = await client.post("/api/sessions", json={}, headers={"Origin": origin})
    assert (answer.status_code, answer.json()["code"]) == (403, "foreign_origin")
    assert (await client.get("/api/sessions")).json()["sessions"] == []


async def test_our_own_page_and_programs_can_write(client):
    assert (await client.post("/api/sessions", json={}, headers={"Origin": "http://localhost"})).status_code == 201
    assert (await client.post("/api/sessions", json={})).status_code == 201


async def test_a_body_that_is_too_large_is_refused_before_it_is_read(client, monkeypatch):
    monkeypatch.setattr(auth, "MAX_BODY_BYTES", 100)
    stated = await client.post("/api/sessions", content=b"x" * 101)
    assert (stated.status_code, stated.json()["code"]) == (413, "too_large")

    async def pieces():
        for _ in range(3):
            yield b"x" * 50

    unstated = await client.post("/api/sessions", content=pieces(), headers={"Content-Type": "application/json"})
    assert (unstated.status_code, unstated.json()["code"]) == (413, "too_large")


async def test_a_plugins_routes_are_guarded_too(kit):
    offer(kit, "guarded")
    async with connect(kit) as client:
        address = "/api/plugins/guarded/ping"
        assert (await client.get(address)).status_code == 200
        assert (await client.get(address, headers={"Authorization": ""})).status_code == 401
        assert (await client.get(address, headers={"Host": "evil.example"})).status_code == 421


async def test_a_websocket_without_the_token_is_closed(app):
    async def inside(scope, receive, send):
        await send({"type": "websocket.accept"})

    state = app.state
    gate = auth.AuthMiddleware(
        inside, access=state.access, browsers=state.browsers, admissions=state.admissions, host="127.0.0.1"
    )
    said = []

    async def send(message):
        said.append(message["type"])

    async def receive():
        return {"type": "websocket.connect"}

    headers = [(b"host", b"localhost"), (b"authorization", BEARER["Authorization"].encode())]
    scope = {"type": "websocket", "path": "/x"}
    await gate({**scope, "headers": headers[:1]}, receive, send)
    await gate({**scope, "headers": [*headers, (b"origin", b"http://evil.example")]}, receive, send)
    await gate({**scope, "headers": headers}, receive, send)
    assert said == ["websocket.close", "websocket.close", "websocket.accept"]
