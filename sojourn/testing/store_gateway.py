"""Contract: heartbeats of gateways, credential holds, and wake-ups of watchers."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Awaitable, Callable

import pytest

from sojourn.core.errors import LeaseLost
from sojourn.ports.gateway_store import Heartbeat, Topic
from sojourn.ports.store import Store
from sojourn.testing.store_bindings import BindingsContract
from sojourn.testing.store_inbox import EXPIRED_SECONDS, HOME, InboxContract, claim_one, receive
from sojourn.testing.store_maintenance import move_rows
from sojourn.testing.store_outbox import OutboxContract, claim_one_outgoing, put_drafts
from sojourn.testing.store_secrets import KEY
from sojourn.testing.store_steps import ODD, Fresh, begin


async def expect_wakeup(bell: AsyncGenerator[None, None], seconds: float = 1.5) -> None:
    async with asyncio.timeout(seconds):
        await anext(bell)


class HeartbeatsContract:
    """A gateway is alive while it sends heartbeats; a credential has one holder."""

    async def test_a_gateway_is_seen_while_it_beats(self, store: Store, again: Store) -> None:
        health = {"telegram": {"last_received": 1.5, "oldest_waiting": None}}
        first = await store.heartbeat(Heartbeat(id="g1", host="laptop", pid=4711, health=health), seconds=60)
        assert (first.id, first.host, first.pid, first.health) == ("g1", "laptop", 4711, health)
        assert first.until == pytest.approx(first.beat_at + 60)
        second = await again.heartbeat(Heartbeat(id="g1", host="laptop", pid=4712))
        assert (second.started_at, second.pid, second.health) == (first.started_at, 4712, {})
        assert await store.gateways() == [second]

    async def test_a_gateway_that_stopped_beating_is_not_alive(self, store: Store) -> None:
        await store.heartbeat(Heartbeat(id="dead"), seconds=EXPIRED_SECONDS)
        alive = await store.heartbeat(Heartbeat(id="alive"))
        assert await store.gateways() == [alive]
        assert [one.id for one in await store.gateways(alive=False)] == ["alive", "dead"]

    async def test_a_gateway_says_goodbye(self, store: Store) -> None:
        await store.heartbeat(Heartbeat(id="g1"))
        assert await store.retire_gateway("g1") is True
        assert await store.retire_gateway("g1") is False
        assert await store.gateways(alive=False) == []

    async def test_odd_characters_and_secrets_in_a_heartbeat(self, store: Store) -> None:
        kept = await store.heartbeat(Heartbeat(id=ODD, host=ODD, health={ODD: f"{KEY} {ODD}"}))
        assert (kept.id, kept.host, kept.health) == (ODD, ODD, {ODD: f"[redacted:api-key] {ODD}"})
        assert await store.gateways() == [kept]

    # credentials
    async def test_a_credential_is_held_by_one_at_a_time(self, store: Store, again: Store) -> None:
        held = await store.lease_credential("telegram:hash", "g1")
        assert held is not None
        assert (held.credential, held.owner, held.fence) == ("telegram:hash", "g1", 1)
        assert await again.lease_credential("telegram:hash", "g2") is None
        assert await store.lease_credential("telegram:other", "g2") is not None

    async def test_a_credential_fails_over_when_its_holder_is_gone(self, store: Store, again: Store) -> None:
        old = await store.lease_credential("c", "g1", seconds=EXPIRED_SECONDS)
        assert old is not None
        new = await again.lease_credential("c", "g2")
        assert new is not None
        assert (new.owner, new.fence) == ("g2", 2)
        with pytest.raises(LeaseLost):
            await store.renew_credential(old)
        assert await store.lease_credential("c", "g1") is None

    async def test_a_holder_renews_and_lets_go(self, store: Store) -> None:
        held = await store.lease_credential("c", "g1", seconds=1)
        assert held is not None
        renewed = await store.renew_credential(held, seconds=60)
        assert renewed.until > held.until
        assert renewed.fence == held.fence
        same = await store.lease_credential("c", "g1")
        assert same is not None
        assert same.fence == held.fence
        await store.renew_credential(same, seconds=0)
        other = await store.lease_credential("c", "g2")
        assert other is not None
        assert other.fence == 2

    async def test_one_of_many_who_want_a_credential_has_it(self, store: Store, again: Store) -> None:
        tries = [one.lease_credential("c", f"{n}") for n, one in enumerate([store, again] * 4)]
        assert sum(one is not None for one in await asyncio.gather(*tries)) == 1

    # how the lines get on
    async def test_health_is_progress(self, store: Store) -> None:
        await receive(store, "m1", "m2")
        await receive(store, "x", place="x", platform="matrix")
        await store.finish_incoming(await claim_one(store), "failed")
        await put_drafts(store, "k1", "k2")
        sent = await store.finish_outgoing(await claim_one_outgoing(store))
        matrix, telegram = await store.line_health()
        assert (matrix.platform, matrix.account, matrix.waiting, matrix.pending) == ("matrix", "bot", 1, 0)
        assert (matrix.last_sent, matrix.oldest_pending) == (None, None)
        assert (telegram.waiting, telegram.pending, telegram.failed) == (1, 1, 1)
        assert telegram.last_sent == sent.sent_at
        [first, second] = await store.incoming(place=HOME)
        assert (telegram.oldest_waiting, telegram.last_received) == (second.received_at, second.received_at)
        assert first.state == "failed"

    async def test_old_rows_are_pruned_and_open_ones_stay(self, store: Store) -> None:
        await receive(store, "done", "waiting")
        await store.finish_incoming(await claim_one(store))
        await put_drafts(store, "sent", "pending")
        await store.finish_outgoing(await claim_one_outgoing(store))
        await store.heartbeat(Heartbeat(id="dead"), seconds=-7200)
        await store.heartbeat(Heartbeat(id="alive"))
        assert await store.prune_journal(time.time() - 3600) == 1
        assert await store.prune_journal(time.time() + 3600) == 3
        assert [one.message_id for one in await store.incoming()] == ["waiting"]
        assert [one.key for one in await store.outgoing()] == ["pending"]


class WakeupsContract:
    """A watcher is woken by every process, and polls in case a notification is lost."""

    async def test_a_watcher_is_called_at_once_and_then_when_something_comes(self, store: Store, again: Store) -> None:
        other, sessions = again, [await begin(store) for _ in range(5)]
        steps: list[tuple[Topic, Callable[[int], Awaitable[object]]]] = [
            ("inbox", lambda n: receive(other, f"m{n}")),
            ("outbox", lambda n: put_drafts(other, f"k{n}")),
            ("gateways", lambda n: other.heartbeat(Heartbeat(id=f"g{n}"))),
            ("bindings", lambda n: other.bind(HOME, sessions[n])),
        ]
        for topic, step in steps:
            bell = store.watch_gateway(topic, seconds=30)
            await expect_wakeup(bell)
            begun = time.monotonic()
            for n in range(5):  # a bell may ring once by itself when it is hung up; five times only if it is rung
                waiting = asyncio.ensure_future(expect_wakeup(bell))
                await asyncio.sleep(0)
                await step(n)
                await waiting
            assert time.monotonic() - begun < 3, "it was not rung: somebody looked by himself"
            await bell.aclose()

    async def test_what_comes_while_a_watcher_is_busy_is_told_when_it_is_back(self, store: Store) -> None:
        bell = store.watch_gateway("inbox", seconds=30)
        await expect_wakeup(bell)
        await receive(store, "m1")
        await expect_wakeup(bell)
        await bell.aclose()

    async def test_a_watcher_of_everything_hears_everything(self, store: Store) -> None:
        bell = store.watch_gateway(seconds=30)
        await expect_wakeup(bell)
        for step in (receive(store, "m1"), put_drafts(store, "k1"), store.heartbeat(Heartbeat(id="g1"))):
            await step
            await expect_wakeup(bell)
        await bell.aclose()

    async def test_a_watcher_looks_now_and_then_although_nobody_rang(self, store: Store) -> None:
        bell = store.watch_gateway(seconds=0.05)
        for _ in range(3):
            await expect_wakeup(bell)
        await bell.aclose()

    async def test_a_credential_that_is_free_again_is_rung(self, store: Store, again: Store) -> None:
        held = await store.lease_credential("c", "g1")
        assert held is not None
        bell = again.watch_gateway("gateways", seconds=30)
        await expect_wakeup(bell)
        waiting = asyncio.ensure_future(expect_wakeup(bell))
        await asyncio.sleep(0.05)
        await store.renew_credential(held, seconds=0)
        await waiting
        await bell.aclose()

    async def test_the_journal_is_no_change_of_a_session(self, store: Store) -> None:
        session = await begin(store)
        before = await store.last_change()
        await receive(store, "m1")
        await store.update_incoming(await claim_one(store), session=session)
        await put_drafts(store, "k1")
        await store.heartbeat(Heartbeat(id="g1"))
        assert await store.changes(after=before) == []

    async def test_a_moved_journal_goes_on_and_running_processes_stay_behind(self, store: Store, fresh: Fresh) -> None:
        other = fresh()
        await receive(store, "m1", "m2")
        await put_drafts(store, "k1")
        item = await claim_one(store)
        await store.heartbeat(Heartbeat(id="g1"))
        await store.lease_credential("c", "g1")
        await move_rows(store, other)
        assert await other.gateways(alive=False) == []
        assert await other.lease_credential("c", "g2") is not None
        assert await receive(other, "m1") == []
        await other.finish_incoming(item)
        [late] = await receive(other, "m3")
        assert late.id > item.id
        assert [one.message_id for one in await other.claim_incoming("me")] == ["m2"]


class GatewayStoreContract(InboxContract, OutboxContract, BindingsContract, HeartbeatsContract, WakeupsContract):
    """All parts of the gateway's journal."""
