"""Contract: what people say to a running turn, from any process. A word names its turn and reaches no other."""

from __future__ import annotations

import asyncio

import pytest

from sojourn.core.errors import BadInput, NotAllowed, NotFound
from sojourn.core.events import Done
from sojourn.core.messages import ToolCall, assistant
from sojourn.core.sessions import TurnId
from sojourn.ports.service import Service, Turn, TurnRequest
from sojourn.ports.tool import Question, Reply
from sojourn.testing.scripted_runtime import Ask, EchoSteering, Emit, PauseGate, SayText, ScriptedRuntime
from sojourn.testing.service_steps import (
    GUEST,
    ME,
    PHONE,
    ended,
    follow,
    is_asked,
    is_chunk,
    join_chunks,
    of,
    opened,
    stages,
    talk,
    transcript,
    unpaired,
    until,
)

WIPE = Question(
    id="q1",
    text="Empty the folder?",
    tool="terminal",
    detail="rm -r build",
    choices=("once", "session", "always", "deny"),
)


async def stuck(service: Service, runtime: ScriptedRuntime) -> Turn:
    """A turn that has said "well" and called a tool which never ends."""
    session = await opened(service)
    call = assistant("well", [ToolCall(id="c1", name="terminal")])
    runtime.on("work", SayText("well", kept=False), Emit(call), SayText("so", kept=False), PauseGate("never"))
    turn = await service.say(session, TurnRequest(text="work"), ME)
    await until(service, turn, is_chunk("so"))
    return turn


async def asking(service: Service, runtime: ScriptedRuntime, question: Question = WIPE) -> Turn:
    """A turn that waits for an answer."""
    session = await opened(service)
    runtime.on("wipe", Ask(question))
    turn = await service.say(session, TurnRequest(text="wipe"), ME)
    await until(service, turn, is_asked)
    return turn


