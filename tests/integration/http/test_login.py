"""A browser's way in, and what its cookie is good for."""

import re

import pytest

from sojourn.core.errors import StoreCorrupt
from tests.integration.http.conftest import TOKEN, connect

HERE = {"Origin": "http://localhost"}


@pytest.fixture
async def visitor(kit, app):
    async with connect(kit, headers={}, app=app) as client:
        answer = await client.post("/enter", json={"token": TOKEN}, headers=HERE)
        client.headers["Sojourn-Page-Key"] = answer.json()["page_key"]
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


async def test_leaving_takes_it_back_here_and_in_the_browser(visitor):
    cookies = dict(visitor.cookies)
    assert (await visitor.post("/api/leave", headers=HERE)).status_code == 204
    assert dict(visitor.cookies) == {}
    visitor.cookies.update(cookies)
    assert (await visitor.get("/api/sessions")).status_code == 401


async def test_a_cookie_without_the_page_key_is_nothing(visitor):
    del visitor.headers["Sojourn-Page-Key"]
    assert (await visitor.get("/api/sessions")).status_code == 401


async def test_a_store_that_cannot_be_asked_says_so(visitor, kit):
    kit.store_error = StoreCorrupt("It is damaged.", hint="Restore it.")
    answer = await visitor.get("/api/sessions")
    assert (answer.status_code, answer.json()["code"]) == (503, "store_corrupt")


async def test_a_client_that_has_the_token_leaves_without_harm(client):
    assert (await client.post("/api/leave")).status_code == 204
    assert (await client.get("/api/sessions")).status_code == 200


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
        policy = first.headers["content-security-policy"]
        assert re.match(
            r"default-src 'none'; script-src 'nonce-[\w-]{22}'; style-src 'nonce-[\w-]{22}'; img-src", policy
        )
        page_key = re.search(r'"sojourn.page-key", "([^"]+)"', first.text)[1]
        assert (await visitor.get("/api/sessions", headers={"Sojourn-Page-Key": page_key})).status_code == 200
        assert (await visitor.get(path)).status_code == 403


@pytest.mark.parametrize(
    ("path", "accept", "kind"),
    [
        ("/nope", "text/html,*/*;q=0.8", "text/html"),
        ("/nope", "*/*", "application/problem+json"),
        ("/api/sessions", "text/html", "application/problem+json"),
        ("/v1/models", "text/html", "application/json"),
    ],
)
async def test_only_a_person_in_a_browser_gets_a_page_for_an_unknown_address(kit, app, path, accept, kind):
    async with connect(kit, headers={"Accept": accept}, app=app) as visitor:
        answer = await visitor.get(path)
    assert (answer.status_code, answer.headers["content-type"].split(";")[0]) == (404 if "html" in kind else 401, kind)
    assert "Set-Cookie" not in answer.headers
