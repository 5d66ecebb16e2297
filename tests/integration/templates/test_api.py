"""The routes under /api/plugins/templates/."""

import asyncio

import httpx
import pytest

from sojourn import config
from sojourn.app import App
from sojourn.http.app import make_app
from tests.integration.templates.conftest import registry
from tests.integration.templates.test_commands import ID, WORKED
from tests.unit.templates.test_miner import chore, noise
from tests.unit.templates.worlds import fill

TOKEN = "a-token-for-tests"


@pytest.fixture
async def api(home):
    often = {f"s{n}": [*chore(f"b{n}"), *noise(n)] for n in range(4)}
    rest = {f"z{n}": noise(50 + n) for n in range(6)}
    await asyncio.to_thread(fill, home, {ID: WORKED} | often | rest)
    kit = App(config.load({"home": str(home)}), registry())
    transport = httpx.ASGITransport(make_app(kit, token=TOKEN, host="127.0.0.1"))
    base = "http://localhost/api/plugins/templates"
    async with httpx.AsyncClient(
        transport=transport, base_url=base, headers={"Authorization": f"Bearer {TOKEN}"}
    ) as client:
        yield client
    await kit.close()


async def test_a_template_is_created_listed_shown_changed_and_deleted(api):
    made = await api.post("/templates", json={"session": ID, "name": "listing"})
    assert (made.status_code, made.json()["about"]["requests"]) == (201, ["list the files"])
    assert [one["name"] for one in (await api.get("/templates")).json()["templates"]] == ["listing"]
    assert (await api.get("/templates?type=code")).json() == {"templates": [], "unreadable": []}
    changed = await api.patch("/templates/listing", json={"description": "lists things", "type": "file"})
    assert (changed.json()["description"], changed.json()["task_type"]) == ("lists things", "file")
    assert (await api.get("/templates/listing")).json()["description"] == "lists things"
    assert (await api.delete("/templates/listing")).status_code == 204
    gone = await api.get("/templates/listing")
    assert (gone.status_code, gone.json()["code"]) == (404, "not_found")


async def test_a_preview_says_what_would_be_sent_and_counts_nothing(api):
    await api.post("/templates", json={"session": ID, "name": "listing"})
    said = [{"role": "system", "content": "s"}, {"role": "user", "content": "hi"}]
    shown = (await api.post("/templates/listing/preview", json={"messages": said})).json()
    assert [one["role"] for one in shown["messages"]] == ["system", "system", "assistant", "tool", "user"]
    assert shown["messages"][2]["tool_calls"][0]["id"] == "template_0"
    assert shown["tokens"] > 10
    assert "→ terminal" in shown["text"]
    lacking = (await api.post("/templates/listing/preview", json={"tools": ["web_search"]})).json()
    assert (lacking["messages"], lacking["left_out"]) == ([], ["terminal (this session has no such tool)"])
    tight = (await api.post("/templates/listing/preview", json={"messages": said, "budget": 5})).json()
    assert (tight["messages"], tight["left_out"]) == (said, ["terminal (no room)"])
    other = (await api.post("/templates/listing/preview", json={"tools": ["Bash"]})).json()
    assert (other["messages"][1]["tool_calls"][0]["function"]["name"], other["mapped"]) == (
        "Bash",
        ["terminal as Bash"],
    )
    assert (await api.get("/templates/listing")).json()["usage_count"] == 0


async def test_suggestions_are_mined_approved_and_rejected(api):
    mined = (await api.post("/suggestions/mine")).json()
    assert (mined["sessions"], mined["read"]) == (11, 11)
    [idea] = mined["suggestions"]
    assert (await api.get("/suggestions")).json()["suggestions"] == [idea]
    made = await api.post(f"/suggestions/{idea['id']}/approve", json={"name": "round"})
    assert (made.status_code, made.json()["name"]) == (201, "round")
    assert (await api.get("/suggestions")).json() == {"suggestions": []}
    rejected = await api.post(f"/suggestions/{idea['id']}/reject", json={"never": True})
    assert rejected.json() == {"id": idea["id"], "state": "never"}
    assert (await api.get("/stats")).json()["templates"][0]["verdict"] == "too early to say"


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "code"),
    [
        ("GET", "/templates/none", None, 404, "not_found"),
        ("GET", "/templates/..%2fx", None, 400, "bad_input"),
        ("GET", "/templates/%00", None, 400, "bad_input"),
        ("DELETE", "/templates/none", None, 404, "not_found"),
        ("POST", "/templates", {"session": "nobody"}, 404, "not_found"),
        ("POST", "/templates", {"session": ID, "name": "../x"}, 400, "bad_input"),
        ("POST", "/suggestions/none/approve", {}, 404, "not_found"),
        ("POST", "/templates/none/preview", {}, 404, "not_found"),
    ],
)
async def test_what_cannot_be_done_is_a_problem_with_a_code(api, method, path, body, status, code):
    answer = await api.request(method, path, json=body)
    assert answer.status_code in (status, 404)  # an encoded slash may not even reach the route
    assert answer.json()["code"] in (code, "no_route")
    assert answer.json()["hint"]


async def test_a_name_that_is_taken_is_a_conflict(api):
    await api.post("/templates", json={"session": ID, "name": "listing"})
    again = await api.post("/templates", json={"session": ID, "name": "listing"})
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