class ServiceControlsContract:
    # stop
    async def test_stop_ends_the_turn_as_cancelled_and_keeps_what_there_was(
        self, service: Service, runtime: ScriptedRuntime
    ) -> None:
        turn = await stuck(service, runtime)
        assert await service.stop(turn.session, ME)
        kept = await follow(service, turn)
        assert ended(kept) == ("cancelled", [])
        roles = [role for role, _ in await transcript(service, turn.session)]
        assert roles == ["user", "assistant", "tool", "assistant"]
        assert await unpaired(service, turn.session) == []
        assert len(of(Done, kept)[0].messages) == 4

    async def test_stop_reaches_a_turn_of_another_process(
        self, service: Service, again: Service, runtime: ScriptedRuntime
    ) -> None:
        turn = await stuck(service, runtime)
        assert await again.stop(turn.session, PHONE, turn=turn.id)
        assert ended(await follow(again, turn)) == ("cancelled", [])

    async def test_stop_says_when_nothing_runs(self, service: Service, runtime: ScriptedRuntime) -> None:
        session = await opened(service)
        assert not await service.stop(session, ME)
        await talk(service, session, "hello")
        assert not await service.stop(session, ME)
        assert await service.running(session) is None

    async def test_a_stop_for_another_turn_does_not_stop_this_one(
        self, service: Service, runtime: ScriptedRuntime
    ) -> None:
        turn = await stuck(service, runtime)
        assert not await service.stop(turn.session, ME, turn=TurnId("t_0123456789abcdef"))
        assert await service.running(turn.session) == turn.id

    async def test_a_session_goes_on_at_once_after_a_stop(self, service: Service, runtime: ScriptedRuntime) -> None:
        turn = await stuck(service, runtime)
        await service.stop(turn.session, ME)
        await follow(service, turn)
        assert ended(await talk(service, turn.session, "and now")) == ("completed", [])

    # questions
    @pytest.mark.parametrize("choice", ["once", "deny"])
    async def test_an_answer_reaches_the_turn_that_asked(
        self, service: Service, again: Service, runtime: ScriptedRuntime, choice: str
    ) -> None:
        turn = await asking(service, runtime)
        await again.answer(turn.session, "q1", Reply(choice=choice), PHONE)
        kept = await follow(service, turn)
        asked, answered = stages(kept, "approval")
        assert (asked["text"], asked["detail"], asked["choices"][-1]) == ("Empty the folder?", "rm -r build", "deny")
        assert (answered["status"], answered["choice"], answered["by"]) == ("answered", choice, "my phone")
        assert join_chunks(kept) == choice

    async def test_what_was_allowed_for_the_session_is_not_asked_again(
        self, service: Service, runtime: ScriptedRuntime
    ) -> None:
        turn = await asking(service, runtime)
        await service.answer(turn.session, "q1", Reply(choice="session"), ME)
        await follow(service, turn)
        kept = await talk(service, turn.session, "wipe")
        assert (stages(kept, "approval"), join_chunks(kept).split()[0]) == ([], "session")
        other = await asking(service, runtime)
        assert other.session != turn.session

    async def test_what_is_always_allowed_is_asked_in_no_session(
        self, service: Service, runtime: ScriptedRuntime
    ) -> None:
        turn = await asking(service, runtime)
        await service.answer(turn.session, "q1", Reply(choice="always"), ME)
        await follow(service, turn)
        assert stages(await talk(service, await opened(service), "wipe"), "approval") == []

    async def test_what_is_dangerous_is_asked_every_time(self, service: Service, runtime: ScriptedRuntime) -> None:
        danger = Question(id="q2", text="All of it?", tool="terminal", dangerous=True)
        turn = await asking(service, runtime, danger)
        await service.answer(turn.session, "q2", Reply(choice="session"), ME)
        await follow(service, turn)
        next_turn = await service.say(turn.session, TurnRequest(text="wipe"), ME)
        await until(service, next_turn, is_asked)

    async def test_only_the_owner_answers_and_only_what_was_asked(
        self, service: Service, runtime: ScriptedRuntime
    ) -> None:
        turn = await asking(service, runtime)
        with pytest.raises(NotAllowed):
            await service.answer(turn.session, "q1", Reply(choice="once"), GUEST)
        with pytest.raises(BadInput):
            await service.answer(turn.session, "q1", Reply(choice="maybe"), ME)
        with pytest.raises(NotFound):
            await service.answer(turn.session, "another", Reply(choice="once"), ME)
        await service.answer(turn.session, "q1", Reply(choice="deny"), ME)
        await follow(service, turn)
        with pytest.raises(NotFound):
            await service.answer(turn.session, "q1", Reply(choice="once"), ME)

    async def test_an_answer_to_an_earlier_turn_does_not_answer_a_later_one(
        self, service: Service, runtime: ScriptedRuntime
    ) -> None:
        turn = await asking(service, runtime)
        await service.answer(turn.session, "q1", Reply(choice="once"), ME)
        await follow(service, turn)
        later = await service.say(turn.session, TurnRequest(text="wipe"), ME)
        await until(service, later, is_asked)
        await service.answer(turn.session, "q1", Reply(choice="deny"), ME)
        assert join_chunks(await follow(service, later)) == "deny"

    async def test_a_turn_that_waits_for_an_answer_can_be_stopped(
        self, service: Service, runtime: ScriptedRuntime
    ) -> None:
        turn = await asking(service, runtime)
        await service.stop(turn.session, ME)
        assert ended(await follow(service, turn)) == ("cancelled", [])

    # a word in between
    async def test_a_word_in_between_is_heard_and_kept(
        self, service: Service, again: Service, runtime: ScriptedRuntime
    ) -> None:
        session = await opened(service)
        runtime.on("work", SayText("well"), PauseGate("go"), EchoSteering())
        turn = await service.say(session, TurnRequest(text="work"), ME)
        await until(service, turn, is_chunk("well"))
        await again.steer(session, "the other folder", ME)
        await until(service, turn, lambda item: getattr(item, "detail", {}).get("steer") == "the other folder")
        runtime.gate("go").open()
        assert join_chunks(await follow(service, turn)) == "wellthe other folder"
        assert ("user", "the other folder") in await transcript(service, session)

    async def test_a_word_the_runtime_did_not_take_stays_in_the_transcript_when_the_turn_is_stopped(
        self, service: Service, runtime: ScriptedRuntime
    ) -> None:
        session = await opened(service)
        runtime.on("work", SayText("well"), PauseGate("never"))
        turn = await service.say(session, TurnRequest(text="work"), ME)
        await until(service, turn, is_chunk("well"))
        await service.steer(session, "also cats", ME)
        await until(service, turn, lambda item: getattr(item, "detail", {}).get("steer") == "also cats")
        await service.stop(session, ME)
        await follow(service, turn)
        assert (await transcript(service, session))[-1] == ("user", "also cats")

    async def test_a_word_the_runtime_did_not_take_is_shown_as_not_heard(
        self, service: Service, runtime: ScriptedRuntime
    ) -> None:
        session = await opened(service)
        runtime.on("work", SayText("well"), PauseGate("go"))
        turn = await service.say(session, TurnRequest(text="work"), ME)
        await until(service, turn, is_chunk("well"))
        await service.steer(session, "wait", ME)
        await until(service, turn, lambda item: getattr(item, "detail", {}).get("steer") == "wait")
        runtime.gate("go").open()
        assert stages(await follow(service, turn), "running")[-1] == {"steer": "wait", "heard": False}

    async def test_there_is_nobody_to_steer_when_nothing_runs(self, service: Service) -> None:
        with pytest.raises(NotFound):
            await service.steer(await opened(service), "left", ME)

    async def test_many_stop_at_once_and_it_stops_once(
        self, service: Service, again: Service, runtime: ScriptedRuntime
    ) -> None:
        turn = await stuck(service, runtime)
        await asyncio.gather(*(one.stop(turn.session, ME) for one in (service, again) * 5))
        assert ended(await follow(service, turn)) == ("cancelled", [])
        assert ended(await talk(service, turn.session, "and now")) == ("completed", [])
