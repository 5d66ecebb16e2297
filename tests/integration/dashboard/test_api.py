"""Figures, imports and settings for the pages, on a real store."""

import asyncio
import json
from pathlib import Path
from typing import Any, cast

import httpx
import pytest
from fastapi import FastAPI

from sojourn.app import App
from sojourn.config import load
from sojourn.core.messages import Message, ToolCall, assistant, tool_result, user
from sojourn.dashboard.api import router
from sojourn.http import problems
from sojourn.importers import import_history as import_history_module
from sojourn.ports.app import ImportReport
from sojourn.ports.importer import FoundHistory
from sojourn.ports.store import Listing, Record
from tests.unit.achievements.worlds import golden


@pytest.fixture
async def kit(home):
    made = App(load({"home": str(home), "server.token": "a-secret-token"}, {"HOME": str(home.parent)}))
    yield made
    await made.close()


@pytest.fixture
async def client(kit):
    app = FastAPI()
    problems.install(app)
    app.include_router(router(kit))
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://localhost") as made:
        yield made


async def talk(kit: App, *calls: tuple[str, str]) -> str:
    session = await kit.store.create(source="cli", model="gpt-5", cwd="/home/sam/garden")
    lease = await kit.store.lease(session.id, holder="a test", surface="cli")
    items: list[Any] = [user("hello")]
    for number, (tool, result) in enumerate(calls):
        call = ToolCall(id=f"c{number}", name=tool, arguments="{}")
        items += [assistant(None, [call]), tool_result(call, result)]
    await kit.store.append(lease, items)
    await kit.store.renew(lease, 0)
    return session.id


async def test_settings_tell_their_origin_and_keep_their_secrets(client):
    found = {one["name"]: one for one in (await client.get("/settings")).json()}
    assert found["server.port"]["origin"] == "default"
    assert (found["server.token"]["value"], found["server.token"]["origin"]) == ("•••", "flag")


async def test_a_cost_nobody_told_is_not_nothing(kit, client):
    session = await talk(kit)
    figures = (await client.get("/insights")).json()
    assert (figures["totals"]["sessions"], figures["totals"]["cost_usd"]) == (1, None)
    today = figures["days"][0]["day"]
    usage = {"input_tokens": 700, "output_tokens": 50, "cost_usd": 0.25}
    await kit.store.put_record(Record(kind="usage", key=f"{today}/{session}", value=usage, session=session))
    await talk(kit)  # something happened, so it is counted again
    figures = (await client.get("/insights")).json()
    assert (figures["totals"]["input_tokens"], figures["totals"]["cost_usd"]) == (700, 0.25)
    assert (figures["totals"]["sessions"], figures["totals"]["priced_sessions"]) == (2, 1)
    assert figures["days"][0]["cost_usd"] == 0.25
    assert figures["by_project"][0]["name"] == "/home/sam/garden"
    assert [one["id"] for one in figures["most_expensive"]] == [session]


async def test_a_year_counts_what_began_in_it(kit, client):
    session = await talk(kit)
    day = (await client.get("/insights")).json()["days"][0]["day"]
    usage = {"input_tokens": 70, "output_tokens": 5, "cost_usd": 0.25}
    await kit.store.put_record(Record(kind="usage", key=f"{day}/{session}", value=usage, session=session))
    await kit.store.put_record(Record(kind="usage", key=f"2001-05-05/{session}", value=usage, session=session))
    this, other = (
        (await client.get(f"/insights?year={day[:4]}")).json(),
        (await client.get("/insights?year=2001")).json(),
    )
    assert (this["totals"]["sessions"], this["totals"]["input_tokens"]) == (1, 70)
    assert (other["totals"]["sessions"], other["days"]) == (0, [])
    assert (await client.get("/insights?year=0")).status_code == 422


MALFORMED_CALLS = ('[null, 7, "terminal", {}]', "7", "{}", '[{"id": "c0", "function": 3}]', "[" * 100_000, '{"a": NaN}')


