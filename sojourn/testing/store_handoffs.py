"""Contract: hand-offs. They advance in guarded steps, have one owner at a time and never get stuck.

Negative seconds mean a time in the past: an expired deadline, or a dead owner.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from sojourn.core.errors import Conflict, LeaseLost, NotDriving, NotFound, SessionBusy
from sojourn.core.handoff import HandoffId, State
from sojourn.core.messages import user
from sojourn.ports.store import Store
from sojourn.testing.store_handoff_steps import (
    EXPIRED_SECONDS,
    STEPS,
    HandoffStepsContract,
    bring_to_state,
    read_driver,
    request,
    session_columns,
)
from sojourn.testing.store_leases import collect_refusals
from sojourn.testing.store_maintenance import move_rows
from sojourn.testing.store_secrets import KEY, find_traces
from sojourn.testing.store_steps import (
    NOBODY,
    ODD,
    Fresh,
    begin,
    change_title,
    dump,
    hold_lease,
    read_contents,
    take_first,
)


class HandoffsContract(HandoffStepsContract):
    """requested → claimed → thread_ready → bound → turn_done → delivered → completed."""

    # asking
    async def test_a_request_is_kept_and_shown_on_the_session(self, store: Store, again: Store) -> None:
        session = await begin(store, "a")
        asked = await store.request_handoff(session, "telegram", surface="cli", target="42", by="chat on laptop")
        assert (asked.session, asked.platform, asked.target, asked.from_surface, asked.by, asked.state) == (
            session,
            "telegram",
            "42",
            "cli",
            "chat on laptop",
            "requested",
        )
        assert asked.deadline == pytest.approx(asked.created_at + 3600)
        assert await again.get_handoff(asked.id) == asked
        assert await again.get_handoff_state(session) == asked
        assert await session_columns(store, session) == ("pending", "telegram", None)

    async def test_a_session_without_a_hand_off_has_none(self, store: Store) -> None:
        session = await begin(store, "a")
        assert await store.get_handoff_state(session) is None
        assert await store.handoffs(session) == await store.list_pending_handoffs() == []
        assert await session_columns(store, session) == (None, None, None)

    async def test_an_empty_session_can_be_handed_off(self, store: Store) -> None:
        session = (await store.create()).id
        await store.complete_handoff(await bring_to_state(store, session, "bound"))
        assert await session_columns(store, session) == ("completed", "telegram", None)
        assert await read_driver(store, session) == ("telegram", 1)

    async def test_a_session_that_is_gone_is_not_handed_off(self, store: Store) -> None:
        gone = await begin(store)
        await store.delete(gone)
        for session in (gone, NOBODY):
            for attempt in (request(store, session), store.handoffs(session), store.get_handoff_state(session)):
                with pytest.raises(NotFound):
                    await attempt
        with pytest.raises(NotFound):
            await store.get_handoff(HandoffId("h_0"))

    async def test_a_running_turn_is_not_handed_off(self, store: Store, again: Store) -> None:
        session = await begin(store)
        async with hold_lease(store, session) as lease:
            with pytest.raises(SessionBusy, match="a test"):
                await request(again, session)
            await store.append(lease, [user("still here")])
        await request(store, session)

    async def test_only_who_drives_may_hand_over(self, store: Store) -> None:
        session = await begin(store)
        await store.set_driver(session, "web")
        with pytest.raises(NotDriving, match="web"):
            await request(store, session)
        assert await session_columns(store, session) == (None, None, None)

    @pytest.mark.parametrize("state", ["requested", "claimed", *STEPS])
    async def test_a_second_request_is_told_which_one_is_under_way(
        self, store: Store, again: Store, state: State
    ) -> None:
        session = await begin(store, "a")
        under_way = await bring_to_state(store, session, state)
        with pytest.raises(Conflict, match=under_way.id):
            await again.request_handoff(session, "discord", surface="cli")
        assert await store.handoffs(session) == [under_way]

    async def test_one_of_two_requests_at_once_is_kept(self, store: Store, again: Store) -> None:
        session = await begin(store, "a")
        both = [request(one, session) for one in (store, again) for _ in range(3)]
        done = await asyncio.gather(*both, return_exceptions=True)
        assert sorted(type(one).__name__ for one in done) == ["BeingHandedOver"] * 5 + ["Handoff"]

    async def test_a_turn_and_a_request_at_once_do_not_both_win(self, store: Store, again: Store) -> None:
        for _ in range(5):
            session = await begin(store)
            done = await asyncio.gather(
                store.lease(session, holder="me", surface="cli"), request(again, session), return_exceptions=True
            )
            assert [type(one).__name__ for one in done] in (["Lease", "SessionBusy"], ["BeingHandedOver", "Handoff"])

    async def test_after_one_has_ended_another_can_be_asked_for(self, store: Store) -> None:
        session = await begin(store, "a")
        first = await store.fail_handoff(await bring_to_state(store, session, "claimed"), "no_home", "No home channel.")
        second = await request(store, session)
        assert [one.id for one in await store.handoffs(session)] == [second.id, first.id]
        assert await store.handoffs(session, limit=1) == [second]
        assert await session_columns(store, session) == ("pending", "telegram", None)

    # while it waits
    @pytest.mark.parametrize("state", ["requested", "claimed", "thread_ready"])
    async def test_nobody_starts_a_turn_on_a_session_that_is_leaving(
        self, store: Store, again: Store, state: State
    ) -> None:
        for said in ([], ["a"]):  # with a driver, and without
            session = await begin(store, *said)
            under_way = await bring_to_state(store, session, state)
            with pytest.raises(Conflict, match=under_way.id):
                await again.lease(session, holder="me", surface="cli")
            with pytest.raises(Conflict):
                await store.lease(session, holder="phone", surface="telegram")
            assert await read_contents(store, session) == said

    @pytest.mark.parametrize("state", ["requested", "claimed", "thread_ready"])
    async def test_nobody_takes_the_wheel_of_a_session_that_is_leaving(self, store: Store, state: State) -> None:
        session = await begin(store, "a")
        under_way = await bring_to_state(store, session, state)
        before = await read_driver(store, session)
        with pytest.raises(Conflict, match=under_way.id):
            await store.set_driver(session, "web")
        assert await read_driver(store, session) == before
        assert await store.get_handoff(under_way.id) == under_way

    @pytest.mark.parametrize("state", ["requested", "claimed", *STEPS])
    async def test_a_clean_up_does_not_delete_what_is_handed_over(self, store: Store, state: State) -> None:
        session = await begin(store, "a")
        under_way = await bring_to_state(store, session, state)
        for attempt in (store.delete(session), store.forget(session)):
            with pytest.raises(Conflict, match=under_way.id):
                await attempt
        assert await read_contents(store, session) == ["a"]

    async def test_a_lease_that_ran_out_is_worth_nothing_after_a_request(self, store: Store) -> None:
        session = await begin(store, "a")
        lease = await store.lease(session, holder="me", surface="cli", seconds=EXPIRED_SECONDS)
        await request(store, session)
        assert await collect_refusals(store, lease) == {"LeaseLost"}
        assert await read_contents(store, session) == ["a"]

    async def test_the_giver_may_read_and_retitle_meanwhile(self, store: Store) -> None:
        session = await begin(store, "a")
        seen = await store.get(session)
        await request(store, session)
        with pytest.raises(Conflict):
            await change_title(store, seen, "Late title")
        kept = await change_title(store, await store.get(session), "Garden")
        assert (kept.title, kept.handoff_state) == ("Garden", "pending")
        assert await read_contents(store, session) == ["a"]

    async def test_a_late_title_of_before_the_hand_over_is_refused(self, store: Store) -> None:
        session = await begin(store, "a")
        claimed = await bring_to_state(store, session, "claimed")
        seen = await store.get(session)
        await store.advance_handoff(claimed, "bound")
        with pytest.raises(Conflict):
            await change_title(store, seen, "Late title")

    # claiming
    async def test_a_claim_names_its_owner_and_shows_that_it_runs(self, store: Store, again: Store) -> None:
        session = await begin(store, "a")
        asked = await request(store, session)
        claimed = await again.claim_handoff("gateway 1", seconds=60)
        assert claimed is not None
        assert (claimed.id, claimed.state, claimed.owner, claimed.fence) == (asked.id, "claimed", "gateway 1", 1)
        assert claimed.claimed_at is not None
        assert claimed.until == pytest.approx(claimed.claimed_at + 60, abs=1)
        assert await session_columns(store, session) == ("running", "telegram", None)
        assert await store.claim_handoff("gateway 2") is None
        assert await store.list_pending_handoffs() == []

    async def test_the_oldest_is_claimed_first_and_only_by_who_has_its_platform(self, store: Store) -> None:
        sessions = [await begin(store) for _ in range(3)]
        asked = [
            await store.request_handoff(session, platform, surface="cli")
            for session, platform in zip(sessions, ("telegram", "matrix", "telegram"), strict=True)
        ]
        assert [one.id for one in await store.list_pending_handoffs()] == [one.id for one in asked]
        assert [one.id for one in await store.list_pending_handoffs(["matrix"])] == [asked[1].id]
        assert await store.list_pending_handoffs([]) == []
        assert await store.claim_handoff("me", platforms=["slack"]) is None
        assert await store.claim_handoff("me", platforms=[]) is None
        claimed = [await store.claim_handoff("me", platforms=["telegram", "irc"]) for _ in range(3)]
        assert [one and one.id for one in claimed] == [asked[0].id, asked[2].id, None]

    async def test_one_that_is_named_is_claimed_or_none(self, store: Store) -> None:
        one, other = await request(store, await begin(store)), await request(store, await begin(store))
        claimed = await store.claim_handoff("me", id=other.id)
        assert claimed is not None
        assert claimed.id == other.id
        assert await store.claim_handoff("me", id=other.id) is None
        assert await store.claim_handoff("me", id=other.id, platforms=["matrix"]) is None
        assert [found.id for found in await store.list_pending_handoffs()] == [one.id]

    async def test_each_is_claimed_by_exactly_one_of_many(self, store: Store, again: Store) -> None:
        asked = [await request(store, await begin(store)) for _ in range(6)]
        claims = [one.claim_handoff(f"{n}") for n in range(8) for one in (store, again)]
        claimed = [one.id for one in await asyncio.gather(*claims) if one is not None]
        assert sorted(claimed) == sorted(one.id for one in asked)

    async def test_what_a_dead_owner_left_is_taken_up_where_it_was(self, store: Store, again: Store) -> None:
        session = await begin(store, "a")
        left = await store.claim_handoff("dead", id=(await request(store, session)).id, seconds=60)
        assert left is not None
        left = await store.advance_handoff(left, "thread_ready", thread_id="77", place="telegram:thread:77")
        assert await store.claim_handoff("early") is None
        left = await store.renew_handoff(left, EXPIRED_SECONDS)
        assert [one.id for one in await store.list_pending_handoffs()] == [left.id]
        taken = await again.claim_handoff("alive")
        assert taken is not None
        assert (taken.state, taken.thread_id, taken.place) == ("thread_ready", "77", "telegram:thread:77")
        assert (taken.owner, taken.fence, taken.claimed_at) == ("alive", 2, left.claimed_at)

    async def test_an_owner_that_was_given_up_cannot_go_on(self, store: Store) -> None:
        session = await begin(store, "a")
        left = await bring_to_state(store, session, "claimed", seconds=EXPIRED_SECONDS)
        taken = await store.claim_handoff("alive")
        assert taken is not None
        for attempt in (store.renew_handoff(left), store.advance_handoff(left, "bound"), store.fail_handoff(left, "x")):
            with pytest.raises(LeaseLost, match="alive"):
                await attempt
        bound = await store.advance_handoff(taken, "bound")
        late = replace(left, state="bound")
        for attempt in (store.complete_handoff(late), store.fail_handoff(late, "x")):
            with pytest.raises(LeaseLost):
                await attempt
        assert await store.get_handoff(bound.id) == bound

    async def test_an_owner_whose_time_ran_out_is_good_while_nobody_took_it(self, store: Store) -> None:
        claimed = await bring_to_state(store, await begin(store), "claimed", seconds=EXPIRED_SECONDS)
        renewed = await store.renew_handoff(claimed, 60)
        assert renewed.until > claimed.until
        assert await store.claim_handoff("other") is None
        await store.complete_handoff(await store.advance_handoff(renewed, "bound"))

    async def test_what_was_never_claimed_or_is_over_cannot_be_renewed(self, store: Store) -> None:
        asked = await request(store, await begin(store))
        over = await store.fail_handoff(await bring_to_state(store, await begin(store), "claimed"), "x")
        for one in (asked, over):
            with pytest.raises(Conflict):
                await store.renew_handoff(one)

    # keeping
    async def test_the_hand_offs_of_all_sessions_are_told_newest_first(self, store: Store) -> None:
        asked = [await request(store, await begin(store)) for _ in range(3)]
        assert [one.id for one in await store.handoffs(None)] == [one.id for one in reversed(asked)]
        assert [one.id for one in await store.handoffs(None, limit=1)] == [asked[2].id]
        assert [one.id for one in await store.handoffs(asked[0].session)] == [asked[0].id]

    async def test_hand_offs_are_forgotten_with_their_session(self, store: Store) -> None:
        session = await begin(store, "a")
        asked = await store.request_handoff(session, "telegram", surface="cli", target="canary", by="canary")
        await store.cancel_handoff(asked.id, error="canary")
        await store.forget(session)
        assert "canary" not in repr(await dump(store))

    async def test_odd_characters_and_secrets_in_a_hand_off(self, store: Store) -> None:
        session = await begin(store, "a")
        asked = await store.request_handoff(session, ODD, surface="cli", target=ODD, by=ODD)
        claimed = await store.claim_handoff(ODD, platforms=[ODD])
        assert claimed is not None
        bound = await store.advance_handoff(
            claimed, "bound", surface=ODD, place=ODD, thread_id=ODD, note=f"{KEY} {ODD}"
        )
        failed = await store.fail_handoff(bound, ODD, f"{KEY} {ODD}")
        assert (asked.platform, asked.target, asked.by, claimed.owner) == (ODD,) * 4
        assert (bound.surface, bound.place, bound.thread_id, failed.error_code) == (ODD,) * 4
        assert failed.error == failed.note == f"[redacted:api-key] {ODD}"
        assert await session_columns(store, session) == ("failed", ODD, failed.error)
        assert await find_traces(store, "Ab1Ab1") == []

    @pytest.mark.parametrize("state", ["requested", "claimed", *STEPS])
    async def test_every_step_is_told_to_those_who_watch(self, store: Store, again: Store, state: State) -> None:
        session = await begin(store, "a")
        handoff = await bring_to_state(store, session, state)
        before = await store.last_change()
        watching = asyncio.ensure_future(take_first(1, store.watch_changes(after=before)))
        await asyncio.sleep(0)
        other = again
        if state == "requested":
            await other.claim_handoff("me")
        elif state in ("delivered", "claimed"):
            await other.fail_handoff(handoff, "x")
        else:
            await other.advance_handoff(handoff, STEPS[STEPS.index(state) + 1])
        [change] = await watching
        assert (change.session, change.kind) == (session, "handoff")

    async def test_a_request_wakes_a_gateway_in_another_process(self, store: Store, again: Store) -> None:
        session = await begin(store, "a")
        before = await store.last_change()
        watching = asyncio.ensure_future(take_first(1, again.watch_changes(after=before), seconds=1.5))
        await asyncio.sleep(0.05)
        asked = await request(store, session)
        assert [change.kind for change in await watching] == ["handoff"]
        claimed = await again.claim_handoff("gateway")
        assert claimed is not None
        assert claimed.id == asked.id

    async def test_a_moved_store_goes_on_with_its_hand_offs(self, store: Store, fresh: Fresh) -> None:
        session, other = await begin(store, "a"), fresh()
        claimed = await bring_to_state(store, session, "claimed")
        await move_rows(store, other)
        assert await other.get_handoff(claimed.id) == claimed
        await other.advance_handoff(claimed, "bound")
        assert await read_driver(other, session) == ("telegram", 2)
