"""Contract: inbox. A message is stored before it is acknowledged, and handled once, in order of its place.

Negative seconds mean a lease in the past: its owner is dead.
"""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from sojourn.core.errors import BadInput, LeaseLost, NotFound
from sojourn.core.sessions import TurnId
from sojourn.ports.gateway_store import Incoming, OutgoingDraft
from sojourn.ports.platform import File
from sojourn.ports.store import Store
from sojourn.testing.store_secrets import KEY, find_traces
from sojourn.testing.store_steps import NOBODY, ODD, begin, dump

EXPIRED_SECONDS = -1.0
HOME = "telegram:dm:1"


async def receive(store: Store, *names: str, place: str = HOME, platform: str = "telegram") -> list[Incoming]:
    """Stores messages with these ids, in this order."""
    kept = [
        await store.add_incoming(platform, "bot", name, place=place, payload={"text": f"words of {name}"})
        for name in names
    ]
    return [one for one in kept if one is not None]


async def claim_one(store: Store, owner: str = "me", seconds: float = 60.0) -> Incoming:
    [item] = await store.claim_incoming(owner, seconds=seconds)
    return item


class InboxContract:
    """waiting → running → done | failed."""

    async def test_a_message_is_kept_as_it_came(self, store: Store, again: Store) -> None:
        kept = await store.add_incoming("telegram", "bot", "m1", place=HOME, payload={"text": "hello", "n": [1]})
        assert kept is not None
        assert (kept.platform, kept.account, kept.message_id, kept.place, kept.payload, kept.state) == (
            "telegram",
            "bot",
            "m1",
            HOME,
            {"text": "hello", "n": [1]},
            "waiting",
        )
        assert kept.received_at > 0
        assert await again.incoming() == [kept]

    async def test_a_message_that_comes_again_is_kept_once(self, store: Store, again: Store) -> None:
        [first] = await receive(store, "m1")
        assert await receive(again, "m1") == []
        await store.finish_incoming(await claim_one(store))
        assert await receive(store, "m1", place="elsewhere") == []
        assert [one.id for one in await store.incoming()] == [first.id]
        other = [("telegram", "bot2"), ("matrix", "bot")]
        for platform, account in other:
            assert await store.add_incoming(platform, account, "m1", place=HOME, payload=None)

    async def test_one_of_many_who_keep_the_same_message_at_once_has_it(self, store: Store, again: Store) -> None:
        kept = await asyncio.gather(*(receive(one, "m1") for one in (store, again) for _ in range(4)))
        assert sorted(len(one) for one in kept) == [0] * 7 + [1]

    async def test_what_is_no_json_is_not_kept(self, store: Store) -> None:
        with pytest.raises(BadInput):
            await store.add_incoming("telegram", "bot", "m1", place=HOME, payload=b"bytes")
        assert await store.incoming() == []

    async def test_odd_characters_and_secrets_in_a_message(self, store: Store) -> None:
        kept = await store.add_incoming(ODD, ODD, ODD, place=ODD, payload={ODD: f"{KEY} {ODD}"})
        assert kept is not None
        assert (kept.platform, kept.account, kept.message_id, kept.place) == (ODD,) * 4
        assert kept.payload == {ODD: f"[redacted:api-key] {ODD}"}
        assert await store.add_incoming(ODD, ODD, ODD, place=ODD, payload=None) is None
        [taken] = await store.claim_incoming(ODD, lines=[(ODD, ODD)], place=ODD)
        failed = await store.finish_incoming(taken, "failed", error=f"{KEY} {ODD}")
        assert (taken.owner, failed.error) == (ODD, f"[redacted:api-key] {ODD}")
        assert await find_traces(store, "Ab1Ab1") == []

    async def test_an_answer_is_stored_with_the_end_of_its_message_or_not_at_all(self, store: Store) -> None:
        await receive(store, "m1")
        item = await claim_one(store)
        answer = OutgoingDraft(key="m1/answer", platform="telegram", account="bot", place=HOME, payload="words")
        with pytest.raises(LeaseLost):
            await store.answer_incoming(replace(item, fence=0), [answer], TurnId("t_1"))
        assert await store.outgoing() == []
        done = await store.answer_incoming(item, [answer], TurnId("t_1"))
        assert (done.state, done.turn, [one.key for one in await store.outgoing()]) == ("done", "t_1", ["m1/answer"])

    # files
    async def test_files_come_along_as_they_are_until_the_message_is_done(self, store: Store, again: Store) -> None:
        files = [
            File(name=ODD, media_type="image/png", data=bytes(range(256)) * 50),
            File(name="empty", media_type=ODD, data=b""),
            File(name="key.txt", media_type="text/plain", data=KEY.encode()),
        ]
        kept = await store.add_incoming("telegram", "bot", "m1", place=HOME, payload=None, files=files)
        assert kept is not None
        assert await store.add_incoming("telegram", "bot", "m1", place=HOME, payload=None, files=files) is None
        item = await claim_one(again)
        assert await again.incoming_files(item) == tuple(files)
        await store.finish_incoming(item)
        assert await store.incoming_files(item) == ()

    async def test_files_go_with_their_message(self, store: Store) -> None:
        session = await begin(store)
        for name in ("m1", "m2"):
            file = File(name="f", media_type="text/plain", data=b"canary " + name.encode())
            await store.add_incoming("telegram", "bot", name, place=name, payload=None, files=[file])
        one, two = await store.claim_incoming("me", limit=2)
        await store.update_incoming(one, session=session)
        await store.forget(session)
        assert await store.incoming_files(one) == ()
        failed = await store.finish_incoming(two, "failed")
        assert [file.data for file in await store.incoming_files(two)] == [b"canary m2"]
        await store.prune_journal((failed.finished_at or 0) + 1)
        assert "canary" not in repr(await dump(store))

    # claiming
    async def test_a_claim_has_an_owner_and_a_number(self, store: Store, again: Store) -> None:
        [kept] = await receive(store, "m1")
        taken = await claim_one(again, "gateway 1")
        assert (taken.id, taken.state, taken.owner, taken.fence, taken.attempts) == (
            kept.id,
            "running",
            "gateway 1",
            1,
            1,
        )
        assert taken.until > kept.received_at
        assert await store.claim_incoming("gateway 2") == []

    async def test_nothing_waits_in_an_empty_inbox(self, store: Store) -> None:
        assert await store.claim_incoming("me") == await store.claim_incoming("me", limit=0) == []

    async def test_a_place_is_worked_on_in_order_one_at_a_time(self, store: Store) -> None:
        await receive(store, "a1", "a2", place="a")
        await receive(store, "b1", place="b")
        first = await store.claim_incoming("me", limit=9)
        assert [one.message_id for one in first] == ["a1", "b1"]
        assert await store.claim_incoming("me", limit=9) == []
        await store.finish_incoming(first[0])
        assert [one.message_id for one in await store.claim_incoming("me", limit=9)] == ["a2"]

    async def test_the_oldest_come_first_and_no_more_than_asked_for(self, store: Store) -> None:
        for place in "abcd":
            await receive(store, place, place=place)
        assert [one.message_id for one in await store.claim_incoming("me", limit=3)] == ["a", "b", "c"]

    async def test_only_lines_and_places_that_are_served_are_claimed(self, store: Store) -> None:
        await receive(store, "t", place="t")
        await receive(store, "m", place="m", platform="matrix")
        assert await store.claim_incoming("me", lines=[]) == []
        assert await store.claim_incoming("me", lines=[("telegram", "other"), ("slack", "bot")], limit=9) == []
        assert await store.claim_incoming("me", place="nowhere") == []
        lines = [("slack", "x"), ("matrix", "bot")]
        assert [one.message_id for one in await store.claim_incoming("me", lines=lines, limit=9)] == ["m"]
        assert [one.message_id for one in await store.claim_incoming("me", place="t", limit=9)] == ["t"]

    async def test_what_waits_behind_a_running_one_can_be_taken_ahead(self, store: Store) -> None:
        await receive(store, "m1", "m2", "m3")
        running = await claim_one(store)
        [steer] = await store.claim_incoming("me", place=HOME, out_of_turn=True)
        assert steer.message_id == "m2"
        await store.finish_incoming(steer)
        assert await store.claim_incoming("me") == []
        await store.finish_incoming(running)
        assert (await claim_one(store)).message_id == "m3"

    async def test_no_message_is_claimed_twice_by_many_at_once(self, store: Store, again: Store) -> None:
        for place in range(6):
            await receive(store, f"{place}.1", f"{place}.2", place=f"p{place}")

        async def work(one: Store, owner: str) -> list[str]:
            done: list[str] = []
            for _ in range(60):
                for item in await one.claim_incoming(owner, limit=2):
                    done.append(item.message_id)
                    await one.finish_incoming(item)
            return done

        done = await asyncio.gather(*(work(one, f"{n}") for n in range(3) for one in (store, again)))
        every = [name for some in done for name in some]
        assert sorted(every) == sorted(f"{place}.{n}" for place in range(6) for n in (1, 2))

    async def test_one_place_is_never_worked_on_by_two_at_once(self, store: Store, again: Store) -> None:
        await receive(store, *(f"m{n}" for n in range(12)))
        at_work, seen = 0, list[str]()

        async def work(one: Store, owner: str) -> None:
            nonlocal at_work
            while len(seen) < 12:
                await asyncio.sleep(0)  # the other claimers get their turn
                for item in await one.claim_incoming(owner, limit=3):
                    at_work += 1
                    assert at_work == 1
                    seen.append(item.message_id)
                    await asyncio.sleep(0)
                    at_work -= 1
                    await one.finish_incoming(item)

        async with asyncio.timeout(20):
            await asyncio.gather(*(work(one, f"{n}") for n in range(3) for one in (store, again)))
        assert seen == [f"m{n}" for n in range(12)]

    # owners that die
    async def test_what_a_dead_owner_left_is_taken_up_with_what_is_known_of_it(
        self, store: Store, again: Store
    ) -> None:
        session = await begin(store)
        await receive(store, "m1", "m2")
        left = await store.update_incoming(await claim_one(store, "dead"), session=session, turn=TurnId("t_1"))
        assert await again.claim_incoming("early") == []
        left = await store.update_incoming(left, seconds=EXPIRED_SECONDS)
        [taken] = await again.claim_incoming("heir", limit=9)
        assert (taken.message_id, taken.owner, taken.fence, taken.attempts) == ("m1", "heir", 2, 2)
        assert (taken.session, taken.turn) == (session, "t_1")

    async def test_an_owner_that_was_given_up_cannot_go_on(self, store: Store) -> None:
        await receive(store, "m1")
        left = await claim_one(store, "dead", EXPIRED_SECONDS)
        taken = await claim_one(store, "heir")
        for attempt in (
            store.update_incoming(left),
            store.finish_incoming(left),
            store.release_incoming(left),
            store.finish_incoming(replace(left, fence=0)),
        ):
            with pytest.raises(LeaseLost, match="heir"):
                await attempt
        assert (await store.finish_incoming(taken)).state == "done"

    async def test_an_owner_whose_time_ran_out_is_good_while_nobody_took_it(self, store: Store) -> None:
        await receive(store, "m1")
        item = await store.update_incoming(await claim_one(store, seconds=EXPIRED_SECONDS), seconds=60)
        assert await store.claim_incoming("other") == []
        assert (await store.finish_incoming(item)).state == "done"

    async def test_what_is_done_is_not_done_again(self, store: Store) -> None:
        await receive(store, "m1")
        item = await claim_one(store)
        done = await store.finish_incoming(item)
        assert (done.state, done.owner, done.until) == ("done", "", 0.0)
        assert done.finished_at is not None
        for attempt in (
            store.finish_incoming(item, "failed"),
            store.release_incoming(item),
            store.update_incoming(item),
        ):
            with pytest.raises(LeaseLost, match="done"):
                await attempt
        assert await store.claim_incoming("me") == []

    # letting go
    async def test_what_is_let_go_waits_again_in_its_place(self, store: Store) -> None:
        await receive(store, "m1", "m2")
        released = await store.release_incoming(await claim_one(store), error="busy")
        assert (released.state, released.owner, released.error) == ("waiting", "", "busy")
        taken = await claim_one(store, "other")
        assert (taken.message_id, taken.attempts, taken.fence) == ("m1", 2, 2)

    async def test_what_is_to_wait_longer_keeps_its_place_waiting(self, store: Store) -> None:
        await receive(store, "m1", "m2")
        await store.release_incoming(await claim_one(store), seconds=60)
        assert await store.claim_incoming("me", limit=9) == []
        await receive(store, "b", place="another")
        assert [one.message_id for one in await store.claim_incoming("me", limit=9)] == ["b"]

    async def test_a_failed_message_frees_its_place(self, store: Store) -> None:
        await receive(store, "m1", "m2")
        failed = await store.finish_incoming(await claim_one(store), "failed", error="It broke.")
        assert (failed.state, failed.error) == ("failed", "It broke.")
        assert (await claim_one(store)).message_id == "m2"

    # reading
    async def test_the_inbox_is_listed_by_place_session_and_state(self, store: Store) -> None:
        session = await begin(store)
        await receive(store, "a1", "a2", place="a")
        await receive(store, "b1", place="b")
        await store.update_incoming(await claim_one(store), session=session)

        async def names(**asked: object) -> list[str]:
            return [one.message_id for one in await store.incoming(**asked)]  # type: ignore[arg-type]

        assert await names() == ["a1", "a2", "b1"]
        assert await names(limit=2) == ["a1", "a2"]
        assert await names(place="a") == ["a1", "a2"]
        assert await names(session=session) == ["a1"]
        assert await names(states=["waiting"]) == ["a2", "b1"]
        assert await names(states=["running", "done"], place="b") == []

    async def test_messages_go_with_the_session_they_became(self, store: Store) -> None:
        session = await begin(store)
        await receive(store, "canary", "other")
        item = await store.update_incoming(await claim_one(store), session=session)
        assert (await store.delete(session)).rows["inbox"] == 1
        assert "canary" not in repr(await dump(store))
        with pytest.raises(NotFound):
            await store.finish_incoming(item)
        assert (await claim_one(store)).message_id == "other"
        assert (await store.verify()).clean

    async def test_a_message_becomes_no_session_that_is_not_there(self, store: Store) -> None:
        await receive(store, "m1")
        item = await claim_one(store)
        with pytest.raises(NotFound):
            await store.update_incoming(item, session=NOBODY)
        assert (await store.finish_incoming(item)).session is None
