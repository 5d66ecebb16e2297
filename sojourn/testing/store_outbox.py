"""Contract: outbox. A message is stored before it is sent, sent once and in order; a possible duplicate is marked."""

from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from sojourn.core.errors import BadInput, LeaseLost, NotFound
from sojourn.ports.gateway_store import Outgoing, OutgoingDraft
from sojourn.ports.store import Store
from sojourn.testing.store_secrets import KEY, find_traces
from sojourn.testing.store_steps import NOBODY, ODD, begin, dump
from sojourn.text.redaction import mark_identifiers

EXPIRED_SECONDS = -1.0
HOME = "telegram:dm:1"


def make_draft(key: str, place: str = HOME, **fields: object) -> OutgoingDraft:
    words = {"text": f"words of {key}"}
    made = OutgoingDraft(key=key, platform="telegram", account="bot", place=place, payload=words)
    return replace(made, **fields)  # type: ignore[arg-type]


async def put_drafts(store: Store, *keys: str, place: str = HOME) -> list[Outgoing]:
    return await store.put_outgoing([make_draft(key, place) for key in keys])


async def claim_one_outgoing(store: Store, owner: str = "me", seconds: float = 60.0) -> Outgoing:
    [item] = await store.claim_outgoing(owner, seconds=seconds)
    return item


