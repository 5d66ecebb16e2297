"""Questions with buttons: a press is an answer, only the owner's counts, and the message shows what was chosen."""

from typing import Any

from sojourn.core.places import Sender
from sojourn.gateway.approval_prompts import NOT_OWNER, SETTLED
from sojourn.ports.service import Caller
from sojourn.ports.store import Listing
from sojourn.ports.tool import Question, Reply
from sojourn.testing.fake_platform import BEN, ButtonPlatform, FakePlatform, PlainPlatform
from sojourn.testing.platform_harness import PostedMessage
from sojourn.testing.scripted_runtime import Ask, PauseGate, SayText
from tests.integration.gateway.worlds import World, world

ASKED = Question(id="q1", text="May I delete it?", tool="delete", detail="rm x")
TWO = {"gateway_owners": "fake:42", "gateway_guests": "fake:43"}


async def asked(at: World, chat: str = "42", thread: str | None = None) -> PostedMessage:
    """The message with the buttons."""

    def found() -> Any:
        return [one for one in at.network.read_messages(chat, thread) if one.buttons]

    return (await at.until(found))[-1]


async def test_a_press_answers_and_the_message_shows_it(home, store):
    async with world(home, store) as at:
        at.runtime.on("clean up", Ask(ASKED), SayText("done"))
        await at.start()
        at.network.say("42", "clean up")
        shown = await asked(at)
        assert [one.label for one in shown.buttons] == ["Allow once", "Allow for this session", "Deny"]
        assert all(len(one.value) <= 60 and one.value.isascii() for one in shown.buttons)
        at.network.press(shown, "Allow once")
        texts = await at.texts("42", 3)
        await at.quiet()
        assert texts[0] == "❓ May I delete it?\n```\nrm x\n```\n→ Allow once (Ann)"
        assert texts[1:] == ["once", "done"]
        assert not any(one.buttons for one in at.network.read_messages("42"))
        assert len(at.runtime.seen) == 1


async def test_a_press_comes_through_the_inbox_and_counts_once(home, store):
    async with world(home, store) as at:
        at.runtime.on("clean up", Ask(ASKED))
        await at.start()
        at.network.say("42", "clean up")
        pressed = at.network.press((await asked(at)), "Deny")
        await at.texts("42", 2)
        await at.quiet()
        [row] = [one for one in await store.incoming(states=("done",)) if one.message_id == pressed]
        assert row.payload["pressed"].endswith(":2")


async def test_a_guests_press_does_not_count(home, store):
    async with world(home, store, **TWO) as at:
        at.runtime.on("clean up", Ask(ASKED))
        await at.start()
        thread = at.network.open_thread(at.network.place("#garden"), "both").thread
        at.network.say("#garden", "clean up", BEN, thread=thread)
        shown = await asked(at, "#garden", thread)
        assert "Only the owner" in shown.text
        at.network.press(shown, "Allow once", BEN)
        assert NOT_OWNER in await at.texts("#garden", 2, thread)
        assert (await asked(at, "#garden", thread)).text == shown.text
        at.network.press(shown, "Allow once")
        await at.until(lambda: "once" in at.network.texts("#garden", thread))
        assert "→ Allow once (Ann)" in at.network.texts("#garden", thread)[0]


async def test_a_strangers_press_is_nothing(home, store):
    async with world(home, store) as at:
        at.runtime.on("clean up", Ask(ASKED))
        await at.start()
        at.network.say("#garden", "clean up")
        shown = await asked(at, "#garden")
        at.network.press(shown, "Allow once", Sender(id="99"))
        await at.rows("done", 1)
        assert at.network.texts("#garden") == [shown.text]
        at.network.press(shown, "Deny")
        await at.until(lambda: "→ Deny" in at.network.texts("#garden")[0])


async def test_the_owner_lets_a_guest_in_a_group_have_their_way(home, store):
    """Everybody has a session of their own there; a button knows whose question it belongs to."""
    async with world(home, store, **TWO) as at:
        at.runtime.on("clean up", Ask(ASKED))
        await at.start()
        at.network.say("#garden", "clean up", BEN)
        at.network.press((await asked(at, "#garden")), "Allow once")
        await at.until(lambda: "once" in at.network.texts("#garden"))
        assert len(await at.service.find(Listing())) == 0


async def test_in_a_guests_own_chat_there_are_no_buttons(home, store):
    async with world(home, store, **TWO) as at:
        at.runtime.on("clean up", Ask(ASKED))
        await at.start()
        at.network.say("43", "clean up", BEN)
        await at.texts("43", 1)
        assert [one.buttons for one in at.network.read_messages("43") if one.by == "bot"] == [()]


async def test_a_press_on_an_old_question_does_not_answer_the_new_one(home, store):
    async with world(home, store) as at:
        at.runtime.on("clean up", Ask(ASKED), Ask(Question(id="q2", text="And the garden?")), SayText("done"))
        await at.start()
        at.network.say("42", "clean up")
        old = await asked(at)
        at.network.press(old, "Allow once")
        await at.until(lambda: any("garden" in one.text for one in at.network.read_messages("42")))
        new = await asked(at)
        at.network.press(old, "Allow once")
        await at.until(lambda: SETTLED in at.network.texts("42"))
        assert new.buttons == (await asked(at)).buttons
        at.network.press(new, "Deny")
        await at.until(lambda: "deny" in at.network.texts("42"))


