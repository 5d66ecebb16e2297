"""Contract: watching a session across processes, and the change feed of all sessions."""

from __future__ import annotations

import asyncio
import time
from contextlib import aclosing
from dataclasses import replace

import pytest

from sojourn.core.errors import NotFound
from sojourn.core.events import Chunk, Done
from sojourn.core.messages import user
from sojourn.core.sessions import Change, Recorded, SessionId
from sojourn.ports.store import Store
from sojourn.testing.store_steps import (
    NOBODY,
    begin,
    change_title,
    collect,
    hold_lease,
    ingest,
    make_transcript,
    say,
    take_first,
)


class WatchContract:
    """`watch` reads a log and continues with new items; the feed names the changed sessions."""

    # one session
    async def test_a_watcher_sees_what_is_there_and_what_another_process_adds(self, store: Store, again: Store) -> None:
        session, other = await begin(store, "before"), again
        watching = asyncio.ensure_future(take_first(3, other.watch(session)))
        await asyncio.sleep(0.1)
        begun = time.monotonic()
        kept = await say(store, session, Chunk("Hel"), "after")
        seen = await watching
        assert time.monotonic() - begun < 1.5
        assert seen[1:] == kept
        assert [item.seq for item in seen] == [1, 2, 3]

    @pytest.mark.parametrize("where", ["in this process", "in another process"])
    async def test_step_by_step_nobody_waits_for_a_clock(self, store: Store, again: Store, where: str) -> None:
        session, other = await begin(store), (again if where == "in another process" else None) or store
        log, feed = other.watch(session), other.watch_changes(after=await store.last_change())
        async with (
            hold_lease(store, session) as lease,
            aclosing(other.controls(lease)) as words,
            aclosing(log),
            aclosing(feed),
        ):
            begun = time.monotonic()
            for n in range(1, 6):
                seeing = asyncio.gather(anext(log), anext(words), anext(feed))
                await asyncio.sleep(0.02)
                await store.append(lease, [user(f"{n}")])
                await store.send_control(session, "steer", n)
                seen, heard, _ = await asyncio.wait_for(seeing, 10)
                assert (seen.seq, heard.payload) == (n, n)
            assert time.monotonic() - begun < 3.0, "each step should take a moment, not a look now and then"

    async def test_a_watcher_may_begin_after_a_number(self, store: Store) -> None:
        session = await begin(store, "a", "b", "c")
        assert [item.seq for item in await take_first(1, store.watch(session, after=2))] == [3]

    async def test_a_watcher_who_is_ahead_waits(self, store: Store) -> None:
        session = await begin(store, "a")
        watching = asyncio.ensure_future(take_first(1, store.watch(session, after=1)))
        await asyncio.sleep(0.05)
        await say(store, session, "b")
        assert [item.seq for item in await watching] == [2]

    async def test_many_watchers_see_everything_once_and_in_order(self, store: Store, again: Store) -> None:
        session, other = await begin(store), again
        watching = [
            asyncio.ensure_future(take_first(200, one.watch(session), 20)) for one in (store, other, store, other)
        ]
        async with hold_lease(store, session) as lease:
            for n in range(50):
                await (store if n % 2 else other).append(lease, [user(f"{n}"), *(Chunk(f"{n}.{i}") for i in range(3))])
        for seen in await asyncio.gather(*watching):
            assert [item.seq for item in seen] == list(range(1, 201))

    async def test_a_watcher_is_not_told_of_other_sessions(self, store: Store) -> None:
        mine, other = await begin(store), await begin(store)
        watching = asyncio.ensure_future(take_first(1, store.watch(mine)))
        await asyncio.sleep(0.05)
        await say(store, other, "not for you")
        [kept] = await say(store, mine, "for you")
        assert await watching == [kept]

    async def test_a_watch_ends_when_the_session_is_deleted(self, store: Store, again: Store) -> None:
        session = await begin(store, "a")
        watching = asyncio.ensure_future(collect(store.watch(session)))
        await asyncio.sleep(0.1)
        await again.delete(session)
        async with asyncio.timeout(10):
            assert [item.seq for item in await watching] == [1]

    async def test_an_unknown_session_cannot_be_watched(self, store: Store) -> None:
        with pytest.raises(NotFound):
            await take_first(1, store.watch(NOBODY))

    async def test_a_watcher_who_left_does_not_hold_up_the_others(self, store: Store) -> None:
        session, seen = await begin(store), list[Recorded]()

        async def watch() -> None:
            async for item in store.watch(session):
                seen.append(item)

        gone = asyncio.ensure_future(watch())
        await asyncio.sleep(0.05)
        gone.cancel()
        await asyncio.gather(gone, return_exceptions=True)
        await say(store, session, "a")
        assert [item.seq for item in await take_first(1, store.watch(session))] == [1]
        assert seen == []

    async def test_a_watcher_can_leave_at_the_very_moment_something_happens(self, store: Store) -> None:
        session = await begin(store)
        async with hold_lease(store, session) as lease:
            for steps in range(40):
                leaving = asyncio.ensure_future(collect(store.watch(session, after=steps)))
                await asyncio.sleep(0.002)
                await store.append(lease, [user("now")])
                for _ in range(steps % 8):
                    await asyncio.sleep(0)
                leaving.cancel()
                async with asyncio.timeout(5):
                    assert isinstance(
                        (await asyncio.gather(leaving, return_exceptions=True))[0], asyncio.CancelledError
                    )

    # the feed
    async def test_the_feed_tells_what_happened_to_which_session(self, store: Store) -> None:
        one, other = await begin(store, "a"), await store.create()
        await change_title(store, await store.get(one), "Garden")
        await store.send_control(one, "stop")
        await store.delete(other.id)
        told = [(change.session, change.kind) for change in await store.changes()]
        assert told == [(one, "created"), (one, "log"), (one, "changed"), (one, "control"), (other.id, "deleted")]

    async def test_numbers_of_the_feed_only_grow(self, store: Store) -> None:
        session, numbers = await begin(store), [await store.last_change()]
        for n in range(5):
            await say(store, session, f"{n}")
            numbers.append(await store.last_change())
        await store.delete(session)
        numbers.append(await store.last_change())
        await store.forget(await begin(store, "x"))
        numbers.append(await store.last_change())
        assert numbers == sorted(set(numbers))

    async def test_who_has_read_the_feed_gets_only_what_is_new(self, store: Store) -> None:
        assert (await store.changes(), await store.last_change()) == ([], 0)
        session = await begin(store, "a")
        last = await store.last_change()
        assert await store.changes(after=last) == []
        await say(store, session, "b")
        assert [(change.session, change.kind) for change in await store.changes(after=last)] == [(session, "log")]

    async def test_a_deletion_reaches_who_has_read_everything(self, store: Store) -> None:
        session = await begin(store, "a", source="cli")
        last = await store.last_change()
        await store.delete(session)
        [change] = await store.changes(after=last)
        assert (change.session, change.kind) == (session, "deleted")

    async def test_a_session_does_not_fill_the_feed(self, store: Store) -> None:
        session = await begin(store)
        for n in range(30):
            await say(store, session, f"{n}")
        assert [change.kind for change in await store.changes()] == ["created", "log"]

    async def test_pieces_of_an_answer_are_no_news_for_lists(self, store: Store) -> None:
        session = await begin(store, "a")
        before, last = await store.get(session), await store.last_change()
        async with hold_lease(store, session) as lease:
            await store.append(lease, [Chunk("b")])
            await store.append(lease, [Chunk("c"), Chunk("d")])
            found = await store.get(session)
            assert (found.last_active, await store.changes(after=last)) == (before.last_active, [])
            await store.append(lease, [Chunk("e"), Done()])
            assert [change.kind for change in await store.changes(after=last)] == ["log"]
            assert (await store.get(session)).last_active > before.last_active

    async def test_who_watches_a_session_elsewhere_hears_its_pieces_at_once(self, store: Store, again: Store) -> None:
        """Rung for each of them: who only looks by itself now and then would need seconds for all."""
        session, other = await begin(store, "a"), again
        async with aclosing(other.watch(session, after=1)) as log, hold_lease(store, session) as lease:
            waiting = asyncio.ensure_future(anext(log))
            await asyncio.sleep(0.1)
            begun = time.monotonic()
            for n in range(6):
                await store.append(lease, [Chunk(f"{n}")])
                assert (await waiting).item == Chunk(f"{n}")
                waiting = asyncio.ensure_future(anext(log))
            assert time.monotonic() - begun < 2.5
            waiting.cancel()
            await asyncio.gather(waiting, return_exceptions=True)

    async def test_the_feed_is_read_in_pages(self, store: Store) -> None:
        made = [await begin(store) for _ in range(7)]
        seen: list[Change] = []
        while page := await store.changes(after=seen[-1].n if seen else 0, limit=3):
            assert len(page) <= 3
            seen += page
        assert [change.session for change in seen] == made

    async def test_who_watches_the_feed_hears_of_another_process(self, store: Store, again: Store) -> None:
        old, other = await begin(store), again
        watching = asyncio.ensure_future(take_first(4, store.watch_changes()))
        await asyncio.sleep(0.1)
        begun = time.monotonic()
        new = await begin(other, "hello")
        await other.delete(old)
        told = {(change.session, change.kind) for change in await watching}
        assert time.monotonic() - begun < 1.5
        assert told == {(old, "created"), (new, "created"), (new, "log"), (old, "deleted")}

    async def test_who_watches_the_feed_may_begin_after_a_number(self, store: Store) -> None:
        await begin(store, "a")
        last = await store.last_change()
        new = await begin(store, "b", Done())
        told = await take_first(2, store.watch_changes(after=last))
        assert {change.session for change in told} == {new}

    async def test_an_import_is_told_in_the_feed(self, store: Store) -> None:
        await ingest(store, make_transcript("abc", "one"))
        last = await store.last_change()
        assert [(change.session, change.kind) for change in await store.changes()] == [("abc", "created")]
        await ingest(store, make_transcript("abc", "one", "two"), mark="2")
        assert [(change.session, change.kind) for change in await store.changes(after=last)] == [("abc", "log")]

    async def test_an_import_of_nothing_new_is_not_told(self, store: Store) -> None:
        await ingest(store, make_transcript("abc", "one"))
        last = await store.last_change()
        await ingest(store, make_transcript("abc", "one"))
        assert await store.changes(after=last) == []

    async def test_what_is_forgotten_is_told_without_its_name(self, store: Store) -> None:
        session = await begin(store, "a")
        await store.create(parent=session, source="subagent")
        last = await store.last_change()
        await store.forget(session)
        assert [(change.session, change.kind) for change in await store.changes(after=last)] == [("", "deleted")]
        assert [change.session for change in await store.changes()] == [SessionId("")]

    async def test_a_flag_set_is_told_in_the_feed(self, store: Store) -> None:
        session = await begin(store, "a")
        last = await store.last_change()
        async with hold_lease(store, session) as lease:
            await store.set_flags(lease, [1], active=False, compacted=False)
        assert [change.kind for change in await store.changes(after=last)] == ["log"]

    async def test_driving_and_ending_are_told_in_the_feed(self, store: Store) -> None:
        session = await begin(store, "a")
        last = await store.last_change()
        await store.set_driver(session, "cli")
        assert [replace(change, n=0, at=0.0) for change in await store.changes(after=last)] == [
            Change(0, session, "changed", 0.0)
        ]