class OutboxContract:
    """pending → sending → sent → delivered | failed."""

    async def test_drafts_are_kept_in_their_order(self, store: Store, again: Store) -> None:
        session = await begin(store)
        one, two = await store.put_outgoing([make_draft("k1", session=session), make_draft("k2")])
        assert (one.key, one.platform, one.account, one.place, one.payload, one.session, one.state) == (
            "k1",
            "telegram",
            "bot",
            HOME,
            {"text": "words of k1"},
            session,
            "pending",
        )
        assert one.id < two.id
        assert (one.attempts, one.possible_duplicate, one.message_id, one.sent_at) == (0, False, "", None)
        assert await again.outgoing() == [one, two]
        assert await store.outgoing(newest=True, limit=1) == [two]
        assert await store.put_outgoing([]) == []

    async def test_the_same_key_is_put_once(self, store: Store, again: Store) -> None:
        [first] = await put_drafts(store, "k1")
        sent = await store.finish_outgoing(await claim_one_outgoing(store), message_id="m1")
        assert await again.put_outgoing([make_draft("k1", payload="other"), make_draft("k1")]) == [sent, sent]
        assert sent.id == first.id
        assert await store.claim_outgoing("me") == []

    async def test_many_who_put_the_same_key_at_once_put_one(self, store: Store, again: Store) -> None:
        done = await asyncio.gather(*(put_drafts(one, "k1") for one in (store, again) for _ in range(4)))
        assert len({one.id for [one] in done}) == 1
        assert len(await store.outgoing()) == 1

    async def test_all_drafts_are_kept_or_none(self, store: Store) -> None:
        with pytest.raises(NotFound):
            await store.put_outgoing([make_draft("k1"), make_draft("k2", session=NOBODY)])
        with pytest.raises(BadInput):
            await store.put_outgoing([make_draft("k1"), make_draft("k2", payload=b"x")])
        assert await store.outgoing() == []

    async def test_odd_characters_and_secrets_in_a_draft(self, store: Store) -> None:
        odd = OutgoingDraft(key=ODD, platform=ODD, account=ODD, place=ODD, payload=f"{KEY} {ODD}")
        [kept] = await store.put_outgoing([odd])
        assert (kept.key, kept.platform, kept.account, kept.place) == (ODD,) * 4
        assert kept.payload == f"[redacted:api-key] {ODD}"
        [item] = await store.claim_outgoing(ODD, lines=[(ODD, ODD)])
        done = await store.finish_outgoing(item, message_id=ODD, error=f"{KEY} {ODD}")
        assert (item.owner, done.message_id, done.error) == (ODD, ODD, f"[redacted:api-key] {ODD}")
        assert await find_traces(store, "Ab1Ab1") == []

    async def test_an_address_that_looks_like_a_key_is_kept(self, store: Store) -> None:
        address = {"chat": f"!{KEY}", f"${KEY}": [KEY]}
        payload = {"place": mark_identifiers(address), "text": KEY}
        [kept] = await store.put_outgoing([make_draft("k1", payload=payload)])
        assert kept.payload == {"place": address, "text": "[redacted:api-key]"}

    # the way out
    async def test_the_way_of_a_message(self, store: Store, again: Store) -> None:
        await put_drafts(store, "k1")
        sending = await claim_one_outgoing(again, "gateway")
        assert (sending.state, sending.owner, sending.fence, sending.attempts) == ("sending", "gateway", 1, 1)
        sent = await store.finish_outgoing(await store.renew_outgoing(sending), message_id="m7")
        assert (sent.state, sent.message_id, sent.owner, sent.possible_duplicate) == ("sent", "m7", "", False)
        assert sent.sent_at is not None
        delivered = await store.finish_outgoing(sent, "delivered")
        assert (delivered.state, delivered.message_id, delivered.sent_at) == ("delivered", "m7", sent.sent_at)
        assert delivered.finished_at is not None

    async def test_a_message_may_be_delivered_at_once(self, store: Store) -> None:
        await put_drafts(store, "k1")
        done = await store.finish_outgoing(await claim_one_outgoing(store), "delivered", message_id="m1")
        assert (done.state, done.sent_at) == ("delivered", done.finished_at)

    async def test_each_place_keeps_its_order_and_waits_for_its_first(self, store: Store) -> None:
        await put_drafts(store, "a1", "a2", place="a")
        await put_drafts(store, "b1", place="b")
        first = await store.claim_outgoing("me", limit=9)
        assert [one.key for one in first] == ["a1", "b1"]
        assert await store.claim_outgoing("other", limit=9) == []
        await store.release_outgoing(first[0], seconds=60, error="rate limit")
        assert await store.claim_outgoing("me", limit=9) == []
        await store.finish_outgoing(first[1])
        assert await store.claim_outgoing("me", limit=9) == []

    @pytest.mark.parametrize("state", ["sent", "delivered", "failed"])
    async def test_what_is_over_frees_its_place(self, store: Store, state: str) -> None:
        await put_drafts(store, "k1", "k2")
        await store.finish_outgoing(await claim_one_outgoing(store), state)  # type: ignore[arg-type]
        assert (await claim_one_outgoing(store)).key == "k2"

    async def test_only_lines_that_are_served_are_claimed(self, store: Store) -> None:
        await store.put_outgoing([make_draft("k1"), make_draft("k2", account="other", place="x")])
        assert await store.claim_outgoing("me", lines=[]) == []
        assert await store.claim_outgoing("me", lines=[("matrix", "bot")]) == []
        assert [one.key for one in await store.claim_outgoing("me", lines=[("telegram", "other")], limit=9)] == ["k2"]

    async def test_each_is_claimed_by_exactly_one_of_many(self, store: Store, again: Store) -> None:
        for place in range(8):
            await put_drafts(store, f"{place}", place=f"p{place}")
        claims = [one.claim_outgoing(f"{n}", limit=2) for n in range(4) for one in (store, again)]
        taken = [item.key for some in await asyncio.gather(*claims) for item in some]
        while more := await store.claim_outgoing("last", limit=9):  # those somebody held just then
            taken += [item.key for item in more]
        assert sorted(taken) == [str(place) for place in range(8)]

    # trying again
    async def test_what_the_platform_refused_is_tried_again_and_is_no_duplicate(self, store: Store) -> None:
        await put_drafts(store, "k1")
        released = await store.release_outgoing(await claim_one_outgoing(store), seconds=0, error="flood")
        assert (released.state, released.error, released.possible_duplicate) == ("pending", "flood", False)
        again = await claim_one_outgoing(store)
        assert (again.attempts, again.possible_duplicate) == (2, False)

    async def test_a_time_to_wait_is_respected(self, store: Store) -> None:
        await put_drafts(store, "k1")
        released = await store.release_outgoing(await claim_one_outgoing(store), seconds=60)
        assert released.next_try_at > released.created_at + 50
        assert await store.claim_outgoing("me") == []

    async def test_an_answer_that_never_came_makes_a_possible_duplicate(self, store: Store) -> None:
        await put_drafts(store, "k1")
        await store.release_outgoing(await claim_one_outgoing(store), seconds=0, error="timed out", maybe_sent=True)
        again = await claim_one_outgoing(store)
        assert again.possible_duplicate
        assert (await store.finish_outgoing(again, message_id="m2")).possible_duplicate

    async def test_a_sender_that_died_leaves_a_possible_duplicate(self, store: Store, again: Store) -> None:
        await put_drafts(store, "k1", "k2")
        dead = await claim_one_outgoing(store, "dead", EXPIRED_SECONDS)
        [taken] = await again.claim_outgoing("heir", limit=9)
        assert (taken.key, taken.possible_duplicate, taken.attempts, taken.fence) == ("k1", True, 2, 2)
        for attempt in (
            store.finish_outgoing(dead),
            store.renew_outgoing(dead),
            store.release_outgoing(dead, seconds=0),
            store.finish_outgoing(dead, "delivered"),
        ):
            with pytest.raises(LeaseLost, match="heir"):
                await attempt

    async def test_a_sender_whose_time_ran_out_is_good_while_nobody_took_it(self, store: Store) -> None:
        await put_drafts(store, "k1")
        item = await store.renew_outgoing(await claim_one_outgoing(store, seconds=EXPIRED_SECONDS))
        assert await store.claim_outgoing("other") == []
        assert not (await store.finish_outgoing(item)).possible_duplicate

    async def test_what_was_sent_is_not_sent_again(self, store: Store) -> None:
        await put_drafts(store, "k1")
        item = await claim_one_outgoing(store)
        sent = await store.finish_outgoing(item)
        for attempt in (
            store.finish_outgoing(item),
            store.finish_outgoing(item, "failed"),
            store.release_outgoing(item, seconds=0),
            store.finish_outgoing(sent),
            store.finish_outgoing(sent, "failed"),
            store.renew_outgoing(sent),
        ):
            with pytest.raises(LeaseLost, match="sent"):
                await attempt
        assert await store.claim_outgoing("me") == []

    # keeping
    async def test_the_outbox_is_listed_by_place_session_and_state(self, store: Store) -> None:
        session = await begin(store)
        await store.put_outgoing([make_draft("k1", session=session), make_draft("k2", place="b")])
        await claim_one_outgoing(store)
        assert [one.key for one in await store.outgoing(session=session)] == ["k1"]
        assert [one.key for one in await store.outgoing(place="b")] == ["k2"]
        assert [one.key for one in await store.outgoing(states=["sending"])] == ["k1"]
        assert [one.key for one in await store.outgoing(limit=1)] == ["k1"]

    async def test_what_was_to_be_sent_goes_with_its_session(self, store: Store) -> None:
        session = await begin(store)
        await store.put_outgoing([make_draft("canary", session=session), make_draft("other")])
        item = await claim_one_outgoing(store)
        assert (await store.delete(session)).rows["outbox"] == 1
        assert "canary" not in repr(await dump(store))
        with pytest.raises(NotFound):
            await store.finish_outgoing(item)
        assert (await claim_one_outgoing(store)).key == "other"
