"""Long answers are shown while they are written, where a network can change a message."""

from sojourn.testing.fake_platform import PlainPlatform
from sojourn.testing.scripted_runtime import PauseGate, SayText
from tests.integration.gateway.worlds import world

LONG = "one two three four five six seven eight nine ten"
QUICKLY = {"gateway_streaming_seconds": 0.0}


async def test_a_message_grows_and_ends_whole(home, store):
    async with world(home, store, **QUICKLY) as at:
        at.runtime.on("count", SayText(LONG, kept=False), PauseGate("go"), SayText(" eleven", kept=False))
        await at.start()
        at.network.say("42", "count")
        await at.until(lambda: at.network.texts("42"))
        assert at.network.texts("42")[0].endswith(" …")
        at.runtime.gate("go").open()
        await at.until(lambda: at.network.texts("42") == [LONG + " eleven"])
        await at.quiet()
        assert [row.state for row in await store.outgoing()] == ["delivered"]


async def test_what_does_not_fit_follows_in_further_messages(home, store):
    words = " ".join(f"word{n}" for n in range(150))
    async with world(home, store, **QUICKLY) as at:
        at.runtime.on("tell", SayText(words[:300], kept=False), PauseGate("go"), SayText(words[300:], kept=False))
        await at.start()
        at.network.say("42", "tell")
        await at.until(lambda: at.network.texts("42"))
        at.runtime.gate("go").open()
        await at.until(lambda: " ".join(at.network.texts("42")).split() == words.split())
        await at.quiet()
        assert all(len(text) <= 400 for text in at.network.texts("42"))


async def test_a_short_answer_is_one_message_that_never_changes(home, store):
    async with world(home, store) as at:
        await at.start()
        at.network.say("42", "hello there, this is not so long")
        await at.texts("42", 1)
        await at.quiet()
        assert at.network.edits == []


async def test_it_can_be_switched_off(home, store):
    async with world(home, store, gateway_streaming=False, **QUICKLY) as at:
        at.runtime.on("count", SayText(LONG, kept=False), PauseGate("go"), SayText(".", kept=False))
        await at.start()
        at.network.say("42", "count")
        await at.until(lambda: at.runtime.seen)
        at.runtime.gate("go").open()
        assert await at.texts("42", 1) == [LONG + "."]
        assert at.network.edits == []


async def test_where_nothing_can_be_changed_it_comes_at_once(home, store):
    async with world(home, store, **QUICKLY) as at:
        at.runtime.on("count", SayText(LONG))
        await at.start(PlainPlatform(at.network))
        at.network.say("42", "count")
        assert await at.texts("42", 1) == [LONG]
