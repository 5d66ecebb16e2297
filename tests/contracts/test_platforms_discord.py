"""PlatformContract on Discord: the real library against a server that speaks its REST API and gateway."""

import pytest

from sojourn.core.errors import KeyRefused, PlatformDown, ThreadsUnsupported
from sojourn.core.places import build_session_key
from sojourn.gateway.handoff_target import open_target_place
from sojourn.ports.platform import Button
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_harness import InboundListener
from tests.servers.discord import discord_rig
from tests.servers.discord_payloads import ANN, BOT, DM, FORUM, GARDEN, GUILD, SHELF, VOICE
from tests.servers.platform_server import hearing


@pytest.fixture
async def harness():
    async with discord_rig() as harness:
        yield harness


class TestDiscord(PlatformContract):
    """What every network keeps."""


@pytest.fixture
async def bot(harness):
    made = harness.connect()
    yield made
    await made.close()


async def test_where_no_thread_may_stand_alone_it_hangs_on_a_first_message(harness, bot):
    harness.server.no_lone_threads = True
    thread = await bot.create_handoff_thread(bot.home(str(GARDEN)), "Sojourn — garden")
    [seed] = harness.server.posts[GARDEN]
    assert (seed.text, seed.id) == ("Sojourn — garden", thread.chat)
    assert build_session_key(thread) == f"discord:thread:{seed.id}:{seed.id}"


async def test_a_refused_thread_leaves_nothing_behind_and_says_why(harness, bot):
    harness.server.no_threads = True
    with pytest.raises(ThreadsUnsupported, match="Missing Permissions") as refused:
        await bot.create_handoff_thread(bot.home(str(GARDEN)), "garden")
    assert "create public threads" in refused.value.hint
    assert harness.server.posts[GARDEN] == []


@pytest.mark.parametrize(("channel", "kind"), [(DM, "private"), (VOICE, "voice"), (SHELF, "category")])
async def test_some_channels_have_no_threads(bot, channel, kind):
    with pytest.raises(ThreadsUnsupported, match=f"A {kind} channel"):
        await bot.create_handoff_thread(bot.home(str(channel)), "garden")


async def test_a_private_chat_that_is_named_by_its_bare_id_is_still_keyed_as_one(harness, bot):
    """An id does not tell what it is; a hand-off that lands there must have the key of the next message."""
    landed = await open_target_place(bot, bot.home(str(DM)), "garden")
    async with hearing(harness, bot) as ear:
        await harness.write(bot.home(f"@me/{DM}"), "hello", ANN)
        assert build_session_key(landed, ANN) == build_session_key((await ear.hear()).place, ANN) == f"discord:dm:{DM}"
    assert "private channel" in landed.fallback_reason


async def test_a_channel_that_is_gone_has_no_threads(bot):
    with pytest.raises(ThreadsUnsupported, match="Unknown Channel"):
        await bot.create_handoff_thread(bot.home("12345"), "garden")


async def test_a_forum_gets_a_post(harness, bot):
    thread = await bot.create_handoff_thread(bot.home(str(FORUM)), "Sojourn — garden")
    assert (thread.kind, thread.parent) == ("thread", str(FORUM))
    assert [one.text for one in harness.server.posts[int(thread.chat)]] == ["Sojourn — garden"]


async def test_from_a_thread_the_next_one_is_opened_beside_it(harness, bot):
    first = await bot.create_handoff_thread(bot.home(str(GARDEN)), "one")
    second = await bot.create_handoff_thread(first, "two")
    assert (second.parent, second.chat != first.chat) == (str(GARDEN), True)


async def test_a_thread_nobody_told_us_about_is_still_a_thread(harness, bot):
    harness.server.tells_threads = False
    thread = await bot.create_handoff_thread(bot.home(str(GARDEN)), "garden")
    async with hearing(harness, bot) as ear:
        await harness.write(thread, "hello", ANN)
        assert build_session_key((await ear.hear()).place, ANN) == build_session_key(thread)


async def test_what_was_written_while_the_line_was_down_is_heard_afterwards(harness, bot):
    place = bot.home(f"@me/{DM}")
    async with hearing(harness, bot) as ear:
        await harness.write(place, "kept", ANN)
        assert (await ear.hear()).text == "kept"
        ear.open()
        await harness.write(place, "heard, not kept", ANN)
        assert (await ear.hear()).text == "heard, not kept"
        await harness.drop_connections()
    await harness.write(place, "in between", ANN)
    async with hearing(harness, bot) as ear:
        assert [(await ear.hear()).text for _ in range(2)] == ["heard, not kept", "in between"]
    assert len(harness.server.resumed) == 1


