"""A browser's way in, and what its cookie is good for."""

import pytest

from tests.integration.http.conftest import TOKEN, connect

HERE = {"Origin": "http://localhost"}


@pytest.fixture
async def visitor(kit, app):
    async with connect(kit, headers={}, app=app) as client:
        assert (await client.post("/enter", json={"token": TOKEN}, headers=HERE)).status_code == 204
        yield client


async def test_the_token_typed_in_becomes_a_cookie(visitor):
    assert (await visitor.get("/api/sessions")).status_code == 200
    assert (await visitor.post("/api/sessions", json={}, headers=HERE)).status_code == 201


@pytest.mark.parametrize("headers", [{}, {"Origin": "http://evil.example"}, {**HERE, "Sec-Fetch-Site": "cross-site"}])
async def test_a_cookie_writes_only_from_our_own_page(visitor, headers):
    assert (await visitor.post("/api/sessions", json={}, headers=headers)).status_code in (401, 403)


async def test_a_cookie_reads_only_for_our_own_page(visitor):
    assert (await visitor.get("/api/sessions", headers={"Sec-Fetch-Site": "same-site"})).status_code == 401
    assert (await visitor.get("/api/sessions", headers={"Sec-Fetch-Site": "same-origin"})).status_code == 200


async def test_leaving_takes_it_back(visitor):
    assert (await visitor.post("/api/leave", headers=HERE)).status_code == 204
    assert (await visitor.get("/api/sessions")).status_code == 401


async def test_a_wrong_token_and_a_foreign_page_stay_outside(kit, app):
    async with connect(kit, headers={}, app=app) as client:
        assert (await client.post("/enter", json={"token": "wrong"}, headers=HERE)).status_code == 401
        foreign = await client.post("/enter", json={"token": TOKEN}, headers={"Origin": "http://evil.example"})
        assert foreign.status_code == 403
        assert (await client.get("/api/sessions")).status_code == 401


async def test_a_link_is_followed_once(kit, app, client):
    path = (await client.post("/api/links")).json()["path"]
    async with connect(kit, headers={}, app=app) as visitor:
        first = await visitor.get(path)
        assert (first.status_code, "set-cookie" in first.headers) == (200, True)
        assert first.headers["content-security-policy"].startswith("default-src 'none'")
        assert (await visitor.get("/api/sessions")).status_code == 200
        assert (await visitor.get(path)).status_code == 403
