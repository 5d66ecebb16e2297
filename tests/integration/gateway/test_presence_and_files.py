"""What a turn made is sent as a file, and a message is shown to be seen, where the network can."""

import asyncio
from dataclasses import asdict

import pytest

from sojourn.core.attachments import Attachment, user_message
from sojourn.core.errors import NotFound, SendRefused
from sojourn.core.events import Progress
from sojourn.core.messages import assistant
from sojourn.gateway import outbox_worker
from sojourn.ports.platform import File
from sojourn.ports.store import Listing
from sojourn.testing.fake_platform import FakePlatform, PlainPlatform
from sojourn.testing.scripted_runtime import EmitFrom, PauseGate, SayText
from tests.integration.gateway.worlds import World, world

PICTURE = b"\x89PNG picture"


async def with_file(at: World) -> Attachment:
    """A file that a turn keeps in its session."""
    [session] = await at.service.find(Listing())
    return await at.service.attach(session.id, PICTURE, media_type="image/png", name="herbs.png")


def in_an_answer(file: Attachment):
    message = user_message("Here it is", (file,))
    return assistant(message.content, structured=True)


def among_facts(file: Attachment):
    return Progress("tool", {"tool": "draw", "status": "completed", "facts": {"attachment": asdict(file)}})


async def drawn(at: World, made, adapter=None) -> None:
    """A session in which a turn makes a file."""
    await at.start(adapter)
    at.network.say("42", "hello")
    await at.texts("42", 1)
    file = await with_file(at)
    at.runtime.on("draw", EmitFrom(lambda turn: made(file)), SayText("done"))
    at.network.say("42", "draw")
    await at.until(lambda: "done" in at.network.texts("42"))
    await at.quiet()


@pytest.mark.parametrize(("made", "words"), [(in_an_answer, ["hello", "Here it is", "", "done"]), (among_facts, None)])
async def test_a_file_that_a_turn_made_is_sent(home, store, made, words):
    async with world(home, store) as at:
        await drawn(at, made)
        shown = [one for one in at.network.read_messages("42") if one.by == "bot"]
        assert [one.text for one in shown] == (words or ["hello", "", "done"])
        [file] = [file for one in shown for file in one.files]
        assert (file.name, file.media_type, file.data) == ("herbs.png", "image/png", PICTURE)


async def test_where_no_files_can_be_sent_it_is_named(home, store):
    async with world(home, store) as at:
        await drawn(at, among_facts, PlainPlatform(at.network))
        assert at.network.texts("42")[1].startswith("📎 herbs.png (image/png, 12 bytes) is in the session.")


async def test_a_file_that_is_refused_is_named_with_the_reason(home, store):
    async with world(home, store) as at:
        at.network.before_send = lambda place, text: None if text else at.network.refuse("too_long")
        await drawn(at, among_facts)
        assert "herbs.png" in at.network.texts("42")[1]
        assert "too_long" in at.network.texts("42")[1]


async def test_a_network_that_asks_to_wait_gets_the_file_later(home, store):
    async with world(home, store) as at:
        waits = [0.1]
        at.network.before_send = lambda place, text: (
            None if text or not waits else at.network.refuse("rate_limited", waits.pop())
        )
        await drawn(at, among_facts)
        assert len([file for one in at.network.read_messages("42") for file in one.files]) == 1


async def test_a_large_file_has_time_to_be_sent_and_is_sent_once(home, store, monkeypatch):
    monkeypatch.setattr(outbox_worker, "_SEND_TIMEOUT_SECONDS", 0.3)
    monkeypatch.setattr(outbox_worker, "_SLOW_UPLOAD_BYTES", 1)  # a second for each byte

    class Slow(FakePlatform):
        async def send_file(self, place, file, *, caption=""):
            sent = await super().send_file(place, file, caption=caption)
            await asyncio.sleep(1)  # the network has it, and confirms it late
            return sent

    async with world(home, store) as at:
        await drawn(at, among_facts, Slow(at.network))
        assert len([file for one in at.network.read_messages("42") for file in one.files]) == 1


async def test_a_file_that_is_gone_is_said(home, store):
    async with world(home, store) as at:

        async def gone(session, hash):
            raise NotFound("It was deleted.")

        store.get_blob = gone
        await drawn(at, among_facts)
        assert "It was deleted." in at.network.texts("42")[1]


async def test_files_of_the_person_are_not_sent_back(home, store):
    async with world(home, store) as at:
        await at.start()
        at.network.say("42", "look", files=[File(name="a.png", media_type="image/png", data=PICTURE)])
        await at.texts("42", 1)
        await at.quiet()
        assert [len(one.files) for one in at.network.read_messages("42")] == [1, 0]


async def test_what_is_being_answered_gets_a_sign_if_one_is_wanted(home, store):
    async with world(home, store, gateway_reaction="👀") as at:
        at.runtime.on("slow", PauseGate("go"))
        await at.start()
        id = at.network.say("42", "slow")
        await at.until(lambda: [one.id for one in at.network.read_messages("42") if one.reactions == ("👀",)] == [id])
        at.runtime.gate("go").open()


@pytest.mark.parametrize(("wanted", "words"), [("", "hello"), ("👀", "/whoami")])
async def test_no_sign_unless_it_is_wanted_and_none_on_commands(home, store, wanted, words):
    async with world(home, store, gateway_reaction=wanted) as at:
        await at.start()
        at.network.say("42", words)
        await at.texts("42", 1)
        await at.quiet()
        assert [one.reactions for one in at.network.read_messages("42")] == [(), ()]


async def test_a_sign_that_is_refused_keeps_nobody_from_answering(home, store):
    class Stern(FakePlatform):
        async def react(self, sent, sign):
            raise SendRefused("no flamingo here", kind="bad_format")

    async with world(home, store, gateway_reaction="🦩") as at:
        await at.start(Stern(at.network))
        at.network.say("42", "hello")
        assert await at.texts("42", 1) == ["hello"]