async def test_a_session_that_discord_forgot_is_begun_anew(harness, bot):
    async with hearing(harness, bot) as ear:
        await harness.write(bot.home(f"@me/{DM}"), "hello", ANN)
        await ear.hear()
    harness.server.sessions.clear()
    ear = InboundListener(bot)
    with pytest.raises(PlatformDown):
        await ear.hear()
    async with hearing(harness, bot) as ear:
        await harness.write(bot.home(f"@me/{DM}"), "hello again", ANN)
        assert (await ear.hear()).text == "hello again"


@pytest.mark.parametrize(("code", "said"), [(4014, "Message Content Intent"), (4004, "SOJOURN_DISCORD_TOKEN")])
async def test_what_the_gateway_refuses_is_told_apart(harness, bot, code, said):
    harness.server.close_with = code
    ear = InboundListener(bot)
    with pytest.raises(KeyRefused) as refused:
        await ear.hear()
    assert said in refused.value.hint


async def test_words_among_people_are_not_meant_for_us(harness, bot):
    async with hearing(harness, bot) as ear:
        await harness.server.say(GARDEN, ANN, "nice weather")
        assert not (await ear.hear()).mentioned
        await harness.server.say(GARDEN, ANN, f"<@{BOT}> is it?")
        asked = await ear.hear()
    assert (asked.text, asked.mentioned, asked.sender.name) == ("is it?", True, "Ann")


async def test_news_and_webhooks_are_left_out(harness, bot):
    async with hearing(harness, bot) as ear:
        await harness.server.say(GARDEN, ANN, "Ann pinned a message", type=6)
        await harness.server.say(GARDEN, ANN, "build failed", webhook_id="77")
        await harness.server.say(GARDEN, ANN, "hello")
        assert (await ear.hear()).text == "hello"


async def test_a_lost_file_is_said(harness, bot):
    async with hearing(harness, bot) as ear:
        gone = {"id": "1", "filename": "film.mp4", "size": 1, "url": f"{harness.server.url}/files/x", "proxy_url": ""}
        await harness.server.say(DM, ANN, "watch", attachments=[gone])
        heard = await ear.hear()
    assert (heard.files, heard.text.splitlines()[0]) == ((), "watch")
    assert "[film.mp4 could not be downloaded: Discord: " in heard.text


async def test_a_file_that_is_too_large_is_not_fetched(harness, bot):
    async with hearing(harness, bot) as ear:
        large = {"id": "1", "filename": "film.mp4", "size": 500_000_000, "url": "http://127.0.0.1:1", "proxy_url": ""}
        await harness.server.say(DM, ANN, "watch", attachments=[large])
        assert "[film.mp4 could not be downloaded: The file has more than 50 MB.]" in (await ear.hear()).text


async def test_a_bare_id_is_known_once_it_was_seen(harness, bot):
    thread = await bot.create_handoff_thread(bot.home(str(GARDEN)), "garden")
    assert bot.home(thread.chat).kind == "group"
    async with hearing(harness, bot) as ear:
        await harness.server.tell("THREAD_CREATE", harness.server.channels[int(thread.chat)])
        await harness.write(thread, "hello", ANN)
        await ear.hear()
        assert build_session_key(bot.home(thread.chat)) == build_session_key(thread)


async def test_nobody_is_called_by_what_a_model_writes(harness, bot):
    await bot.send(bot.home(str(GARDEN)), "@everyone look")
    assert harness.server.calls[-1][2]["allowed_mentions"] == {"parse": []}


async def test_a_message_is_known_by_its_nonce_if_the_library_asks_twice(harness, bot):
    await bot.send(bot.home(str(GARDEN)), "hello")
    await bot.send(bot.home(str(GARDEN)), "hello")
    one, two = [given for method, path, given in harness.server.calls if path.endswith("/messages")]
    assert one["enforce_nonce"]
    assert one["nonce"] != two["nonce"]


# what was missed
async def away(harness, *places):
    """The bot has heard something in each of these, and then its process ends."""
    bot = harness.connect()
    async with hearing(harness, bot) as ear:
        for place in places:
            await harness.write(place, "before", ANN)
            assert (await ear.hear()).text == "before"
        await ear.hears_nothing()
    await bot.close()
    harness.server.sessions.clear()


def looked_up(harness):
    return [path for method, path, _ in harness.server.calls if method == "GET" and "guilds" in path]