async def test_one_malformed_row_does_not_break_the_counts_of_tools(kit, client):
    session = await talk(kit, ("terminal", '{"output": "ok", "exit_code": 0}'))
    odd = [Message(role="assistant", tool_calls=calls) for calls in MALFORMED_CALLS]
    lease = await kit.store.lease(session, holder="a test", surface="cli")
    await kit.store.append(lease, [*odd, Message(role="tool", content="?", tool_call_id="c0", extra="[1]")])
    answer = await client.get("/tools")
    assert answer.status_code == 200
    assert answer.json()["tools"] == [{"tool": "terminal", "worked": 1, "failed": 0}]


async def test_each_session_has_an_outcome(kit, client):
    good, bad = '{"output": "ok", "exit_code": 0}', '{"output": "no", "exit_code": 1}'
    await talk(kit)
    worked = await talk(kit, ("terminal", bad), ("terminal", good))
    failed = await talk(kit, ("terminal", good), ("terminal", bad))
    outcomes = {one["id"]: one for one in (await client.get("/tools")).json()["outcomes"]}
    assert {id: one["outcome"] for id, one in outcomes.items()} == {worked: "worked", failed: "failed"}
    assert (outcomes[failed]["worked"], outcomes[failed]["failed"]) == (1, 1)


async def test_tools_are_judged_by_their_results(kit, client):
    await talk(kit, ("terminal", '{"output": "ok", "exit_code": 0}'), ("terminal", '{"output": "no", "exit_code": 2}'))
    found = (await client.get("/tools")).json()
    assert found["tools"] == [{"tool": "terminal", "worked": 1, "failed": 1}]


async def test_only_a_history_that_was_found_can_be_brought_in(client):
    answer = await client.post("/import", json={"source": "hermes", "home": "/etc"})
    assert (answer.status_code, answer.json()["code"]) == (404, "not_found")
    assert (await client.get("/import")).json()["running"] is False


async def test_an_import_tells_how_it_goes_and_what_came_of_it(kit, client, monkeypatch):
    history = FoundHistory(source="hermes", home=Path("/somewhere"), sessions=3)
    monkeypatch.setattr(kit, "find_histories", lambda: [history])

    async def import_history(found: FoundHistory, *, progress: Any) -> ImportReport:
        progress("sessions", 3, 3)
        return ImportReport(source="hermes", home="/somewhere", found=3, imported=2, skipped=(("s1", "unreadable"),))

    monkeypatch.setattr(kit, "import_history", import_history)
    assert (await client.post("/import", json={"source": "hermes", "home": "/somewhere"})).status_code == 202
    while (state := (await client.get("/import")).json())["running"]:
        await asyncio.sleep(0)
    assert (state["done"], state["of"]) == (3, 3)
    assert cast(dict, state["report"])["skipped"] == [["s1", "unreadable"]]


async def test_samples_are_added_once(client):
    first = (await client.post("/samples")).json()["sessions"]
    assert first > 0
    assert (await client.post("/samples")).json()["sessions"] == 0


async def test_an_import_is_cancelled_and_goes_on_later(kit, client, tmp_path, monkeypatch):
    home, _ = golden("mixed", tmp_path / "hermes")
    history = FoundHistory(source="hermes", home=home)
    monkeypatch.setattr(kit, "find_histories", lambda: [history])
    monkeypatch.setattr(import_history_module, "_BATCH_SESSIONS", 1)
    body = {"source": "hermes", "home": str(home)}
    first = (await client.post("/import", json=body)).json()
    assert (first["running"], first["stage"]) == (True, "reading")
    stages = set()
    async with asyncio.timeout(150):
        while not (state := (await client.get("/import")).json())["done"]:
            await asyncio.sleep(0.002)
        stages.add(state["stage"])
        assert (await client.delete("/import")).status_code == 200
        while (state := (await client.get("/import")).json())["running"]:
            await asyncio.sleep(0.002)
        assert (state["cancelled"], state["error"], stages) == (True, "", {"importing sessions"})
        some = await kit.store.count(Listing(archived=None))
        assert 0 < some < state["of"]
        await client.post("/import", json=body)
        while (state := (await client.get("/import")).json())["running"]:
            await asyncio.sleep(0.002)
    assert (state["cancelled"], state["seconds_left"]) == (False, None)
    assert await kit.store.count(Listing(archived=None)) > some
    assert (await client.delete("/import")).json()["cancelled"] is False  # nothing runs


