"""Contract: what exactly is approved, for how long, and what happens where nobody can answer."""

from __future__ import annotations

import asyncio

import pytest

from sojourn.core.errors import NotAllowed, NotFound
from sojourn.ports.service import Service, TurnRequest
from sojourn.ports.tool import Question, Reply
from sojourn.testing.scripted_runtime import Ask, ScriptedRuntime
from sojourn.testing.service_controls import asking
from sojourn.testing.service_steps import GUEST, ME, PHONE, follow, is_asked, join_chunks, opened, stages, talk, until
from sojourn.testing.store_secrets import KEY
from sojourn.text.exact import hash_text

ALL = ("once", "session", "always", "deny")
PUSH = Question(id="q1", text="Run this?", tool="terminal", detail=f"push --with {KEY}", choices=ALL)
PULL = Question(id="q1", text="Run this?", tool="terminal", detail="pull", choices=ALL)


class ServiceApprovalsContract:
    # the exact text
    async def test_the_exact_text_is_there_for_the_owner_until_the_question_is_settled(
        self, service: Service, again: Service, runtime: ScriptedRuntime
    ) -> None:
        turn = await asking(service, runtime, PUSH)
        found = await again.get_question(turn.session, "q1", PHONE)
        assert (found.exact, found.sha256, found.turn) == (PUSH.detail, hash_text(PUSH.detail), turn.id)
        with pytest.raises(NotAllowed):
            await service.get_question(turn.session, "q1", GUEST)
        await service.answer(turn.session, "q1", Reply(choice="deny"), ME)
        asked, _ = stages(await follow(service, turn), "approval")
        assert KEY not in str(asked)
        assert asked["sha256"] == hash_text(PUSH.detail)
        with pytest.raises(NotFound):
            await service.get_question(turn.session, "q1", ME)

    async def test_a_stopped_turn_takes_its_questions_along(self, service: Service, runtime: ScriptedRuntime) -> None:
        turn = await asking(service, runtime, PUSH)
        await service.stop(turn.session, ME)
        await follow(service, turn)
        with pytest.raises(NotFound):
            await service.get_question(turn.session, "q1", ME)

    # how far a lasting yes goes
    async def test_always_is_for_this_exact_text_unless_the_tool_is_named(
        self, service: Service, runtime: ScriptedRuntime
    ) -> None:
        turn = await asking(service, runtime, PUSH)
        await service.answer(turn.session, "q1", Reply(choice="always"), ME)
        await follow(service, turn)
        assert stages(await talk(service, await opened(service), "wipe"), "approval") == []
        other = await asking(service, runtime, PULL)
        await service.answer(other.session, "q1", Reply(choice="always", covers="tool"), ME)
        await follow(service, other)
        runtime.on("wipe", Ask(Question(id="q1", text="Run this?", tool="terminal", detail="anything", choices=ALL)))
        assert stages(await talk(service, await opened(service), "wipe"), "approval") == []

    async def test_a_revoked_approval_no_longer_holds_in_a_running_turn(
        self, service: Service, again: Service, runtime: ScriptedRuntime
    ) -> None:
        session = await opened(service)
        runtime.on("twice", Ask(PULL), Ask(PULL))
        turn = await service.say(session, TurnRequest(text="twice"), ME)
        await until(service, turn, is_asked)
        await service.answer(session, "q1", Reply(choice="always", covers="tool"), ME)
        await follow(service, turn)
        [given] = await again.list_approvals(PHONE)
        assert (given.choice, given.tool, given.scope, given.covers) == ("always", "terminal", "sandbox", "tool")
        assert (await again.revoke_approval(given.id, PHONE)).id == given.id
        assert list(await service.list_approvals(ME)) == []
        with pytest.raises(NotFound):
            await service.revoke_approval(given.id, ME)
        later = await service.say(session, TurnRequest(text="twice"), ME)
        await until(service, later, is_asked)

    async def test_only_the_owner_sees_and_revokes_and_no_secret_is_listed(
        self, service: Service, runtime: ScriptedRuntime
    ) -> None:
        turn = await asking(service, runtime, PUSH)
        await service.answer(turn.session, "q1", Reply(choice="session", covers="exact"), ME)
        await follow(service, turn)
        [given] = await service.list_approvals(ME)
        assert given.session == turn.session
        assert given.text.startswith("push")
        assert KEY not in given.text
        for refused in (service.list_approvals(GUEST), service.revoke_approval(given.id, GUEST)):
            with pytest.raises(NotAllowed):
                await refused

    # nobody there
    async def test_where_nobody_can_answer_the_answer_is_no_at_once_and_says_why(
        self, service: Service, runtime: ScriptedRuntime
    ) -> None:
        session = await opened(service)
        runtime.on("wipe", Ask(PULL))
        async with asyncio.timeout(20):
            turn = await service.say(session, TurnRequest(text="wipe", attended=False), ME)
            kept = await follow(service, turn)
        [answered] = stages(kept, "approval")
        assert (answered["status"], answered["choice"]) == ("answered", "deny")
        assert "Nobody can answer here" in join_chunks(kept)

    @pytest.mark.parametrize(
        ("scope", "dangerous", "choice"),
        [("sandbox", False, "once"), ("network", False, "deny"), ("outside", False, "deny"), ("sandbox", True, "deny")],
    )
    async def test_what_is_allowed_beforehand_stays_inside_the_sandbox(
        self, service: Service, runtime: ScriptedRuntime, scope: str, dangerous: bool, choice: str
    ) -> None:
        asks = Question(id="q1", text="Run this?", tool="terminal", scope=scope, dangerous=dangerous)  # type: ignore[arg-type]
        runtime.on("wipe", Ask(asks), Ask(Question(id="q2", text="Write this?", tool="write_file")))
        said = TurnRequest(text="wipe", attended=False, allow=("terminal",))
        turn = await service.say(await opened(service), said, ME)
        words = join_chunks(await follow(service, turn))
        assert words.startswith(choice)
        assert words.endswith("deny Nobody can answer here.")  # of a tool that was not named: no

    async def test_a_guest_allows_nothing_beforehand(self, service: Service) -> None:
        session = (await service.open(GUEST)).id
        with pytest.raises(NotAllowed):
            await service.say(session, TurnRequest(text="x", attended=False, allow=("terminal",)), GUEST)
