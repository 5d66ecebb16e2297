"""Talking through a chat network: each message is answered once, in place and in order."""

import pytest

from sojourn.core.places import Sender
from sojourn.core.sessions import OWNER
from sojourn.ports.store import Listing
from sojourn.ports.tool import Question
from sojourn.testing.fake_platform import ANN, BEN, PlainPlatform
from sojourn.testing.scripted_runtime import Ask, EchoSteering, Fail, PauseGate, SayText, ScriptedRuntime
from tests.integration.gateway.worlds import world


async def test_a_message_is_answered_in_place(home, store):
    async with world(home, store) as at:
        await at.start()
        at.network.say("42", "hello there")
        assert await at.texts("42", 1) == ["hello there"]
        [session] = await at.service.find(Listing())
        assert (session.source, session.driver, session.principal) == ("fake", "fake", OWNER)


async def test_a_place_keeps_its_session(home, store):
    async with world(home, store) as at:
        await at.start()
        for n in range(3):
            at.network.say("42", f"number {n}")
        assert await at.texts("42", 3) == ["number 0", "number 1", "number 2"]
        assert len(await at.service.find(Listing())) == 1
        assert [past.message.content for past in at.runtime.seen[-1].history][::2] == ["number 0", "number 1"]


async def test_a_message_that_is_told_again_is_answered_once(home, store):
    async with world(home, store) as at:
        await at.start()
        id = at.network.say("42", "once")
        await at.texts("42", 1)
        at.network.say("42", "once", id=id)
        at.network.say("42", "another")
        assert await at.texts("42", 2) == ["once", "another"]


async def test_a_long_answer_is_cut_and_keeps_its_order(home, store):
    async with world(home, store) as at:
        at.runtime.on("tell me", SayText(" ".join(f"word{n}" for n in range(200))))
        await at.start()
        at.network.say("42", "tell me")
        texts = await at.texts("42", 4)
        await at.quiet()
        assert all(len(text) <= 400 for text in texts)
        assert " ".join(at.network.texts("42")).split() == [f"word{n}" for n in range(200)]


async def test_what_fails_is_said_with_a_next_step(home, store):
    async with world(home, store) as at:
        at.runtime.on("try", Fail(ValueError("no luck")))
        await at.start()
        at.network.say("42", "try")
        [text] = await at.texts("42", 1)
        assert "no luck" in text
        assert "Try again" in text


async def test_each_person_in_a_group_has_a_session_of_their_own(home, store):
    async with world(home, store, gateway_owners="fake:42", gateway_guests="fake:43") as at:
        await at.start()
        at.network.say("#garden", "I am Ann", ANN)
        at.network.say("#garden", "I am Ben", BEN)
        assert sorted(await at.texts("#garden", 2)) == ["I am Ann", "I am Ben"]
        assert len(await at.service.find(Listing())) == 1
        assert len(await at.service.find(Listing(principal="guest:fake-43"))) == 1


# strangers
async def test_a_stranger_gets_a_pairing_code_at_most(home, store):
    async with world(home, store) as at:
        await at.start()
        at.network.say("43", "show me everything", BEN)
        [text] = await at.texts("43", 1)
        assert "sojourn gateway pair" in text
        at.network.say("43", "please", BEN)
        at.network.say("42", "hello", ANN)
        await at.texts("42", 1)
        await at.quiet()
        assert at.network.texts("43") == [text]
        assert [turn.said for turn in at.runtime.seen] == ["hello"]
        assert "show me" not in str(await store.list_records("gateway_pairing"))


async def test_a_stranger_in_a_group_gets_no_answer_at_all(home, store):
    async with world(home, store) as at:
        await at.start()
        at.network.say("#garden", "hello bot", Sender(id="99"))
        at.network.say("42", "hello", ANN)
        await at.texts("42", 1)
        await at.quiet()
        assert at.network.texts("#garden") == []


# while a turn runs
async def test_what_comes_meanwhile_waits_its_turn(home, store):
    async with world(home, store) as at:
        at.runtime.on("slow", SayText("first "), PauseGate("go"))
        await at.start()
        at.network.say("42", "slow")
        await at.until(lambda: at.runtime.seen)
        at.network.say("42", "next")
        at.runtime.gate("go").open()
        assert await at.texts("42", 2) == ["first", "next"]