async def test_prompts_are_kept_filled_in_and_deleted(kit, client):
    body = {"text": "Review $1 for $ARGUMENTS.", "description": "A review", "arguments": "<branch>"}
    assert (await client.put("/prompts/review", json=body)).json()["text"] == body["text"]
    assert [one["name"] for one in (await client.get("/prompts")).json()] == ["review"]
    filled = await client.post("/prompts/review/fill", json={"arguments": "main carefully"})
    assert filled.json() == {"text": "Review main for main carefully."}
    refused = await client.put("/prompts/help", json=body)
    assert (refused.status_code, refused.json()["code"]) == (400, "bad_input")
    assert (await client.put("/prompts/Re-view", json=body)).status_code == 422
    assert (await client.delete("/prompts/review")).status_code == 204
    assert (await client.delete("/prompts/review")).status_code == 404
    assert (await client.post("/prompts/review/fill", json={})).status_code == 404


def write_export(texts: list[str]) -> bytes:
    """An export of ChatGPT, one conversation for each text."""
    chats = []
    for number, text in enumerate(texts):
        message = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": [text]}}
        nodes = {
            "root": {"id": "root", "parent": None, "children": ["n1"], "message": None},
            "n1": {"id": "n1", "parent": "root", "children": [], "message": {"id": "n1", **message}},
        }
        chats.append(
            {"id": f"chat-{number}", "title": text, "create_time": 1.77e9, "mapping": nodes, "current_node": "n1"}
        )
    return json.dumps(chats).encode()


async def send_export(client, name: str, content: bytes) -> dict[str, Any]:
    answer = await client.post("/import/file", params={"name": name}, content=content)
    assert answer.status_code == 202, answer.text
    while (state := (await client.get("/import")).json())["running"]:
        await asyncio.sleep(0.02)
    return state


async def test_an_export_is_sent_and_brought_in_once_and_its_file_is_deleted(kit, client):
    state = await send_export(client, "conversations.json", write_export(["Why is the sky blue?"]))
    assert (state["error"], state["source"], state["report"]["imported"]) == ("", "chatgpt", 1)
    state = await send_export(client, "conversations.json", write_export(["Why is the sky blue?", "And the sea?"]))
    assert (state["report"]["found"], state["report"]["imported"]) == (2, 1)
    assert [*(kit.settings.home / "imports").iterdir()] == []


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("../../state.db", b"SQLite"),
        ("notes.json", b"[1, 2]"),
        ("/etc/passwd", b"root:x"),
        ("...", b"[]"),
        ("a.json", b""),
    ],
)
async def test_a_file_that_is_no_history_is_refused_and_leaves_nothing(kit, client, name, content):
    assert kit.store is not None
    before = {path for path in kit.settings.home.rglob("*") if path.is_file()}
    answer = await client.post("/import/file", params={"name": name}, content=content)
    assert answer.status_code in (400, 422), answer.text
    assert answer.json()["hint"]
    assert {path for path in kit.settings.home.rglob("*") if path.is_file()} <= before
    assert (await client.get("/import")).json()["running"] is False


async def test_a_link_in_the_place_of_a_sent_file_is_not_followed(kit, client, tmp_path):
    (tmp_path / "precious").write_text("mine")
    (kit.settings.home / "imports").mkdir(parents=True)
    (kit.settings.home / "imports" / "chat.json").symlink_to(tmp_path / "precious")
    await client.post("/import/file", params={"name": "chat.json"}, content=b"[1]")
    assert (tmp_path / "precious").read_text() == "mine"