async def test_what_was_written_while_we_were_away_is_heard_in_order_and_once(harness):
    new = harness.connect()
    dm, garden = new.home(f"@me/{DM}"), new.home(f"{GUILD}/{GARDEN}")
    thread = await new.create_handoff_thread(garden, "garden")
    await away(harness, dm, garden, thread)
    for n, place in enumerate((garden, thread, dm, garden)):
        await harness.write(place, f"away {n}", ANN)
    async with hearing(harness, new) as ear:
        await harness.write(dm, "now", ANN)
        heard = [await ear.hear() for _ in range(5)]
        await ear.hears_nothing()
    assert [one.text for one in heard] == ["away 0", "away 1", "away 2", "away 3", "now"]
    places = [garden, thread, dm, garden, dm]
    assert [build_session_key(one.place) for one in heard] == [build_session_key(one) for one in places]
    assert all(one.mentioned for one in heard)
    await new.close()


async def test_what_was_said_before_the_first_start_is_not_for_us(harness, bot):
    await harness.write(bot.home(f"{GUILD}/{GARDEN}"), "long ago", ANN)
    async with hearing(harness, bot) as ear:
        await harness.write(bot.home(f"{GUILD}/{GARDEN}"), "today", ANN)
        assert (await ear.hear()).text == "today"
    assert looked_up(harness) == []


async def test_more_than_one_page_was_missed(harness, bot):
    dm = bot.home(f"@me/{DM}")
    await away(harness, dm)
    texts = [f"away {n}" for n in range(130)]
    for text in texts:
        await harness.write(dm, text, ANN)
    async with hearing(harness, bot) as ear:
        assert [(await ear.hear()).text for _ in texts] == texts


async def test_a_channel_whose_past_we_may_not_read_keeps_us_from_nothing(harness, bot):
    dm = bot.home(f"@me/{DM}")
    await away(harness, dm)
    harness.server.hidden.add(GARDEN)
    await harness.write(bot.home(f"{GUILD}/{GARDEN}"), "hidden", ANN)
    await harness.write(dm, "seen", ANN)
    async with hearing(harness, bot) as ear:
        assert (await ear.hear()).text == "seen"


async def test_a_line_that_is_lost_while_catching_up_catches_up_again(harness, bot):
    dm = bot.home(f"@me/{DM}")
    await away(harness, dm)
    for n in range(3):
        await harness.write(dm, f"away {n}", ANN)
    async with hearing(harness, bot) as ear:
        assert (await ear.hear()).text == "away 0"
        await harness.drop_connections()
    async with hearing(harness, bot) as ear:
        assert [(await ear.hear()).text for _ in range(3)] == ["away 0", "away 1", "away 2"]


async def test_a_line_that_goes_on_does_not_look_everything_up(harness, bot):
    async with hearing(harness, bot) as ear:
        await harness.write(bot.home(f"@me/{DM}"), "hello", ANN)
        await ear.hear()
        await ear.hears_nothing()
    harness.server.calls.clear()
    [session] = harness.server.sessions.values()
    told = len(session.events)
    async with hearing(harness, bot) as ear:
        await harness.write(bot.home(f"@me/{DM}"), "again", ANN)
        assert (await ear.hear()).text == "again"
    assert harness.server.resumed == [told]  # behind what was kept
    assert looked_up(harness) == []


# buttons
async def test_a_button_is_let_go_of_when_the_press_is_kept(harness, bot):
    dm = bot.home(f"@me/{DM}")
    async with hearing(harness, bot) as ear:
        await bot.ask(dm, "May I?", [Button(label="Yes", value="q:0")])
        await harness.press(dm, harness.server.posts[DM][-1], Button(label="Yes", value="q:0"), ANN)
        assert ((await ear.hear()).pressed, len(harness.server.buttons)) == ("q:0", 1)
        await ear.hears_nothing()
        assert harness.server.buttons == {}


async def test_a_press_that_discord_no_longer_waits_for_keeps_nobody_from_listening(harness, bot):
    dm = bot.home(f"@me/{DM}")
    async with hearing(harness, bot) as ear:
        await bot.ask(dm, "May I?", [Button(label="Yes", value="q:0")])
        await harness.press(dm, harness.server.posts[DM][-1], Button(label="Yes", value="q:0"), ANN)
        await ear.hear()
        harness.server.buttons.clear()
        await harness.write(dm, "and on", ANN)
        assert (await ear.hear()).text == "and on"
