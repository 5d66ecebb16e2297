"""Contract: side writes. Log items and the records that go with them are stored in one transaction."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from sojourn.core.errors import Conflict, LeaseLost
from sojourn.core.events import Chunk, Done
from sojourn.core.messages import user
from sojourn.ports.store import Record, SideWrites, Store
from sojourn.testing.store_secrets import KEY
from sojourn.testing.store_steps import begin, collect, hold_lease, read_contents

MARK = Record(kind="mark", key="here", value={"n": 1})


class SideWritesContract:
    """The items, the records and the lease of a turn change together."""

    async def test_records_come_with_the_words_they_belong_to(self, store: Store, again: Store) -> None:
        session = await begin(store, "a")
        await store.put_record(replace(MARK, key="old"))
        await store.put_record(replace(MARK, key="gone"))
        along = SideWrites(
            new=(replace(MARK, session=session),),
            put=(replace(MARK, key="old", value={"n": 2}),),
            drop=(("mark", "gone"), ("mark", "never there")),
        )
        async with hold_lease(store, session) as lease:
            kept = await store.append(lease, [user("b")], along=along)
        other = again
        assert [one.seq for one in kept] == [2]
        marks = {one.key: (one.value["n"], one.revision, one.session) for one in await other.list_records("mark")}
        assert marks == {"here": (1, 1, session), "old": (2, 2, None)}

    async def test_nothing_is_kept_when_a_record_is_there_already(self, store: Store) -> None:
        session = await begin(store, "a")
        await store.put_record(MARK)
        along = SideWrites(new=(replace(MARK, key="first"), MARK), drop=(("mark", "here"),), release_lease=True)
        async with hold_lease(store, session) as lease:
            with pytest.raises(Conflict):
                await store.append(lease, [user("b")], along=along)
            await store.append(lease, [user("c")])
        assert await read_contents(store, session) == ["a", "c"]
        assert [one.key for one in await store.list_records("mark")] == ["here"]

    async def test_of_two_who_bring_the_same_record_one_is_kept(self, store: Store, again: Store) -> None:
        sessions = [await begin(store), await begin(store)]
        leases = [await store.lease(one, holder="a test", surface="cli") for one in sessions]
        stores = (store, again)
        both = [
            one.append(lease, [user("b")], along=SideWrites(new=(MARK,)))
            for one, lease in zip(stores, leases, strict=True)
        ]
        done = await asyncio.gather(*both, return_exceptions=True)
        assert sorted(isinstance(one, Conflict) for one in done) == [False, True]
        said = [await read_contents(store, session) for session in sessions]
        assert sorted(said) == [[], ["b"]]

    async def test_the_lease_ends_with_the_last_words(self, store: Store) -> None:
        session = await begin(store)
        lease = await store.lease(session, holder="a test", surface="cli")
        await store.append(lease, [Chunk("b"), Done()], along=SideWrites(release_lease=True))
        with pytest.raises(LeaseLost):
            await store.append(lease, [user("late")])
        await store.renew(await store.lease(session, holder="the next", surface="cli"), 0)
        assert len(await collect(store.read(session))) == 2

    async def test_who_has_lost_the_lease_changes_no_record(self, store: Store) -> None:
        session = await begin(store)
        old = await store.lease(session, holder="a test", surface="cli")
        await store.put_record(replace(MARK, key="stays"))
        await store.renew(old, 0)
        with pytest.raises(LeaseLost):
            await store.append(old, [user("late")], along=SideWrites(new=(MARK,), drop=(("mark", "stays"),)))
        assert [one.key for one in await store.list_records("mark")] == ["stays"]

    async def test_secrets_in_what_goes_along_are_blacked_out(self, store: Store) -> None:
        session = await begin(store)
        async with hold_lease(store, session) as lease:
            await store.append(lease, [user("b")], along=SideWrites(new=(replace(MARK, value={"key": KEY}),)))
        kept = await store.get_record("mark", "here")
        assert kept is not None
        assert KEY not in str(kept.value)

    async def test_with_no_words_nothing_goes_along(self, store: Store) -> None:
        session = await begin(store)
        async with hold_lease(store, session) as lease:
            assert await store.append(lease, [], along=SideWrites(new=(MARK,), release_lease=True)) == []
            await store.append(lease, [user("a")])
        assert await store.list_records("mark") == []
