"""Contract: a session in the trash is out of sight and whole."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest

from sojourn.core.errors import SessionBusy
from sojourn.core.sessions import Session, SessionId
from sojourn.ports.store import Listing, SearchQuery, Store
from sojourn.testing.store_steps import begin, hold_lease, read_contents, say


async def _trash(store: Store, session: SessionId, at: float | None = 1000.0) -> Session:
    found = await store.get(session)
    return await store.change(found, replace(found, trashed_at=at))


async def _list(store: Store, *, trashed: bool = False) -> set[SessionId]:
    found = {session.id for session in await store.find(Listing(trashed=trashed))}
    assert await store.count(Listing(trashed=trashed)) == len(found)
    return found


class TrashContract:
    """The trash is a state of its own; deleting keeps its meaning."""

    async def test_it_leaves_lists_searches_and_scans(self, store: Store) -> None:
        stays, goes = await begin(store, "apples"), await begin(store, "apples")
        assert (await _trash(store, goes)).trashed_at == 1000.0
        assert (await _list(store), await _list(store, trashed=True)) == ({stays}, {goes})
        assert {hit.session for hit in await store.search(SearchQuery(text="apples"))} == {stays}
        assert sum((await store.count_facets(Listing()))["program"].values()) == 1
        with closing(store.history()) as history:
            assert [facts.id for facts in history.sessions()] == [stays]

    async def test_it_comes_back_as_it_was(self, store: Store) -> None:
        session = await begin(store, "apples", title="Fruit")
        with closing(store.history()) as history:
            assert len(history.sessions()) == 1
            await _trash(store, session)
            assert history.sessions() == []
            assert (await _trash(store, session, None)).title == "Fruit"
            assert [facts.id for facts in history.sessions()] == [session]
        assert await _list(store) == {session}
        assert await read_contents(store, session) == ["apples"]

    async def test_sub_agents_go_and_come_with_their_session(self, store: Store) -> None:
        parent = await begin(store, "do it")
        child = (await store.create(source="subagent", parent=parent)).id
        other = (await store.create(source="subagent", parent=parent)).id
        await _trash(store, other, 500.0)
        await _trash(store, parent)
        assert await _list(store, trashed=True) == {parent, child, other}
        await _trash(store, parent, None)
        assert await _list(store) == {parent, child}

    async def test_a_running_turn_keeps_its_session_out_of_the_trash(self, store: Store) -> None:
        session = await begin(store, "hi")
        async with hold_lease(store, session):
            with pytest.raises(SessionBusy):
                await _trash(store, session)
        assert (await store.get(session)).trashed_at is None

    async def test_whatever_is_said_brings_it_back(self, store: Store) -> None:
        session = await begin(store, "one")
        await say(store, session, "two")
        await _trash(store, session)
        await say(store, session, "three")
        assert await _list(store) == {session}
