"""Contract: driver and turn lease. A driver is a surface; one process holds the turn lease for seconds."""

from __future__ import annotations

import asyncio
import time

import pytest

from sojourn.core.errors import Conflict, LeaseLost, NotDriving, SessionBusy
from sojourn.core.messages import user
from sojourn.core.sessions import Control, Lease
from sojourn.ports.store import Store
from sojourn.testing.store_steps import ODD, begin, collect, hold_lease, read_contents, say, take_first


async def collect_refusals(store: Store, lease: Lease) -> set[str]:
    """Returns the error codes of each guarded write under this lease."""
    said: set[str] = set()
    for attempt in (
        store.append(lease, [user("late")]),
        store.set_flags(lease, [1], active=False, compacted=False),
        store.end(lease, "late"),
        store.renew(lease),
        store.renew(lease, 0),
        collect(store.controls(lease)),
        store.delete(lease.session, lease=lease),
    ):
        try:
            async with asyncio.timeout(10):
                await attempt
            said.add("accepted")
        except Conflict as error:
            said.add(type(error).__name__)
    return said


class LeasesContract:
    """The driver stays while a session is idle; the lease expires."""

    # the lease
    async def test_second_holder_is_told_who_is_busy_where_and_since_when(self, store: Store, again: Store) -> None:
        session, before = await begin(store), time.time()
        await store.lease(session, holder="chat on laptop (pid 4711)", surface="cli")
        with pytest.raises(SessionBusy, match="chat on laptop") as busy:
            await again.lease(session, holder="another chat", surface="cli")
        assert (busy.value.session, busy.value.holder, busy.value.surface) == (
            session,
            "chat on laptop (pid 4711)",
            "cli",
        )
        assert before - 5 < busy.value.since < time.time() + 5

    async def test_a_lease_says_what_was_given(self, store: Store) -> None:
        session = await begin(store)
        lease = await store.lease(session, holder="me", surface="web", seconds=60)
        assert (lease.session, lease.holder, lease.surface) == (session, "me", "web")
        assert lease.until == pytest.approx(lease.since + 60)
        renewed = await store.renew(lease, 90)
        assert renewed.until > lease.until
        assert (renewed.fence, renewed.since) == (lease.fence, lease.since)

    async def test_a_lease_that_was_let_go_is_free_for_another(self, store: Store) -> None:
        session = await begin(store)
        lease = await store.lease(session, holder="one", surface="cli")
        await store.renew(lease, 0)
        other = await store.lease(session, holder="two", surface="cli")
        assert other.fence > lease.fence

    async def test_a_lease_that_was_let_go_cannot_write_any_more(self, store: Store) -> None:
        session = await begin(store, "a")
        lease = await store.lease(session, holder="one", surface="cli")
        await store.renew(lease, 0)
        assert await collect_refusals(store, lease) == {"LeaseLost"}
        assert await read_contents(store, session) == ["a"]

    async def test_a_lease_that_ran_out_is_taken_over_and_its_holder_cannot_write(
        self, store: Store, again: Store
    ) -> None:
        session, other = await begin(store, "a"), again
        lease = await store.lease(session, holder="one", surface="cli", seconds=0.05)
        await asyncio.sleep(0.1)
        taken = await other.lease(session, holder="two", surface="cli")
        assert await collect_refusals(store, lease) == {"LeaseLost"}
        await other.append(taken, [user("b")])
        assert await read_contents(store, session) == ["a", "b"]

    async def test_a_lease_that_ran_out_is_good_while_nobody_took_it(self, store: Store) -> None:
        session = await begin(store)
        lease = await store.lease(session, holder="slow", surface="cli", seconds=0.01)
        await asyncio.sleep(0.05)
        await store.append(lease, [user("a")])
        await store.renew(lease)
        with pytest.raises(SessionBusy):
            await store.lease(session, holder="two", surface="cli")

    async def test_a_renewed_lease_is_not_taken_over(self, store: Store) -> None:
        session = await begin(store)
        lease = await store.lease(session, holder="one", surface="cli", seconds=0.05)
        await store.renew(lease, 30)
        await asyncio.sleep(0.1)
        with pytest.raises(SessionBusy):
            await store.lease(session, holder="two", surface="cli")

    async def test_one_of_many_who_ask_at_once_gets_the_lease(self, store: Store, again: Store) -> None:
        session = await begin(store)
        asked = [one.lease(session, holder=f"{n}", surface="cli") for n in range(5) for one in (store, again)]
        done = await asyncio.gather(*asked, return_exceptions=True)
        assert sorted(type(one).__name__ for one in done) == ["Lease"] + ["SessionBusy"] * 9

    async def test_a_lease_opens_its_own_session_only(self, store: Store) -> None:
        mine, other = await begin(store, "a"), await begin(store, "b")
        lease = await store.lease(mine, holder="me", surface="cli")
        await store.lease(other, holder="somebody", surface="cli")
        with pytest.raises(SessionBusy, match="somebody"):
            await store.delete(other, lease=lease)

    # the driver
    async def test_the_first_lease_makes_its_surface_the_driver(self, store: Store) -> None:
        session = await begin(store)
        lease = await store.lease(session, holder="me", surface="web")
        kept = await store.get(session)
        assert (kept.driver, kept.driver_fence, lease.driver_fence) == ("web", 1, 1)

    async def test_another_surface_gets_no_lease_and_is_told_who_drives(self, store: Store, again: Store) -> None:
        session = await begin(store)
        async with hold_lease(store, session, "cli"):
            pass
        with pytest.raises(NotDriving, match="cli") as refused:
            await again.lease(session, holder="me", surface="telegram")
        assert (refused.value.driver, refused.value.asked) == ("cli", "telegram")

    async def test_a_late_append_is_refused_after_another_surface_took_the_wheel(
        self, store: Store, again: Store
    ) -> None:
        session = await begin(store, "a")
        lease = await store.lease(session, holder="me", surface="cli")
        driven = await again.set_driver(session, "telegram")
        assert (driven.driver, driven.driver_fence) == ("telegram", 2)
        assert await collect_refusals(store, lease) == {"NotDriving"}
        assert await read_contents(store, session) == ["a"]

    async def test_who_took_the_wheel_does_not_wait_for_the_old_turn(self, store: Store) -> None:
        session = await begin(store)
        await store.lease(session, holder="me", surface="cli")
        await store.set_driver(session, "telegram")
        lease = await store.lease(session, holder="phone", surface="telegram")
        assert [kept.seq for kept in await store.append(lease, [user("here now")])] == [1]

    async def test_an_old_lease_stays_refused_when_its_surface_drives_again(self, store: Store) -> None:
        session = await begin(store)
        lease = await store.lease(session, holder="me", surface="cli")
        await store.set_driver(session, "telegram")
        await store.set_driver(session, "cli")
        assert await collect_refusals(store, lease) == {"NotDriving"}

    async def test_the_wheel_is_taken_only_at_the_number_that_was_seen(self, store: Store) -> None:
        session = await begin(store)
        driven = await store.set_driver(session, "cli", fence=0)
        with pytest.raises(Conflict, match="cli"):
            await store.set_driver(session, "telegram", fence=0)
        assert (await store.set_driver(session, "telegram", fence=driven.driver_fence)).driver == "telegram"

    async def test_one_of_two_who_grab_the_wheel_at_once_gets_it(self, store: Store, again: Store) -> None:
        session = await begin(store)
        both = [one.set_driver(session, f"s{n}", fence=0) for n, one in enumerate((store, again))]
        done = await asyncio.gather(*both, return_exceptions=True)
        assert sorted(type(one).__name__ for one in done) == ["Conflict", "Session"]

    # words to a running turn
    async def test_approve_and_stop_reach_the_turn_from_another_process(self, store: Store, again: Store) -> None:
        session, other = await begin(store), again
        async with hold_lease(store, session) as lease:
            hearing = asyncio.ensure_future(take_first(2, store.controls(lease)))
            await asyncio.sleep(0.05)
            begun = time.monotonic()
            said = [
                await other.send_control(session, "approve", {"call": "c1", "answer": True}, by="owner on phone"),
                await other.send_control(session, "stop"),
            ]
            heard = await hearing
            assert time.monotonic() - begun < 1.5
        assert heard == said
        assert (heard[0].kind, heard[0].payload, heard[0].by) == (
            "approve",
            {"call": "c1", "answer": True},
            "owner on phone",
        )
        assert heard[0].id < heard[1].id

    async def test_a_word_said_before_the_turn_listens_is_heard(self, store: Store) -> None:
        session = await begin(store)
        async with hold_lease(store, session) as lease:
            await store.send_control(session, "steer", "shorter, please")
            [heard] = await take_first(1, store.controls(lease))
        assert (heard.kind, heard.payload) == ("steer", "shorter, please")

    async def test_each_word_is_heard_exactly_once(self, store: Store, again: Store) -> None:
        session, heard = await begin(store), asyncio.Queue[Control]()

        async def listen(one: Store, lease: Lease) -> None:
            async for control in one.controls(lease):
                heard.put_nowait(control)

        async with hold_lease(store, session) as lease:
            ears = [asyncio.ensure_future(listen(one, lease)) for one in (store, again)]
            said = [await again.send_control(session, "steer", n) for n in range(20)]
            async with asyncio.timeout(10):
                ids = [(await heard.get()).id for _ in said]
            await asyncio.sleep(0.1)
            for ear in ears:
                ear.cancel()
            await asyncio.gather(*ears, return_exceptions=True)
        assert sorted(ids) == [control.id for control in said]
        assert heard.empty()

    async def test_a_word_is_heard_by_the_session_it_was_said_to(self, store: Store) -> None:
        mine, other = await begin(store), await begin(store)
        async with hold_lease(store, mine) as lease, hold_lease(store, other) as others:
            await store.send_control(other, "stop")
            await store.send_control(mine, "steer")
            assert [control.kind for control in await take_first(1, store.controls(lease))] == ["steer"]
            assert [control.kind for control in await take_first(1, store.controls(others))] == ["stop"]

    async def test_words_are_for_the_holder_of_the_lease_only(self, store: Store) -> None:
        session = await begin(store)
        old = await store.lease(session, holder="one", surface="cli", seconds=0.01)
        await asyncio.sleep(0.05)
        new = await store.lease(session, holder="two", surface="cli")
        await store.send_control(session, "stop")
        with pytest.raises(LeaseLost):
            await take_first(1, store.controls(old))
        assert [control.kind for control in await take_first(1, store.controls(new))] == ["stop"]

    async def test_a_listening_turn_learns_that_the_wheel_was_taken(self, store: Store, again: Store) -> None:
        session = await begin(store)
        lease = await store.lease(session, holder="me", surface="cli")
        hearing = asyncio.ensure_future(take_first(1, store.controls(lease)))
        await asyncio.sleep(0.05)
        await again.set_driver(session, "telegram")
        with pytest.raises(NotDriving):
            await hearing

    async def test_odd_characters_come_through_in_words_and_names(self, store: Store) -> None:
        session = await begin(store)
        lease = await store.lease(session, holder=ODD, surface=ODD)
        with pytest.raises(SessionBusy) as busy:
            await store.lease(session, holder="x", surface=ODD)
        assert (busy.value.holder, busy.value.surface) == (ODD, ODD)
        said = await store.send_control(session, ODD, {ODD: ODD}, by=ODD)
        assert await take_first(1, store.controls(lease)) == [said]
        assert (await store.end(lease, ODD)).end_reason == ODD

    async def test_nothing_is_heard_by_who_says_nothing(self, store: Store) -> None:
        session = await begin(store)
        await say(store, session, "a")
        async with hold_lease(store, session) as lease:
            with pytest.raises(TimeoutError):
                await take_first(1, store.controls(lease), seconds=0.8)
