"""mattermost, on a server that speaks its wire."""

from collections.abc import AsyncIterator

import pytest

from sojourn.core.errors import BadInput, ThreadsUnsupported
from sojourn.core.places import build_session_key
from sojourn.platforms.mattermost.adapter import Mattermost
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_harness import PICTURE
from sojourn.testing.platform_steps import listening
from tests.servers.mattermost import US, MattermostHarness


@pytest.fixture
async def harness() -> AsyncIterator[MattermostHarness]:
    async with MattermostHarness() as harness:
        yield harness


@pytest.fixture
async def adapter(harness: MattermostHarness) -> AsyncIterator[Mattermost]:
    made = harness.connect()
    yield made
    await made.close()


class TestMattermost(PlatformContract):
    pass


async def test_what_was_said_before_the_first_start_is_not_heard(harness: MattermostHarness, adapter: Mattermost):
    home = adapter.home(harness.chats["dm"])
    await harness.write(home, "long ago", harness.people[0])
    async with listening(harness, adapter) as ear:
        await harness.write(home, "now", harness.people[0])
        assert (await ear.hear()).text == "now"
        await ear.hears_nothing()
    async with listening(harness, adapter) as ear:
        await ear.hears_nothing()


async def test_what_was_said_while_away_is_heard_in_order(harness: MattermostHarness, adapter: Mattermost):
    places = [adapter.home(one) for one in harness.chats.values()]
    async with listening(harness, adapter) as ear:
        await harness.write(places[0], "before", harness.people[0])
        await ear.hear()
        await ear.hears_nothing()
    for n in range(6):
        await harness.write(places[n % 2], f"away {n}", harness.people[0])
    async with listening(harness, adapter) as ear:
        assert [(await ear.hear()).text for _ in range(6)] == [f"away {n}" for n in range(6)]
        await ear.hears_nothing()


async def test_in_a_channel_it_says_whether_we_are_spoken_to(harness: MattermostHarness, adapter: Mattermost):
    channel, ann = adapter.home(harness.chats["channel"]), harness.people[0]
    async with listening(harness, adapter) as ear:
        theirs = await harness.server.keep(ann.id, channel.chat, "who comes?")
        await harness.server.keep(ann.id, channel.chat, "@sojourn do you?")
        await harness.server.keep(ann.id, channel.chat, "@sojourner does", theirs["id"])
        ours = await adapter.create_handoff_thread(channel, "A thread of ours")
        await harness.write(ours, "hello there", ann)
        assert [(await ear.hear()).mentioned for _ in range(4)] == [False, True, False, True]


async def test_a_file_that_is_gone_is_said_and_keeps_nobody_waiting(harness: MattermostHarness, adapter: Mattermost):
    async with listening(harness, adapter) as ear:
        await harness.server.keep(harness.people[0].id, harness.chats["dm"], "look", files=["gone"])
        heard = await ear.hear()
    assert heard.text.startswith("look\n[A file could not be downloaded: Mattermost says: 404")
    assert heard.files == ()


async def test_a_file_that_is_too_large_is_not_fetched(harness: MattermostHarness, adapter: Mattermost, monkeypatch):
    monkeypatch.setattr("sojourn.platforms.downloads.MAX_FILE_BYTES", 10)
    async with listening(harness, adapter) as ear:
        await harness.write(adapter.home(harness.chats["dm"]), "look", harness.people[0], files=[PICTURE])
        heard = await ear.hear()
    assert "could not be downloaded: The file has more than" in heard.text
    assert heard.files == ()


async def test_whoever_removes_us_at_once_does_not_end_the_connection(harness: MattermostHarness, adapter: Mattermost):
    async with listening(harness, adapter) as ear:
        for line in harness.server.lines:
            await line.send_json(
                {"event": "user_added", "data": {"user_id": US}, "broadcast": {"channel_id": "x" * 26}}
            )
        await harness.write(adapter.home(harness.chats["dm"]), "still there?", harness.people[0])
        assert (await ear.hear()).text == "still there?"


async def test_the_system_is_not_heard(harness: MattermostHarness, adapter: Mattermost):
    async with listening(harness, adapter) as ear:
        await harness.server.keep(
            harness.people[0].id, harness.chats["channel"], "ann joined", type="system_join_channel"
        )
        await harness.write(adapter.home(harness.chats["dm"]), "a person", harness.people[0])
        assert (await ear.hear()).text == "a person"


async def test_typing_is_shown_in_the_thread(harness: MattermostHarness, adapter: Mattermost):
    thread = await adapter.create_handoff_thread(adapter.home(harness.chats["dm"]), "A thread")
    await adapter.typing(thread)
    assert harness.server.typed == [{"channel_id": harness.chats["dm"], "parent_id": thread.thread}]
    assert harness.server.posts[str(thread.thread)]["user_id"] == US


async def test_a_thread_in_a_thread_is_refused(harness: MattermostHarness, adapter: Mattermost):
    thread = await adapter.create_handoff_thread(adapter.home(harness.chats["dm"]), "A thread")
    with pytest.raises(ThreadsUnsupported):
        await adapter.create_handoff_thread(thread, "Another")


def test_a_name_is_not_an_id(adapter: Mattermost):
    with pytest.raises(BadInput) as refused:
        adapter.home("town-square")
    assert "26" in refused.value.hint


async def test_a_channel_we_are_invited_to_later_is_keyed_like_what_is_written_there(
    harness: MattermostHarness, adapter: Mattermost
):
    channel, ann = "n" * 26, harness.people[0]
    async with listening(harness, adapter) as ear:
        await harness.server.invite(channel, "O")
        await harness.write(adapter.home(harness.chats["dm"]), "did you see?", ann)
        await ear.hear()
        home = adapter.home(channel)
        await harness.write(home, "@sojourn welcome", ann)
        assert build_session_key(home, ann) == build_session_key((await ear.hear()).place, ann)
