"""Contract: one turn at a time, and one surface that drives."""

from __future__ import annotations

import asyncio

import pytest

from sojourn.core.errors import NotDriving, SessionBusy
from sojourn.core.events import Progress
from sojourn.ports.service import Service, Turn, TurnRequest
from sojourn.testing.scripted_runtime import PauseGate, SayText, ScriptedRuntime
from sojourn.testing.service_steps import (
    ME,
    PHONE,
    collect,
    ended,
    follow,
    is_chunk,
    join_chunks,
    opened,
    stages,
    talk,
    transcript,
    until,
)


async def waiting(service: Service, runtime: ScriptedRuntime) -> Turn:
    """A turn that has said "one" and waits for the gate."""
    session = await opened(service)
    runtime.on("count", SayText("one"), PauseGate("go"), SayText("two"))
    turn = await service.say(session, TurnRequest(text="count"), ME)
    await until(service, turn, is_chunk("one"))
    return turn


class ServiceDriverContract:
    # busy
    async def test_a_second_request_is_told_who_is_being_answered(
        self, service: Service, again: Service, runtime: ScriptedRuntime
    ) -> None:
        turn = await waiting(service, runtime)
        with pytest.raises(SessionBusy, match="laptop"):
            await again.say(turn.session, TurnRequest(text="me too"), ME)
        assert ("user", "me too") not in await transcript(service, turn.session)

    async def test_who_has_seen_done_can_speak_at_once(self, service: Service, again: Service) -> None:
        session = await opened(service)
        for number in range(10):
            kept = await talk((service, again)[number % 2], session, f"number {number}")
            assert ended(kept) == ("completed", [])

    async def test_requests_that_wait_are_shown_and_answered_in_order(
        self, service: Service, again: Service, runtime: ScriptedRuntime
    ) -> None:
        turn = await waiting(service, runtime)
        second = await again.say(turn.session, TurnRequest(text="second"), ME, when_busy="wait")
        third = await service.say(turn.session, TurnRequest(text="third"), ME, when_busy="wait")
        with pytest.raises(SessionBusy):
            await service.say(turn.session, TurnRequest(text="fourth"), ME)
        await until(service, turn, lambda item: isinstance(item, Progress) and item.detail.get("queued") == third.id)
        runtime.gate("go").open()
        kept = [await follow(service, one) for one in (turn, second, third)]
        assert [join_chunks(one) for one in kept] == ["onetwo", "second", "third"]
        assert [one["queued"] for one in stages(kept[0], "queued")] == [second.id, third.id]
        assert kept[0][-1].seq < kept[1][0].seq < kept[1][-1].seq < kept[2][0].seq

    async def test_a_request_that_waits_can_be_stopped(
        self, service: Service, again: Service, runtime: ScriptedRuntime
    ) -> None:
        turn = await waiting(service, runtime)
        second = await service.say(turn.session, TurnRequest(text="second"), ME, when_busy="wait")
        assert await again.stop(turn.session, ME, turn=second.id)
        runtime.gate("go").open()
        assert ended(await follow(service, turn)) == ("completed", [])
        kept = await follow(service, second)
        assert (ended(kept), join_chunks(kept)) == (("cancelled", []), "")

    async def test_waiting_is_not_needed_when_nothing_runs(self, service: Service) -> None:
        session = await opened(service)
        turn = await service.say(session, TurnRequest(text="hello"), ME, when_busy="wait")
        assert join_chunks(await follow(service, turn)) == "hello"

    # the wheel
    async def test_only_the_surface_that_drives_may_speak(self, service: Service) -> None:
        session = await opened(service)
        await talk(service, session, "hello")
        with pytest.raises(NotDriving, match="cli"):
            await service.say(session, TurnRequest(text="hello"), PHONE)
        with pytest.raises(NotDriving):
            await service.undo(session, PHONE)

    async def test_taking_the_wheel_is_seen_by_everybody(self, service: Service, again: Service) -> None:
        session = await opened(service)
        await talk(service, session, "hello")
        assert (await again.take_over(session, PHONE)).driver == "telegram"
        kept = await collect(service, session, lambda one: getattr(one.item, "stage", "") == "handoff")
        assert stages(kept, "handoff") == [{"from": "cli", "to": "telegram", "by": "my phone"}]
        assert ended(await talk(service, session, "from here", by=PHONE)) == ("completed", [])
        with pytest.raises(NotDriving):
            await service.say(session, TurnRequest(text="from there"), ME)

    async def test_taking_what_one_has_changes_nothing(self, service: Service) -> None:
        session = await opened(service)
        await talk(service, session, "hello")
        before = await service.get(session)
        assert await service.take_over(session, ME) == before

    async def test_a_running_turn_goes_on_when_the_wheel_is_taken(
        self, service: Service, again: Service, runtime: ScriptedRuntime
    ) -> None:
        turn = await waiting(service, runtime)
        assert (await again.take_over(turn.session, PHONE)).driver == "telegram"
        runtime.gate("go").open()
        kept = await follow(service, turn)
        assert (ended(kept), join_chunks(kept)) == (("completed", []), "onetwo")
        assert stages(kept, "handoff") == [{"from": "cli", "to": "telegram", "by": "my phone"}]
        assert ended(await talk(again, turn.session, "next", by=PHONE)) == ("completed", [])

    async def test_a_turn_can_be_stopped_after_the_wheel_was_taken(
        self, service: Service, again: Service, runtime: ScriptedRuntime
    ) -> None:
        turn = await waiting(service, runtime)
        await again.take_over(turn.session, PHONE)
        assert await again.stop(turn.session, PHONE)
        assert ended(await follow(service, turn)) == ("cancelled", [])

    async def test_a_request_that_waits_ends_when_another_surface_drives(
        self, service: Service, again: Service, runtime: ScriptedRuntime
    ) -> None:
        turn = await waiting(service, runtime)
        second = await service.say(turn.session, TurnRequest(text="second"), ME, when_busy="wait")
        await again.take_over(turn.session, PHONE)
        runtime.gate("go").open()
        assert ended(await follow(service, turn)) == ("completed", [])
        assert ended(await follow(service, second)) == ("failed", ["not_driving"])

    async def test_two_who_speak_at_the_same_moment_do_not_both_run(
        self, service: Service, again: Service, runtime: ScriptedRuntime
    ) -> None:
        session = await opened(service)
        runtime.on("a", PauseGate("go"), SayText("a"))
        runtime.on("b", PauseGate("go"), SayText("b"))
        tried = await asyncio.gather(
            service.say(session, TurnRequest(text="a"), ME),
            again.say(session, TurnRequest(text="b"), ME),
            return_exceptions=True,
        )
        [turn] = [one for one in tried if isinstance(one, Turn)]
        assert [type(one) for one in tried if one is not turn] == [SessionBusy]
        runtime.gate("go").open()
        assert ended(await follow(service, turn)) == ("completed", [])
