"""mattermost, on a server that speaks its wire."""

from collections.abc import AsyncIterator

import pytest

from sojourn.core.errors import BadInput, ThreadsUnsupported
from sojourn.core.places import build_session_key
from sojourn.platforms.mattermost.adapter import Mattermost
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_steps import listening
from tests.servers.mattermost import US, MattermostRig


@pytest.fixture
async def rig() -> AsyncIterator[MattermostRig]:
    async with MattermostRig() as rig:
        yield rig


@pytest.fixture
async def adapter(rig: MattermostRig) -> AsyncIterator[Mattermost]:
    made = rig.connect()
    yield made
    await made.close()


class TestMattermost(PlatformContract):
    pass


async def test_what_was_said_before_the_first_start_is_not_heard(rig: MattermostRig, adapter: Mattermost):
    home = adapter.home(rig.chats["dm"])
    await rig.write(home, "long ago", rig.people[0])
    async with listening(rig, adapter) as ear:
        await rig.write(home, "now", rig.people[0])
        assert (await ear.hear()).text == "now"
        await ear.hears_nothing()
    async with listening(rig, adapter) as ear:
        await ear.hears_nothing()


async def test_what_was_said_while_away_is_heard_in_order(rig: MattermostRig, adapter: Mattermost):
    places = [adapter.home(one) for one in rig.chats.values()]
    async with listening(rig, adapter) as ear:
        await rig.write(places[0], "before", rig.people[0])
        await ear.hear()
        await ear.hears_nothing()
    for n in range(6):
        await rig.write(places[n % 2], f"away {n}", rig.people[0])
    async with listening(rig, adapter) as ear:
        assert [(await ear.hear()).text for _ in range(6)] == [f"away {n}" for n in range(6)]
        await ear.hears_nothing()


async def test_in_a_channel_it_says_whether_we_are_spoken_to(rig: MattermostRig, adapter: Mattermost):
    channel, ann = adapter.home(rig.chats["channel"]), rig.people[0]
    async with listening(rig, adapter) as ear:
        theirs = await rig.server.keep(ann.id, channel.chat, "who comes?")
        await rig.server.keep(ann.id, channel.chat, "@sojourn do you?")
        await rig.server.keep(ann.id, channel.chat, "@sojourner does", theirs["id"])
        ours = await adapter.create_handoff_thread(channel, "A thread of ours")
        await rig.write(ours, "hello there", ann)
        assert [(await ear.hear()).mentioned for _ in range(4)] == [False, True, False, True]


async def test_a_file_that_is_gone_is_said_and_keeps_nobody_waiting(rig: MattermostRig, adapter: Mattermost):
    async with listening(rig, adapter) as ear:
        await rig.server.keep(rig.people[0].id, rig.chats["dm"], "look", files=["gone"])
        heard = await ear.hear()
    assert heard.text.startswith("look\n[A file could not be downloaded: Mattermost says: 404")
    assert heard.files == ()


async def test_the_system_is_not_heard(rig: MattermostRig, adapter: Mattermost):
    async with listening(rig, adapter) as ear:
        await rig.server.keep(rig.people[0].id, rig.chats["channel"], "ann joined", type="system_join_channel")
        await rig.write(adapter.home(rig.chats["dm"]), "a person", rig.people[0])
        assert (await ear.hear()).text == "a person"


async def test_typing_is_shown_in_the_thread(rig: MattermostRig, adapter: Mattermost):
    thread = await adapter.create_handoff_thread(adapter.home(rig.chats["dm"]), "A thread")
    await adapter.typing(thread)
    assert rig.server.typed == [{"channel_id": rig.chats["dm"], "parent_id": thread.thread}]
    assert rig.server.posts[str(thread.thread)]["user_id"] == US


async def test_a_thread_in_a_thread_is_refused(rig: MattermostRig, adapter: Mattermost):
    thread = await adapter.create_handoff_thread(adapter.home(rig.chats["dm"]), "A thread")
    with pytest.raises(ThreadsUnsupported):
        await adapter.create_handoff_thread(thread, "Another")


def test_a_name_is_not_an_id(adapter: Mattermost):
    with pytest.raises(BadInput) as refused:
        adapter.home("town-square")
    assert "26" in refused.value.hint


async def test_a_channel_we_are_invited_to_later_is_keyed_like_what_is_written_there(
    rig: MattermostRig, adapter: Mattermost
):
    channel, ann = "n" * 26, rig.people[0]
    async with listening(rig, adapter) as ear:
        await rig.server.invite(channel, "O")
        await rig.write(adapter.home(rig.chats["dm"]), "did you see?", ann)
        await ear.hear()
        home = adapter.home(channel)
        await rig.write(home, "@sojourn welcome", ann)
        assert build_session_key(home, ann) == build_session_key((await ear.hear()).place, ann)
