"""The trash is emptied on request, and by itself only if a setting says so."""

import asyncio
import time
from dataclasses import replace

import pytest

from sojourn.core.sessions import Principal
from sojourn.http import trash
from sojourn.ports.store import Listing

DAY_SECONDS = 86_400.0


async def put_into_trash(store, age_days: float, **fields):
    session = await store.create(**fields)
    await store.change(session, replace(session, trashed_at=time.time() - age_days * DAY_SECONDS))
    return session.id


async def test_the_owner_empties_it(client, store):
    stays = (await store.create()).id
    parent = await put_into_trash(store, 1)
    child = await store.create(source="subagent", parent=parent)
    await store.change(child, replace(child, trashed_at=1.0))
    guest = await put_into_trash(store, 1, principal=Principal("guest"))
    assert (await client.delete("/api/trash")).json()["deleted"] in (1, 2)  # a sub-agent goes with its parent
    assert [one.id for one in await store.find(Listing())] == [stays]
    assert await store.find(Listing(trashed=True, archived=None)) == []
    assert (await store.get(guest)).trashed_at is not None


@pytest.mark.parametrize(("days", "kept"), [(0, {"old", "new"}), (30, {"new"})])
async def test_a_server_empties_it_only_if_a_setting_says_so(kit, store, monkeypatch, days, kept):
    ids = {await put_into_trash(store, 31): "old", await put_into_trash(store, 2): "new"}
    kit.settings = replace(kit.settings, values={**kit.settings.values, "sessions.trash_days": days})
    looked = asyncio.Event()

    async def sleep(_seconds: float) -> None:
        looked.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(trash.asyncio, "sleep", sleep)
    task = asyncio.create_task(trash.empty_regularly(kit))
    await asyncio.wait_for(looked.wait(), 10)
    task.cancel()
    assert {ids[one.id] for one in await store.find(Listing(trashed=True))} == kept
