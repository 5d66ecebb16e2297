"""Contract: transactions. What is read and written in one is stored together, or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import pytest

from sojourn.core.errors import Conflict, LeaseLost, SessionBusy
from sojourn.core.events import Chunk, Done
from sojourn.core.messages import user
from sojourn.core.sessions import Lease, Recorded, SessionId
from sojourn.ports.store import Record, Store, Transaction
from sojourn.testing.store_secrets import KEY
from sojourn.testing.store_steps import begin, collect, hold_lease, read_contents

MARK = Record(kind="mark", key="here", value={"n": 1})


def _append_and(
    lease: Lease, text: str, *more: Callable[[Transaction], object]
) -> Callable[[Transaction], list[Recorded]]:
    """The work of appending a message and doing more."""

    def work(store: Transaction) -> list[Recorded]:
        kept = store.append(lease, [user(text)])
        for one in more:
            one(store)
        return kept

    return work


def _put(record: Record, expect: int | None = None) -> Callable[[Transaction], object]:
    return lambda store: store.put_record(record, expect=expect)


class TransactionsContract:
    """The items, the records and the lease of a turn change together."""

    async def test_records_come_with_the_words_they_belong_to(self, store: Store, again: Store) -> None:
        session = await begin(store, "a")
        await store.put_record(replace(MARK, key="old"))
        await store.put_record(replace(MARK, key="gone"))
        async with hold_lease(store, session) as lease:
            kept = await store.transact(
                _append_and(
                    lease,
                    "b",
                    _put(replace(MARK, session=session), expect=0),
                    _put(replace(MARK, key="old", value={"n": 2})),
                    lambda one: one.delete_record("mark", "gone"),
                    lambda one: one.delete_record("mark", "never there"),
                )
            )
        assert [one.seq for one in kept] == [2]
        marks = {one.key: (one.value["n"], one.revision, one.session) for one in await again.list_records("mark")}
        assert marks == {"here": (1, 1, session), "old": (2, 2, None)}

    async def test_nothing_is_kept_when_a_record_is_there_already(self, store: Store) -> None:
        session = await begin(store, "a")
        await store.put_record(MARK)
        async with hold_lease(store, session) as lease:
            work = _append_and(lease, "b", _put(replace(MARK, key="first"), expect=0), _put(MARK, expect=0))
            with pytest.raises(Conflict):
                await store.transact(work)
            await store.append(lease, [user("c")])
        assert await read_contents(store, session) == ["a", "c"]
        assert [one.key for one in await store.list_records("mark")] == ["here"]

    async def test_of_two_who_bring_the_same_record_one_is_kept(self, store: Store, again: Store) -> None:
        sessions = [await begin(store), await begin(store)]
        leases = [await store.lease(one, holder="a test", surface="cli") for one in sessions]
        both = [
            one.transact(_append_and(lease, "b", _put(MARK, expect=0)))
            for one, lease in zip((store, again), leases, strict=True)
        ]
        done = await asyncio.gather(*both, return_exceptions=True)
        assert sorted(isinstance(one, Conflict) for one in done) == [False, True]
        said = [await read_contents(store, session) for session in sessions]
        assert sorted(said) == [[], ["b"]]

    async def test_of_many_who_lease_and_write_at_once_one_does_both(self, store: Store, again: Store) -> None:
        session = await begin(store)

        def work(one: Transaction, name: str) -> None:
            lease = one.lease(session, holder=name, surface="cli")
            one.append(lease, [user(name)])
            one.put_record(Record(kind="mark", key=name, value={}, session=session))

        tries = [one.transact(partial(work, name=str(n))) for n, one in enumerate([store, again] * 4)]
        done = await asyncio.gather(*tries, return_exceptions=True)
        assert sum(isinstance(one, SessionBusy) for one in done) == 7, done
        [mark] = await store.list_records("mark")
        assert await read_contents(store, session) == [mark.key]

    async def test_the_lease_ends_with_the_last_words(self, store: Store) -> None:
        session = await begin(store)
        lease = await store.lease(session, holder="a test", surface="cli")

        def work(one: Transaction) -> None:
            one.append(lease, [Chunk("b"), Done()])
            one.renew(lease, 0)

        await store.transact(work)
        with pytest.raises(LeaseLost):
            await store.append(lease, [user("late")])
        await store.renew(await store.lease(session, holder="the next", surface="cli"), 0)
        assert len(await collect(store.read(session))) == 2

    async def test_who_has_lost_the_lease_changes_no_record(self, store: Store) -> None:
        session = await begin(store)
        old = await store.lease(session, holder="a test", surface="cli")
        await store.put_record(replace(MARK, key="stays"))
        await store.renew(old, 0)

        def work(one: Transaction) -> None:
            one.put_record(MARK)
            one.delete_record("mark", "stays")
            one.append(old, [user("late")])

        with pytest.raises(LeaseLost):
            await store.transact(work)
        assert [one.key for one in await store.list_records("mark")] == ["stays"]

    async def test_secrets_in_a_transaction_are_blacked_out(self, store: Store) -> None:
        session = await begin(store)
        async with hold_lease(store, session) as lease:
            await store.transact(_append_and(lease, f"my key is {KEY}", _put(replace(MARK, value={"key": KEY}))))
        kept = await store.get_record("mark", "here")
        assert kept is not None
        assert KEY not in str(kept.value) + str(await read_contents(store, session))

    async def test_a_transaction_reads_what_it_has_written(self, store: Store) -> None:
        session = await begin(store, "a")

        def work(one: Transaction) -> tuple[list[object], object, str | None]:
            lease = one.lease(session, holder="a test", surface="cli")
            one.append(lease, [user("b")])
            one.put_record(replace(MARK, session=session))
            one.renew(lease, 0)
            texts: list[object] = [getattr(kept.item, "content", None) for kept in one.read(session)]
            return texts, one.list_records("mark", session=session)[0].value, one.get(session).driver

        assert await store.transact(work) == (["a", "b"], {"n": 1}, "cli")

    async def test_a_snapshot_sees_one_moment(self, store: Store, again: Store) -> None:
        session = await begin(store, "a")

        def work(one: Transaction) -> tuple[int, int]:
            return one.get(session).last_seq, len(list(one.read(session)))

        async def write() -> None:
            async with hold_lease(again, session) as lease:
                for number in range(20):
                    await again.append(lease, [user(str(number))])

        writing = asyncio.create_task(write())
        while not writing.done():
            last_seq, count = await store.snapshot(work)
            assert last_seq == count
        await writing

    async def test_a_taken_title_gets_the_lowest_free_number(self, store: Store) -> None:
        sessions = [await store.create() for _ in range(4)]
        titles = [await store.set_title(one.id, "hi") for one in sessions]
        assert titles == ["hi", "hi (2)", "hi (3)", "hi (4)"]
        await store.delete(sessions[1].id)
        assert await store.set_title((await store.create()).id, "hi") == "hi (2)"
        assert await store.set_title((await store.create()).id, "h") == "h"

    async def test_a_title_that_a_person_has_set_stays(self, store: Store) -> None:
        session = await store.create(title="mine")
        assert await store.set_title(session.id, "other") is None
        assert await store.set_title(session.id, "better", instead_of="mine") == "better"
        assert await store.set_title(session.id, " ", instead_of="better") is None
        assert (await store.get(SessionId(session.id))).title == "better"