async def test_a_press_after_the_end_is_no_request(home, store):
    async with world(home, store, agent_approval_seconds=1) as at:
        at.runtime.on("clean up", Ask(ASKED))
        await at.start()
        at.network.say("42", "clean up")
        shown = await asked(at)
        await at.until(lambda: "→ Deny: Nobody answered" in at.network.texts("42")[0])
        at.network.press(shown, "Allow once")
        await at.until(lambda: SETTLED in at.network.texts("42"))
        await at.quiet()
        assert len(at.runtime.seen) == 1


async def test_words_answer_as_well_and_take_the_buttons_away(home, store):
    async with world(home, store) as at:
        at.runtime.on("clean up", Ask(ASKED))
        await at.start()
        at.network.say("42", "clean up")
        await asked(at)
        at.network.say("42", "yes")
        await at.until(lambda: "→ Allow once (Ann)" in at.network.texts("42")[0])


async def test_an_answer_from_elsewhere_is_shown_too(home, store):
    async with world(home, store) as at:
        at.runtime.on("clean up", Ask(ASKED))
        await at.start()
        at.network.say("42", "clean up")
        await asked(at)
        [session] = await at.service.find(Listing())
        await at.service.answer(session.id, "q1", Reply(choice="session", by="the web"), Caller(surface="web"))
        await at.until(lambda: "→ Allow for this session (the web)" in at.network.texts("42")[0])


async def test_a_turn_that_is_stopped_leaves_no_buttons(home, store):
    async with world(home, store) as at:
        at.runtime.on("clean up", Ask(ASKED), PauseGate("never"))
        await at.start()
        at.network.say("42", "clean up")
        await asked(at)
        at.network.say("42", "/stop")
        await at.until(lambda: "→ Deny" in at.network.texts("42")[0])


async def test_a_long_question_has_its_buttons_under_the_last_piece(home, store):
    long = Question(id="q1", text="May I?", detail="\n".join(f"line {n} of many" for n in range(60)))
    async with world(home, store) as at:
        at.runtime.on("clean up", Ask(long))
        await at.start()
        at.network.say("42", "clean up")
        shown = await asked(at)
        pieces = at.network.read_messages("42")[1:]
        assert [bool(one.buttons) for one in pieces] == [False] * (len(pieces) - 1) + [True]
        assert all(len(one.text) <= 400 for one in pieces)
        at.network.press(shown, "Deny")
        await at.until(lambda: "→ Deny (Ann)" in at.network.read_messages("42")[len(pieces)].text)


async def test_refused_formatting_keeps_the_buttons(home, store):
    async with world(home, store) as at:
        at.runtime.on("clean up", Ask(ASKED))
        await at.start()
        at.network.refuse("bad_format")
        at.network.say("42", "clean up")
        at.network.press((await asked(at)), "Deny")
        await at.until(lambda: "→ Deny (Ann)" in at.network.texts("42")[0])


async def test_after_a_crash_the_answered_question_is_shown_by_the_heir(home, store):
    """A gateway that dies before it shows the choice: the next one changes the message."""

    class Deaf(FakePlatform):
        async def edit(self, sent, text, *, plain=False):
            await at.until(lambda: False, seconds=60)

    async with world(home, store, gateway_lease_seconds=1.0) as at:
        at.runtime.on("clean up", Ask(ASKED), PauseGate("go"))
        await at.start(Deaf(at.network))
        at.network.say("42", "clean up")
        at.network.press((await asked(at)), "Allow once")
        await at.rows("done", 1)
        await at.stop(at.gateways[0])
        assert "→" not in at.network.texts("42")[0]
        await at.start()
        await at.until(lambda: "→ Allow once (Ann)" in at.network.texts("42")[0])
        at.runtime.gate("go").open()
        await at.quiet()
        assert len(at.runtime.seen) == 1


async def test_without_buttons_the_question_is_words(home, store):
    async with world(home, store) as at:
        at.runtime.on("clean up", Ask(ASKED))
        await at.start(PlainPlatform(at.network))
        at.network.say("42", "clean up")
        assert "Answer with: once, session, deny." in (await at.texts("42", 1))[0]
        at.network.say("42", "once")
        assert (await at.texts("42", 2))[1] == "once"


async def test_where_buttons_stay_a_new_message_says_how_it_ended_and_a_second_press_is_refused(home, store):
    async with world(home, store) as at:
        at.runtime.on("clean up", Ask(ASKED), SayText("done"))
        await at.start(ButtonPlatform(at.network))
        at.network.say("42", "clean up")
        shown = await asked(at)
        at.network.press(shown, "Allow once")
        await at.texts("42", 4)
        at.network.press(shown, "Deny")
        at.network.press(shown, "Deny")
        texts = await at.texts("42", 5)
        await at.quiet()
        assert sorted(texts[1:]) == sorted(["→ Allow once (Ann)", "once", "done", SETTLED])
        assert len(at.network.texts("42")) == 5
        [question] = [one for one in at.network.read_messages("42") if one.buttons]
        assert question.text.startswith("❓ May I delete it?")
        assert len(at.runtime.seen) == 1
