"""The routes of the dialog in the dashboard: what was shown is what is written, once."""

from pathlib import Path

import httpx2
import pytest
from fastapi import FastAPI

from sojourn import config
from sojourn.app import App
from sojourn.continuation.routes import router
from sojourn.core.errors import Conflict, NotFound
from tests.integration.continuation.continued_session import make_session

PROGRAMS = ["claude", "codex", "opencode", "gemini", "qwen", "pi", "hermes"]


@pytest.fixture
async def app(tmp_path):
    (tmp_path / "ann").mkdir()
    environment = {"HOME": str(tmp_path / "ann"), "SOJOURN_HOME": str(tmp_path / "ours")}
    app = App(config.load({"memory.embedder": "none"}, environment))
    yield app
    await app.close()


@pytest.fixture
async def client(app):
    api = FastAPI()
    api.include_router(router(app))
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app=api), base_url="http://test") as client:
        yield client


async def test_a_plan_is_written_as_it_was_shown_once_and_taken_back(app, client, tmp_path):
    session = await make_session(app, tmp_path)
    assert [one["name"] for one in (await client.get("/programs")).json()] == PROGRAMS
    shown = (await client.post(f"/sessions/{session.id}/plans", json={"program": "claude"})).json()
    assert list((tmp_path / "ann").rglob("*")) == []
    written = (await client.post(f"/plans/{shown['id']}")).json()
    assert written == shown
    assert [str(path) for path in (tmp_path / "ann").rglob("*.jsonl")] == shown["files"]
    with pytest.raises(NotFound):
        await client.post(f"/plans/{shown['id']}")
    undone = (await client.delete(f"/sessions/{session.id}")).json()
    assert undone == {"program": "claude", "native_id": shown["id"]}
    assert list((tmp_path / "ann").rglob("*.jsonl")) == []


async def test_what_went_on_there_is_not_taken_back(app, client, tmp_path):
    session = await make_session(app, tmp_path)
    shown = (await client.post(f"/sessions/{session.id}/plans", json={"program": "codex"})).json()
    await client.post(f"/plans/{shown['id']}")
    with Path(shown["files"][0]).open("a") as opened:
        opened.write('{"type": "event_msg", "payload": {}}\n')
    with pytest.raises(Conflict):
        await client.delete(f"/sessions/{session.id}")
