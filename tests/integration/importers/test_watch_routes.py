"""A server watches histories only if the person wants it, and says what other programs delete."""

import asyncio
import json
import os
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI

from sojourn.app import App, build
from sojourn.importers import watch_routes
from sojourn.importers.retention import find_deletion
from sojourn.ports.importer import FoundHistory
from tests.contracts.written_homes import gemini, qwen

DAY_SECONDS = 86_400
LATE_SECONDS = 30.0


@pytest.fixture
async def app(home: Path) -> AsyncIterator[App]:
    app = build({})
    app.settings = replace(app.settings, user_home=home.parent)
    app.make_home()
    yield app
    await app.close()


class Client:
    """Asks the routes."""

    def __init__(self, client: httpx2.AsyncClient) -> None:
        self._client = client

    async def get(self, path: str) -> Any:
        return (await self._client.get(path)).json()

    async def wait_for(self, is_true: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        until = time.monotonic() + LATE_SECONDS
        while not is_true(state := await self.get("/state")):
            assert time.monotonic() < until, state
            await asyncio.sleep(0.05)
        return dict(state)


@pytest.fixture
async def client(app: App, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Client]:
    monkeypatch.setattr(watch_routes, "_CONSENT_POLL_SECONDS", 0.05)
    api, server = watch_routes.router(app), FastAPI()
    server.include_router(api)
    async with (
        api.lifespan_context(server),
        httpx2.AsyncClient(transport=httpx2.ASGITransport(server), base_url="http://test") as asked,
    ):
        yield Client(asked)


def want(app: App, is_wanted: bool) -> None:
    app.settings = replace(app.settings, values={**app.settings.values, "import.watch": is_wanted})


async def test_nothing_is_read_without_consent_and_everything_followed_with_it(
    app: App, home: Path, client: Client
) -> None:
    history = qwen(home.parent)
    assert await client.wait_for(lambda state: not state["watching"]) == {
        "watching": False,
        "homes": [],
        "imports": 0,
        "new_messages": 0,
    }
    await asyncio.sleep(0.3)
    assert await app.store.is_empty()
    want(app, True)
    state = await client.wait_for(lambda state: state["imports"] == 1)
    assert state["homes"] == [str(history.found().home)]
    history.grow()
    await client.wait_for(lambda state: state["imports"] == 2)
    want(app, False)
    await client.wait_for(lambda state: state["homes"] == [])


async def test_a_program_that_deletes_is_named_with_its_days(home: Path, client: Client) -> None:
    history = gemini(home.parent)
    qwen(home.parent)  # which keeps everything
    oldest = time.time() - 28 * DAY_SECONDS
    paths = sorted(history.found().home.rglob("*.jsonl"))
    os.utime(paths[0], (oldest, oldest))
    [one] = await client.get("/deletions")
    assert (one["source"], one["days"], one["soon"]) == ("gemini", 30, 1)
    assert one["next_at"] == pytest.approx(oldest + 30 * DAY_SECONDS, abs=5)


@pytest.mark.parametrize(
    ("source", "settings", "days"),
    [
        ("claude-code", {}, 30),
        ("claude-code", {"cleanupPeriodDays": 7}, 7),
        ("claude-code", {"cleanupPeriodDays": "soon"}, 30),
        ("gemini", {"general": {"sessionRetention": {"maxAge": "2w"}}}, 14),
        ("gemini", {"general": {"sessionRetention": {"maxAge": 7}}}, 30),
        ("gemini", {"general": {"sessionRetention": {"enabled": False}}}, None),
        ("qwen", {}, None),
    ],
)
def test_the_days_are_those_of_the_programs_own_settings(
    source: str, settings: dict[str, Any], days: int | None, tmp_path: Path
) -> None:
    (tmp_path / "one.jsonl").write_text("{}\n")
    (tmp_path / "settings.json").write_text(json.dumps(settings))
    found = find_deletion(FoundHistory(source=source, home=tmp_path))
    assert (found.days if found else None) == days
