"""Every error is a problem with a code and a hint; what nobody expected tells nothing of its inside."""

import pytest

from sojourn.core.errors import StoreCorrupt, StoreFull, StoreNewer
from tests.integration.http.conftest import connect

KEYS = {"type", "title", "status", "detail", "code", "hint", "instance"}


def check(answer, status, code):
    body = answer.json()
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.status_code == body["status"] == status
    assert body["code"] == code
    assert body["type"] == f"urn:sojourn:problem:{code}"
    assert body["instance"] == answer.request.url.path
    assert body.keys() >= KEYS
    return body


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "no_route"),
        ("GET", "/api/sessions/", 404, "no_route"),
        ("GET", "/api/sessions/nobody", 404, "not_found"),
        ("GET", "/api/sessions?limit=99999999999999999999999", 422, "bad_input"),
        ("GET", "/api/sessions?tag=two%20words", 400, "bad_input"),
        ("PUT", "/api/sessions", 405, "method_not_allowed"),
        ("POST", "/api/sessions", 422, "bad_input"),
    ],
)
async def test_what_goes_wrong_is_told_as_a_problem(client, method, path, status, code):
    check(await client.request(method, path), status, code)


async def test_a_method_that_does_not_work_is_answered_with_all_that_do(client):
    answer = await client.put("/api/sessions/x")
    assert answer.headers["allow"] == "GET, PATCH, DELETE"


async def test_what_has_a_wrong_form_is_named_and_not_repeated(client):
    body = check(await client.post("/api/sessions", json={"titel": "s3cret"}), 422, "bad_input")
    assert body["errors"][0]["where"] == "body.titel"
    assert "s3cret" not in str(body)


async def test_a_body_that_is_no_json_is_a_problem(client):
    headers = {"Content-Type": "application/json"}
    check(await client.post("/api/sessions", content=b"\xff\xfe{", headers=headers), 400, "bad_input")
    check(await client.post("/api/sessions", content=b"[" * 100_000, headers=headers), 400, "bad_input")
    check(await client.post("/api/sessions", content=b'{"title": "\\ud800"}', headers=headers), 422, "bad_input")


async def test_what_nobody_expected_is_logged_and_not_leaked(client, kit, caplog):
    async def find(listing):
        raise RuntimeError("the password is hunter2")

    kit.real_store.find = find
    body = check(await client.get("/api/sessions"), 500, "internal")
    assert "hunter2" not in str(body)
    mark = body["detail"].split()[-1].rstrip(".")
    assert mark in caplog.text
    assert "hunter2" in caplog.text


@pytest.mark.parametrize(
    ("error", "status"), [(StoreCorrupt, 503), (StoreNewer, 503), (StoreFull, 507)], ids=lambda value: str(value)
)
async def test_a_store_that_cannot_be_used_says_why_and_works_again_when_it_can(client, kit, error, status):
    kit.store_error = error("It is broken.", hint="Mend it.")
    for path in ("/api/sessions", "/api/search?q=x", "/api/stats", "/api/changes", "/api/sessions/x/events"):
        body = check(await client.get(path), status, error.code)
        assert (body["detail"], body["hint"]) == ("It is broken.", "Mend it.")
    kit.store_error = None
    assert (await client.get("/api/sessions")).status_code == 200


async def test_an_answer_that_breaks_off_is_not_taken_for_a_whole_one(kit, store):
    session = await store.create()

    async def read(*args, **options):
        raise RuntimeError("disk gone")
        yield

    kit.real_store.read = read
    async with connect(kit) as client:
        with pytest.raises(ConnectionAbortedError):
            await client.get(f"/api/sessions/{session.id}/export")
