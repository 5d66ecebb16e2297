"""Contract: any number of watchers, who come and go as they like."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

import pytest

from sojourn.core.errors import NotFound
from sojourn.core.events import Chunk, Done
from sojourn.core.sessions import Recorded
from sojourn.ports.service import Service, Turn, TurnRequest
from sojourn.testing.scripted_runtime import PauseGate, SayText, ScriptedRuntime
from sojourn.testing.service_steps import (
    GUEST,
    ME,
    NOBODY,
    SECONDS,
    collect,
    ended,
    follow,
    is_chunk,
    join_chunks,
    merge_chunks,
    opened,
    talk,
    until,
)


async def paused(service: Service, runtime: ScriptedRuntime) -> Turn:
    """A turn that has said "one two " and waits for the gate."""
    session = await opened(service)
    runtime.on("count", SayText("one two "), PauseGate("go"), SayText("three four"))
    turn = await service.say(session, TurnRequest(text="count"), ME)
    await until(service, turn, is_chunk("two"))
    return turn


class ServiceWatchContract:
    async def test_a_late_joiner_gets_everything(self, service: Service, runtime: ScriptedRuntime) -> None:
        turn = await paused(service, runtime)
        early = asyncio.create_task(follow(service, turn))
        runtime.gate("go").open()
        assert merge_chunks(await follow(service, turn)) == merge_chunks(await early)
        assert join_chunks(await follow(service, turn)) == "one two three four"

    async def test_watchers_see_the_same_wherever_they_are(
        self, service: Service, again: Service, runtime: ScriptedRuntime
    ) -> None:
        turn = await paused(service, runtime)
        watching = [asyncio.create_task(follow(one, turn)) for one in (service, again, service)]
        runtime.gate("go").open()
        here, there, besides = await asyncio.gather(*watching)
        assert merge_chunks(here) == merge_chunks(there) == merge_chunks(besides)

    async def test_closing_a_watcher_stops_nothing(self, service: Service, runtime: ScriptedRuntime) -> None:
        turn = await paused(service, runtime)
        async with asyncio.timeout(SECONDS), aclosing(service.watch(turn.session)) as log:
            await anext(log)
        runtime.gate("go").open()
        assert ended(await follow(service, turn)) == ("completed", [])

    async def test_a_turn_runs_on_when_nobody_watches(self, service: Service, runtime: ScriptedRuntime) -> None:
        turn = await paused(service, runtime)
        assert await service.running(turn.session) == turn.id
        runtime.gate("go").open()
        assert join_chunks(await follow(service, turn)) == "one two three four"

    async def test_one_who_comes_back_after_each_item_sees_what_one_who_stayed_sees(
        self, service: Service, runtime: ScriptedRuntime
    ) -> None:
        turn = await paused(service, runtime)
        stayed = asyncio.create_task(follow(service, turn))
        runtime.gate("go").open()
        seen: list[Recorded] = []
        while not seen or not isinstance(seen[-1].item, Done):
            after = seen[-1].seq if seen else turn.after
            seen += await collect(service, turn.session, lambda _: True, after=after)
        assert merge_chunks(seen) == merge_chunks(await stayed)

    async def test_any_point_one_comes_back_to_later_yields_the_same_text(
        self, service: Service, again: Service, runtime: ScriptedRuntime
    ) -> None:
        turn = await paused(service, runtime)
        staying = asyncio.create_task(follow(service, turn))
        await until(again, turn, is_chunk("two"))
        runtime.gate("go").open()
        stayed = await staying
        for one in stayed[:-1]:
            seen = [kept for kept in stayed if kept.seq <= one.seq]
            rest = await collect(again, turn.session, lambda kept: isinstance(kept.item, Done), after=one.seq)
            assert merge_chunks([*seen, *rest]) == merge_chunks(stayed)

    async def test_a_turn_that_is_over_has_one_chunk_for_a_run_of_them(
        self, service: Service, runtime: ScriptedRuntime
    ) -> None:
        turn = await paused(service, runtime)
        runtime.gate("go").open()
        stayed = await follow(service, turn)
        kept = await follow(service, turn)
        chunks = [one for one in kept if isinstance(one.item, Chunk)]
        assert len(chunks) < len(join_chunks(stayed).split())
        assert max(one.seq for one in chunks) == max(one.seq for one in stayed if isinstance(one.item, Chunk))

    async def test_watching_a_session_that_is_not_there_says_so(self, service: Service) -> None:
        with pytest.raises(NotFound):
            await collect(service, NOBODY, lambda _: True)

    async def test_a_guest_does_not_see_what_belongs_to_the_owner(self, service: Service) -> None:
        session = await opened(service)
        await talk(service, session, "secret")
        with pytest.raises(NotFound):
            async with aclosing(service.watch(session, principal=GUEST.principal)) as log:
                await anext(log)
        with pytest.raises(NotFound):
            await service.messages(session, principal=GUEST.principal)
        with pytest.raises(NotFound):
            await service.say(session, TurnRequest(text="hello"), GUEST)
