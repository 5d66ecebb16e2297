"""What the agent writes calls nobody together, on any network."""

import re

import pytest

from sojourn.platforms.matrix.content import build_text_content
from sojourn.testing.scripted_runtime import SayText
from sojourn.text.mentions import neutralize_mentions
from tests.integration.gateway.worlds import world
from tests.servers.discord import discord_rig
from tests.servers.slack import slack_rig

CALLS = "@all, @Channel! (@here) **@room** `@everyone` \\@all &#64;all &commat;here @ALL_"
CALL = re.compile(r"@(all|channel|here|room|everyone)", re.IGNORECASE)


async def test_no_network_gets_a_call_to_everybody(home, store):
    async with world(home, store, gateway_streaming=True) as made:
        made.runtime.on("go", SayText(CALLS))
        await made.start()
        made.network.say("42", "go")
        (text,) = await made.texts("42", 1)
        await made.quiet()
        shown = [*made.network.texts("42"), *(new for _, new in made.network.edits)]
    assert "channel" in text.lower()
    assert not [one for one in shown if CALL.search(one) or "&#64;" in one or "&commat;" in one]


async def test_title_of_a_hand_off_calls_nobody(home, store):
    async with world(home, store, gateway_home="fake:#team") as made:
        session = await made.session("hello", title="for @channel")
        await made.start()
        await made.hand_over(session)
        names = [name for _, name in made.network.threads_opened]
    assert names
    assert not [one for one in names if CALL.search(one)]


def test_message_is_not_longer_where_bytes_are_counted():
    assert neutralize_mentions("ask @all", "") == "ask all"
    assert len(neutralize_mentions("@all " * 100)) == 500


@pytest.mark.parametrize(
    "text", ["ann@here.com", "@allison", "@channels", "x@all.example", "a @ all", "&lt;b&gt; @ann"]
)
def test_other_words_stay(text):
    assert neutralize_mentions(text) == text


def test_matrix_says_that_nobody_is_mentioned():
    assert build_text_content("@room", plain=False)["m.mentions"] == {}


@pytest.mark.parametrize("plain", [False, True])
async def test_slack_gets_no_special_mention(plain):
    async with slack_rig() as harness:
        adapter = harness.connect()
        chat = adapter.home(next(iter(harness.chats.values())))
        await adapter.send(chat, "<!channel> <!here|here> <!subteam^S1> <@U1>", plain=plain)
        raw = str([given for name, given in harness.server.calls if name == "chat.postMessage"])
        await adapter.close()
    assert "channel" in raw
    assert "<!" not in raw
    assert "<@" not in raw


async def test_discord_is_told_to_notify_nobody():
    async with discord_rig() as harness:
        adapter = harness.connect()
        chat = adapter.home(harness.chats["group"])
        sent = await adapter.send(chat, "@everyone <@&1234> <@1234>")
        await adapter.edit(sent, "@here <@&1234>")
        asked = [given for _, _, given in harness.server.calls if "content" in given]
        await adapter.close()
    assert asked
    assert all(one["allowed_mentions"] == {"parse": []} or not any(one["allowed_mentions"].values()) for one in asked)
