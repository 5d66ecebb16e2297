"""Health, figures, histories."""

import asyncio
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import sojourn
from sojourn.core.errors import StoreNewer
from sojourn.http import status
from sojourn.ports.importer import FoundHistory
from sojourn.ports.store import Health, Record


async def test_a_healthy_store_is_said_to_be(client, kit):
    answer = await client.get("/healthz")
    assert answer.status_code == 200
    assert answer.json() == {
        "state": "healthy",
        "store": "state.db",
        "readable": True,
        "code": "ok",
        "error": "",
        "hint": "",
        "version": sojourn.__version__,
    }


async def test_a_damaged_file_is_told_with_the_next_step_and_mended_without_a_restart(client, kit):
    path = kit.real_store.path
    path.write_bytes(b"this is not a database, it is a letter to my aunt" * 40)
    answer = await client.get("/healthz")
    assert (answer.status_code, answer.json()["state"], answer.json()["code"]) == (503, "degraded", "store_corrupt")
    assert "restore" in answer.json()["hint"]
    assert (await client.get("/api/sessions")).json()["code"] == "store_corrupt"
    path.unlink()
    assert (await client.get("/healthz")).status_code == 200
    assert (await client.get("/api/sessions")).status_code == 200


STRANGE = {
    "store_newer": "PRAGMA user_version = 999",
    "store_foreign": "PRAGMA application_id = 7; CREATE TABLE schema_version(version INTEGER)",
}


@pytest.mark.parametrize(("code", "script"), STRANGE.items(), ids=STRANGE)
async def test_a_store_of_another_program_or_time_is_left_alone_and_told(client, kit, store, code, script):
    await store.create(title="x")
    await store.close()
    with closing(sqlite3.connect(store.path)) as opened:
        opened.executescript(script)
    health = await client.get("/healthz")
    assert (health.status_code, health.json()["code"], health.json()["readable"]) == (503, code, False)
    assert health.json()["hint"]
    answer = await client.get("/api/sessions")
    assert (answer.status_code, answer.json()["code"]) == (503, code)


async def test_a_stranger_is_not_told_where_things_are(client, kit):
    kit.store_error = StoreNewer(f"{kit.settings.home}/state.db is too new.", hint=f"Look into {kit.settings.home}.")
    told = (await client.get("/healthz")).json()
    assert (told["error"], told["hint"]) == ("~/state.db is too new.", "Look into ~.")
    assert str(kit.settings.home) in (await client.get("/api/health")).json()["error"]

    async def health():
        return Health(
            state="degraded", store="postgresql://ada@db.example/x", error="postgresql://ada@db.example/x is away."
        )

    kit.store_error, kit.real_store.health = None, health
    told = (await client.get("/healthz")).json()
    assert (told["store"], told["error"]) == ("postgresql", "postgresql is away.")


async def test_a_store_that_cannot_even_be_made_is_told(client, kit):
    kit.store_error = StoreNewer("Too new.", hint="Update.")
    answer = await client.get("/healthz")
    assert (answer.status_code, answer.json()["error"], answer.json()["hint"]) == (503, "Too new.", "Update.")
    assert (await client.get("/api/health")).json()["code"] == "store_newer"


async def test_a_store_that_does_not_answer_is_not_waited_for(client, kit, monkeypatch):
    async def health():
        await asyncio.Event().wait()

    kit.real_store.health = health
    monkeypatch.setattr(status, "_HEALTH_TIMEOUT_SECONDS", 0.01)
    answer = await client.get("/healthz")
    assert (answer.status_code, answer.json()["code"]) == (503, "store_locked")


async def test_health_in_detail_knows_home_and_process(client, kit):
    told = (await client.get("/api/health")).json()
    assert (told["state"], told["home"]) == ("healthy", str(kit.settings.home))
    assert told["pid"] > 0


async def test_the_store_in_figures(client, store):
    await store.create(source="web")
    await store.put_record(Record(kind="note", key="a", value=1))
    told = (await client.get("/api/stats")).json()
    assert (told["kind"], told["sessions"], told["sessions_by_source"]) == ("sqlite", 1, {"web": 1})
    assert told["schema"] >= 1
    assert told["records"] == 1


async def test_histories_found_are_told_with_their_problems(client, kit):
    kit.histories = [
        FoundHistory(source="codex", home=Path("/h/.codex"), sessions=3, bytes=9, version="1"),
        FoundHistory(source="hermes", home=Path("/h/.hermes"), problem="It is locked."),
    ]
    first, second = (await client.get("/api/sources")).json()
    assert (first["source"], first["home"], first["sessions"]) == ("codex", "/h/.codex", 3)
    assert second["problem"] == "It is locked."


async def test_figures_are_served_at_once_and_counted_again_behind(client, store, monkeypatch):
    async with asyncio.timeout(10):
        while not (await client.get("/api/stats")).json()["bytes_by"]:  # the file is read behind the first answer
            await asyncio.sleep(0.01)
    counts, count = [], type(store).stats

    async def slow(self, *, by_part=True):
        counts.append(by_part)
        await asyncio.sleep(0)
        return await count(self, by_part=by_part)

    monkeypatch.setattr(type(store), "stats", slow)
    assert (await client.get("/api/stats")).json()["sessions"] == 0
    assert counts == []  # nothing has changed
    await store.create(title="new")
    async with asyncio.timeout(10):
        while (await client.get("/api/stats")).json()["sessions"] != 1:
            await asyncio.sleep(0.01)
    assert counts == [False]  # and the file is not read again for each change
    assert (await client.get("/api/stats")).json()["bytes_by"]
