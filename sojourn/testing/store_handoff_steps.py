"""Contract: the steps of a hand-off, the driver that changes with them, and every way a hand-off can end."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from sojourn.core.errors import BadInput, Conflict, NotDriving, NotFound
from sojourn.core.handoff import Handoff, HandoffId, State, Step
from sojourn.core.messages import user
from sojourn.core.sessions import SessionId
from sojourn.ports.store import Record, Store
from sojourn.testing.store_leases import collect_refusals
from sojourn.testing.store_maintenance import move_rows
from sojourn.testing.store_steps import Fresh, begin, hold_lease, read_contents, read_table, say

EXPIRED_SECONDS = -1.0
STEPS: tuple[Step, ...] = ("thread_ready", "bound", "turn_done", "delivered")


async def request(store: Store, session: SessionId, seconds: float = 60.0) -> Handoff:
    return await store.request_handoff(session, "telegram", surface="cli", seconds=seconds)


async def bring_to_state(store: Store, session: SessionId, state: State, seconds: float = 60.0) -> Handoff:
    """Returns a hand-off to telegram in this state, claimed for some seconds."""
    handoff = await request(store, session)
    if state == "requested":
        return handoff
    claimed = await store.claim_handoff("gateway", id=handoff.id, seconds=seconds)
    assert claimed is not None
    for step in STEPS[: STEPS.index(state) + 1] if state in STEPS else ():
        claimed = await store.advance_handoff(claimed, step)
    return claimed


async def session_columns(store: Store, session: SessionId) -> tuple[str | None, str | None, str | None]:
    kept = await store.get(session)
    return kept.handoff_state, kept.handoff_platform, kept.handoff_error


async def read_driver(store: Store, session: SessionId) -> tuple[str | None, int]:
    kept = await store.get(session)
    return kept.driver, kept.driver_fence


class HandoffStepsContract:
    """A step succeeds only if the hand-off is still in the state the caller has seen."""

    # the steps
    async def test_the_whole_way(self, store: Store) -> None:
        session = await begin(store, "a")
        claimed = await bring_to_state(store, session, "claimed")
        ready = await store.advance_handoff(claimed, "thread_ready", thread_id="77", note="a new thread")
        bound = await store.advance_handoff(ready, "bound", surface="telegram:77", place="key")
        done = await store.advance_handoff(bound, "turn_done")
        delivered = await store.advance_handoff(done, "delivered", message_id="m9")
        completed = await store.complete_handoff(delivered)
        assert (completed.state, completed.thread_id, completed.place, completed.message_id, completed.note) == (
            "completed",
            "77",
            "key",
            "m9",
            "a new thread",
        )
        assert completed.created_at <= (completed.claimed_at or 0) <= (completed.bound_at or 0)
        assert (completed.bound_at or 0) <= (completed.finished_at or 0)
        assert await store.handoffs(session) == [completed]
        assert await session_columns(store, session) == ("completed", "telegram", None)
        assert await read_driver(store, session) == ("telegram:77", 2)

    async def test_steps_with_nothing_to_do_are_left_out(self, store: Store) -> None:
        session = await begin(store, "a")
        bound = await store.advance_handoff(
            await bring_to_state(store, session, "claimed"), "bound", note="no threads there"
        )
        assert (await store.complete_handoff(bound, message_id="m1")).message_id == "m1"

    async def test_no_step_is_made_out_of_order(self, store: Store) -> None:
        requested, claimed, bound = [
            await bring_to_state(store, await begin(store), state) for state in ("requested", "claimed", "bound")
        ]
        wrong = [
            (requested, "bound"),
            (claimed, "turn_done"),
            (claimed, "delivered"),
            (bound, "thread_ready"),
            (bound, "bound"),
        ]
        for handoff, step in wrong:
            with pytest.raises(Conflict, match=step):
                await store.advance_handoff(handoff, step)  # type: ignore[arg-type]
            assert await store.get_handoff(handoff.id) == handoff
        for handoff in (requested, claimed):
            with pytest.raises(Conflict, match="early"):
                await store.complete_handoff(handoff)

    async def test_a_step_is_made_only_from_the_state_that_was_seen(self, store: Store, again: Store) -> None:
        session = await begin(store, "a")
        claimed = await bring_to_state(store, session, "claimed")
        bound = await again.advance_handoff(claimed, "bound")
        for attempt in (
            store.advance_handoff(claimed, "thread_ready"),
            store.advance_handoff(claimed, "bound"),
            store.fail_handoff(claimed, "late"),
        ):
            with pytest.raises(Conflict, match="bound"):
                await attempt
        assert await store.get_handoff(bound.id) == bound
        assert await read_driver(store, session) == ("telegram", 2)

    async def test_one_of_two_steps_at_once_is_made(self, store: Store, again: Store) -> None:
        session = await begin(store, "a")
        claimed = await bring_to_state(store, session, "claimed")
        done = await asyncio.gather(
            store.advance_handoff(claimed, "bound"),
            again.fail_handoff(claimed, "x"),
            again.cancel_handoff(claimed.id),
            return_exceptions=True,
        )
        assert sorted(type(one).__name__ for one in done) == ["Conflict", "Conflict", "Handoff"]
        state = (await store.get_handoff(claimed.id)).state
        assert (await read_driver(store, session))[0] == ("telegram" if state == "bound" else "cli")

    async def test_who_drives_is_said_when_it_is_bound(self, store: Store) -> None:
        claimed = await bring_to_state(store, await begin(store), "claimed")
        with pytest.raises(BadInput):
            await store.advance_handoff(claimed, "thread_ready", surface="telegram")

    # the wheel
    async def test_the_wheel_moves_at_bound_and_the_giver_can_write_no_more(self, store: Store, again: Store) -> None:
        session = await begin(store, "a")
        lease = await store.lease(session, holder="me", surface="cli", seconds=EXPIRED_SECONDS)
        await bring_to_state(again, session, "bound")
        assert await read_driver(store, session) == ("telegram", 2)
        assert await collect_refusals(store, lease) == {"NotDriving"}
        with pytest.raises(NotDriving, match="telegram"):
            await store.lease(session, holder="me", surface="cli")
        with pytest.raises(NotDriving):
            await store.put_record(Record(kind="k", key="k", value=1, session=session), lease=lease)
        assert await read_contents(store, session) == ["a"]

    async def test_the_receiver_writes_from_bound_on(self, store: Store) -> None:
        session = await begin(store, "a")
        bound = await bring_to_state(store, session, "bound")
        async with hold_lease(store, session, "telegram") as lease:
            await store.append(lease, [user("here now")])
        await store.complete_handoff(await store.advance_handoff(bound, "delivered"))
        assert await read_contents(store, session) == ["a", "here now"]

    async def test_the_givers_exit_ends_nothing_once_it_was_handed_over(self, store: Store) -> None:
        session = await begin(store, "a")
        lease = await store.lease(session, holder="me", surface="cli", seconds=EXPIRED_SECONDS)
        await store.complete_handoff(await bring_to_state(store, session, "delivered"))
        assert await collect_refusals(store, lease) == {"NotDriving"}
        kept = await store.get(session)
        assert (kept.ended_at, kept.end_reason, kept.driver) == (None, None, "telegram")

    async def test_a_session_that_had_ended_goes_on_where_it_arrives(self, store: Store) -> None:
        session = await begin(store, "a")
        async with hold_lease(store, session) as lease:
            await store.end(lease, "cli_close")
        await bring_to_state(store, session, "bound")
        kept = await store.get(session)
        assert (kept.ended_at, kept.end_reason) == (None, None)

    async def test_a_wheel_that_moved_meanwhile_is_not_handed_over(self, store: Store, fresh: Fresh) -> None:
        claimed, other = await bring_to_state(store, await begin(store, "a"), "claimed"), fresh()
        await move_rows(store, other)
        row = {**(await read_table(store, "sessions"))[0], "id": "moved", "driver_fence": 9}
        hand = {**(await read_table(store, "handoffs"))[0], "id": "h_moved", "session_id": "moved"}
        await other.import_rows("sessions", [tuple(row.values())])
        await other.import_rows("handoffs", [tuple(hand.values())])
        stale = replace(claimed, id=HandoffId("h_moved"), session=SessionId("moved"))
        with pytest.raises(Conflict, match="took over"):
            await other.advance_handoff(stale, "bound")
        assert (await other.get_handoff(stale.id)).state == "claimed"

    async def test_taking_the_wheel_back_ends_the_hand_off(self, store: Store, again: Store) -> None:
        session = await begin(store, "a")
        bound = await bring_to_state(store, session, "bound")
        lease = await store.lease(session, holder="phone", surface="telegram")
        assert (await again.set_driver(session, "cli")).driver == "cli"
        assert await collect_refusals(store, lease) == {"NotDriving"}
        with pytest.raises(Conflict, match="failed"):
            await store.advance_handoff(bound, "turn_done")
        ended = await store.get_handoff(bound.id)
        assert (ended.state, ended.error_code) == ("failed", "taken_back")
        assert await session_columns(store, session) == ("failed", "telegram", "cli took over.")
        await say(store, session, "b")

    async def test_the_receiver_driving_again_ends_nothing(self, store: Store) -> None:
        session = await begin(store, "a")
        bound = await bring_to_state(store, session, "bound")
        await store.set_driver(session, "telegram")
        assert await store.get_handoff(bound.id) == bound
        await store.fail_handoff(bound, "send_failed")
        assert (await read_driver(store, session))[0] == "cli"

    # failing
    @pytest.mark.parametrize("state", ["claimed", "thread_ready"])
    async def test_failing_before_it_arrived_leaves_the_giver_as_it_was(self, store: Store, state: State) -> None:
        session = await begin(store, "a")
        failed = await store.fail_handoff(await bring_to_state(store, session, state), "no_home", "No home channel.")
        assert (failed.state, failed.error_code, failed.error) == ("failed", "no_home", "No home channel.")
        assert await session_columns(store, session) == ("failed", "telegram", "No home channel.")
        assert await read_driver(store, session) == ("cli", 1)
        await say(store, session, "b")

    @pytest.mark.parametrize("state", ["bound", "turn_done"])
    async def test_failing_before_anything_was_delivered_gives_the_wheel_back(self, store: Store, state: State) -> None:
        session = await begin(store, "a")
        handoff = await bring_to_state(store, session, state)
        lease = await store.lease(session, holder="gateway", surface="telegram")
        await store.fail_handoff(handoff, "send_failed")
        assert await read_driver(store, session) == ("cli", 3)
        assert await collect_refusals(store, lease) == {"NotDriving"}
        assert await session_columns(store, session) == ("failed", "telegram", "send_failed")
        await say(store, session, "b")

    async def test_a_wheel_in_other_hands_is_not_given_back(self, store: Store, fresh: Fresh) -> None:
        bound, other = await bring_to_state(store, await begin(store, "a"), "bound"), fresh()
        session = {**(await read_table(store, "sessions"))[0], "driver": "web"}
        await other.import_rows("sessions", [tuple(session.values())])
        await other.import_rows("handoffs", await store.export_rows("handoffs", after=None, limit=9))
        await other.fail_handoff(bound, "send_failed")
        assert await read_driver(other, bound.session) == ("web", 2)

    async def test_failing_after_the_delivery_leaves_the_wheel_there(self, store: Store) -> None:
        session = await begin(store, "a")
        await store.fail_handoff(await bring_to_state(store, session, "delivered"), "late")
        assert await read_driver(store, session) == ("telegram", 2)

    async def test_what_is_over_stays_over(self, store: Store) -> None:
        session = await begin(store, "a")
        failed = await store.fail_handoff(await bring_to_state(store, session, "claimed"), "x")
        for attempt in (
            store.fail_handoff(failed, "y"),
            store.complete_handoff(failed),
            store.cancel_handoff(failed.id),
            store.cancel_handoff(failed.id, as_="expired"),
            store.advance_handoff(failed, "bound"),
        ):
            with pytest.raises(Conflict):
                await attempt
        assert await store.claim_handoff("me", id=failed.id) is None
        assert await store.get_handoff(failed.id) == failed

    # calling it off
    async def test_waiting_too_long_ends_only_what_nobody_has_picked_up(self, store: Store) -> None:
        session, other = await begin(store, "a"), await begin(store, "b")
        ended = await store.cancel_handoff((await request(store, session)).id, as_="expired", error="Waited 60 s.")
        assert (ended.state, ended.error_code, ended.error) == ("expired", "expired", "Waited 60 s.")
        assert await session_columns(store, session) == ("failed", "telegram", "Waited 60 s.")
        await say(store, session, "b")
        claimed = await bring_to_state(store, other, "claimed")
        with pytest.raises(Conflict, match="picked up"):
            await store.cancel_handoff(claimed.id, as_="expired")
        assert await session_columns(store, other) == ("running", "telegram", None)

    async def test_a_waiter_and_an_owner_at_once_do_not_both_win(self, store: Store, again: Store) -> None:
        for _ in range(5):
            session = await begin(store)
            asked = await request(store, session)
            waited, claimed = await asyncio.gather(
                store.cancel_handoff(asked.id, as_="expired"),
                again.claim_handoff("me", id=asked.id),
                return_exceptions=True,
            )
            assert isinstance(waited, Handoff) != isinstance(claimed, Handoff)

    async def test_a_person_may_call_it_off_until_it_has_arrived(self, store: Store) -> None:
        states: tuple[State, ...] = ("requested", "claimed", "thread_ready")
        for state in states:
            session = await begin(store, "a")
            handoff = await bring_to_state(store, session, state)
            assert (await store.cancel_handoff(handoff.id)).state == "cancelled"
            assert await session_columns(store, session) == ("failed", "telegram", "cancelled")
            await say(store, session, "b")
            with pytest.raises(Conflict):
                await store.advance_handoff(handoff, "bound")
        for state in STEPS[1:]:
            session = await begin(store, "a")
            handoff = await bring_to_state(store, session, state)
            with pytest.raises(Conflict, match="late"):
                await store.cancel_handoff(handoff.id)
            assert (await read_driver(store, session))[0] == "telegram"

    # nothing is stuck
    async def test_a_request_that_nobody_picked_up_does_not_block_the_giver(self, store: Store) -> None:
        session = await begin(store, "a")
        asked = await request(store, session, seconds=EXPIRED_SECONDS)
        assert await store.list_pending_handoffs() == []
        assert await store.claim_handoff("late") is None
        await say(store, session, "b")
        assert (await store.get_handoff(asked.id)).state == "expired"
        assert (await session_columns(store, session))[0] == "failed"

    async def test_a_stale_request_makes_room_for_a_new_one(self, store: Store) -> None:
        session = await begin(store, "a")
        old = await request(store, session, seconds=EXPIRED_SECONDS)
        await request(store, session)
        assert [one.state for one in await store.handoffs(session)] == ["requested", "expired"]
        assert old.id == (await store.handoffs(session))[1].id

    async def test_stale_ones_are_swept_up(self, store: Store) -> None:
        waiting = await request(store, await begin(store))
        carried = await bring_to_state(store, await begin(store), "claimed")
        stale = await request(store, await begin(store), seconds=EXPIRED_SECONDS)
        assert [one.id for one in await store.expire_handoffs()] == [stale.id]
        assert await store.expire_handoffs() == []
        assert (await store.get_handoff(waiting.id)).state == "requested"
        assert (await store.get_handoff(carried.id)).state == "claimed"

    async def test_an_abandoned_one_past_its_time_frees_the_giver(self, store: Store) -> None:
        session = await begin(store, "a")
        asked = await request(store, session, seconds=0.05)
        claimed = await store.claim_handoff("dead", id=asked.id, seconds=EXPIRED_SECONDS)
        if claimed is not None:  # else it was too late already, which is as good
            await asyncio.sleep(0.1)
        await say(store, session, "b")
        assert (await store.get_handoff(asked.id)).state == "expired"

    @pytest.mark.parametrize("state", ["bound", "turn_done", "delivered"])
    async def test_what_has_arrived_can_always_be_finished(self, store: Store, state: State) -> None:
        session = await begin(store, "a")
        handoff = await bring_to_state(store, session, state, seconds=EXPIRED_SECONDS)
        assert await store.expire_handoffs() == []
        taken = await store.claim_handoff("alive")
        assert taken is not None
        assert (taken.id, taken.state) == (handoff.id, state)
        assert (await store.complete_handoff(taken)).state == "completed"

    async def test_a_session_whose_carrier_is_gone_can_be_deleted(self, store: Store) -> None:
        session = await begin(store, "a")
        handoff = await bring_to_state(store, session, "bound", seconds=EXPIRED_SECONDS)
        assert (await store.delete(session)).rows["handoffs"] == 1
        for attempt in (store.advance_handoff(handoff, "turn_done"), store.get_handoff(handoff.id)):
            with pytest.raises(NotFound):
                await attempt
        assert await store.claim_handoff("me") is None