async def test_stop_gets_through_to_a_running_turn(home, store):
    async with world(home, store) as at:
        at.runtime.on("slow", SayText("thinking", kept=False), PauseGate("never"))
        await at.start()
        at.network.say("42", "slow")
        await at.until(lambda: at.runtime.seen)
        at.network.say("42", "and this waits")
        at.network.say("42", "/stop")
        texts = await at.texts("42", 2)
        assert texts == ["Stopping.", "and this waits"]


async def test_words_can_interrupt(home, store):
    async with world(home, store, gateway_when_busy="interrupt") as at:
        at.runtime.on("slow", PauseGate("never"))
        await at.start()
        at.network.say("42", "slow")
        await at.until(lambda: at.runtime.seen)
        at.network.say("42", "no, this")
        assert await at.texts("42", 1) == ["no, this"]


async def test_words_can_steer(home, store):
    async with world(home, store, gateway_when_busy="steer") as at:
        at.runtime.on("slow", PauseGate("go"), EchoSteering())
        await at.start()
        at.network.say("42", "slow")
        await at.until(lambda: at.runtime.seen)
        at.network.say("42", "greener please")
        await at.steered()
        at.runtime.gate("go").open()
        assert await at.texts("42", 1) == ["greener please"]
        await at.quiet()
        assert len(at.runtime.seen) == 1


async def test_words_that_no_turn_heard_get_a_turn_of_their_own(home, store):
    async with world(home, store, gateway_when_busy="steer") as at:
        at.runtime.on("slow", PauseGate("go"), SayText("deaf"))
        await at.start()
        at.network.say("42", "slow")
        await at.until(lambda: at.runtime.seen)
        at.network.say("42", "greener please")
        await at.rows("running", 2)
        at.runtime.gate("go").open()
        assert await at.texts("42", 2) == ["deaf", "greener please"]


async def test_words_to_a_runtime_that_does_not_listen_are_the_next_turn(home, store, monkeypatch):
    monkeypatch.delattr(ScriptedRuntime, "steers")
    async with world(home, store, gateway_when_busy="steer") as at:
        at.runtime.on("slow", PauseGate("go"), EchoSteering(), SayText("deaf"))
        await at.start()
        at.network.say("42", "slow")
        await at.until(lambda: at.runtime.seen)
        at.network.say("42", "greener please")
        await at.rows("running", 2)
        at.runtime.gate("go").open()
        assert (await at.texts("42", 2))[-1] == "greener please"
        assert [turn.said for turn in at.runtime.seen] == ["slow", "greener please"]


# questions
ASKED = Question(id="q1", text="May I delete it?", tool="delete", detail="rm x")


@pytest.mark.parametrize("words", ["once", "Yes"])
async def test_the_owner_answers_a_question_with_a_word(home, store, words):
    async with world(home, store) as at:
        at.runtime.on("clean up", Ask(ASKED))
        await at.start()
        at.network.say("42", "clean up")
        [question] = await at.texts("42", 1)
        assert "May I delete it?" in question
        assert "once, session, deny" in question
        at.network.say("42", words)
        assert (await at.texts("42", 2))[1] == "once"


async def test_a_guest_cannot_answer_a_question(home, store):
    async with world(home, store, gateway_owners="fake:42", gateway_guests="fake:43", agent_approval_seconds=1) as at:
        at.runtime.on("clean up", Ask(ASKED))
        await at.start()
        at.network.say("43", "clean up", BEN)
        [question] = await at.texts("43", 1)
        assert "Only the owner" in question
        at.network.say("43", "once", BEN)
        texts = await at.texts("43", 3)
        assert texts[1].startswith("deny Nobody answered")


# a network without any ability
async def test_a_plain_network_is_served_as_well(home, store):
    async with world(home, store) as at:
        await at.start(PlainPlatform(at.network))
        at.network.say("42", "hello there")
        assert await at.texts("42", 1) == ["hello there"]
