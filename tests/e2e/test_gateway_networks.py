"""The whole way on real wires: a person writes on Telegram, Discord or Slack, and a session is handed over to there."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest

from sojourn.core.places import build_session_key
from sojourn.ports.store import Listing
from sojourn.ports.tool import Question
from sojourn.testing.scripted_runtime import Ask, PauseGate, SayText
from tests.integration.gateway.worlds import world
from tests.servers.discord import discord_rig
from tests.servers.slack import slack_rig
from tests.servers.telegram import telegram_rig

RIGS = {"telegram": telegram_rig, "discord": discord_rig, "slack": slack_rig}
THREADED = [("telegram", "dm"), ("telegram", "group"), ("discord", "group"), ("slack", "dm"), ("slack", "group")]


class Network:
    """A gateway with one real adapter, on the network's own server."""

    def __init__(self, at, harness, adapter, home) -> None:
        self.at, self.harness, self.adapter, self._home = at, harness, adapter, home
        self.people = {one.id for one in harness.people}

    def thread(self, id):
        """As a person finds it; on Discord a thread is a channel of its own."""
        return self.adapter.home(id if self.adapter.info.name == "discord" else f"{self._home}/{id}")

    async def answers(self, place, count):
        async with asyncio.timeout(10):
            while (
                len(texts := [one.text for one in await self.harness.read_messages(place) if one.by not in self.people])
                < count
            ):
                await asyncio.sleep(0.02)
        return texts


@pytest.fixture
async def network(request, home, store):
    name, kind, *grows = request.param
    async with RIGS[name]() as harness:
        settings = {"gateway_owners": f"{name}:{harness.people[0].id}", "gateway_home": f"{name}:{harness.chats[kind]}"}
        settings |= {"gateway_streaming": bool(grows), "gateway_streaming_seconds": 0.0}
        async with world(home, store, **settings) as at:
            adapter = harness.connect()
            await at.start(adapter)
            await harness.until_listening()
            yield Network(at, harness, adapter, harness.chats[kind])


everywhere = pytest.mark.parametrize("network", [(name, "dm") for name in RIGS], indirect=True)


@everywhere
async def test_a_message_is_answered_in_place(network):
    place = network.adapter.home(network.harness.chats["dm"])
    network.at.runtime.on("how are you", SayText("**Fine**, 1 < 2."))
    await network.harness.write(place, "how are you", network.harness.people[0])
    [answer] = await network.answers(place, 1)
    assert "Fine" in answer
    assert "1 < 2" in answer


@everywhere
async def test_a_stranger_gets_a_code_and_no_answer(network):
    place = network.adapter.home(network.harness.chats["dm"])
    await network.harness.write(place, "tell me all", network.harness.people[1])
    [answer] = await network.answers(place, 1)
    assert "tell me all" not in answer
    assert network.at.runtime.seen == []


@everywhere
async def test_a_lost_line_is_opened_again_and_nothing_is_answered_twice(network):
    place = network.adapter.home(network.harness.chats["dm"])
    await network.harness.write(place, "before", network.harness.people[0])
    await network.answers(place, 1)
    await network.harness.drop_connections()
    await network.harness.write(place, "meanwhile", network.harness.people[0])
    assert await network.answers(place, 2) == ["before", "meanwhile"]
    await network.at.quiet()
    assert len(network.at.runtime.seen) == 2


@everywhere
async def test_a_long_answer_arrives_whole_in_pieces_the_network_takes(network):
    words = [f"wörd{n}" for n in range(9000)]
    network.at.runtime.on("tell me", SayText(" ".join(words)))
    place = network.adapter.home(network.harness.chats["dm"])
    await network.harness.write(place, "tell me", network.harness.people[0])
    await network.answers(place, 2)
    await network.at.quiet()
    pieces = await network.answers(place, 2)
    assert " ".join(pieces).split() == words


@pytest.mark.parametrize("network", [(name, "dm", "grows") for name in RIGS], indirect=True)
async def test_an_answer_grows_in_one_message(network):
    place = network.adapter.home(network.harness.chats["dm"])
    network.at.runtime.on(
        "count", SayText("**one** two three four five six", kept=False), PauseGate("go"), SayText(" seven", kept=False)
    )
    await network.harness.write(place, "count", network.harness.people[0])
    [begun] = await network.answers(place, 1)
    assert begun.endswith(" …")
    network.at.runtime.gate("go").open()
    await network.at.quiet()
    [whole] = await network.answers(place, 1)
    assert whole.endswith("six seven")


@everywhere
async def test_a_question_has_buttons_and_only_the_owners_press_counts(network):
    """Through the inbox like everything else; then the message shows what was chosen."""
    place, (ann, ben) = network.adapter.home(network.harness.chats["dm"]), network.harness.people
    network.at.runtime.on("clean up", Ask(Question(id="q1", text="May I delete it?", detail="rm x")), SayText("done"))
    await network.harness.write(place, "clean up", ann)
    await network.answers(place, 1)
    [asked] = [one for one in await network.harness.read_messages(place) if one.buttons]
    assert [one.label for one in asked.buttons] == ["Allow once", "Allow for this session", "Deny"]
    await network.harness.press(place, asked, asked.buttons[0], ben)
    await network.harness.press(place, asked, asked.buttons[2], ann)
    async with asyncio.timeout(10):
        while "done" not in [one.text for one in await network.harness.read_messages(place)]:
            await asyncio.sleep(0.02)
    await network.at.quiet()
    [shown] = [one for one in await network.harness.read_messages(place) if one.id == asked.id]
    assert (shown.buttons, "→ Deny" in shown.text, "rm x" in shown.text) == ((), True, True)
    assert "deny" in await network.answers(place, 3)
    assert len(network.at.runtime.seen) == 1


@pytest.mark.parametrize("network", THREADED, indirect=True)
async def test_a_session_is_handed_to_a_thread_and_goes_on_there(network):
    session = await network.at.session("plant a tree", title="garden")
    done = await network.at.hand_over(session, network.adapter.info.name)
    assert (done.state, bool(done.thread_id)) == ("completed", True)
    thread = network.thread(done.thread_id)
    assert build_session_key(thread) == done.place
    await network.harness.write(thread, "and a rose", network.harness.people[0])
    assert (await network.answers(thread, 2))[1] == "and a rose"
    assert network.at.runtime.seen[-1].session.id == session.id
    assert len(await network.at.service.find(Listing())) == 1


@pytest.mark.parametrize("network", [("discord", "dm")], indirect=True)
async def test_where_there_are_no_threads_it_lands_in_the_home_channel_and_says_why(network):
    session = await network.at.session("plant a tree", title="garden")
    done = await network.at.hand_over(session, "discord")
    assert (done.state, done.thread_id) == ("completed", "")
    assert "private channel" in done.note
    home = network.adapter.home(network.harness.chats["dm"])
    await network.harness.write(home, "and a rose", network.harness.people[0])
    assert (await network.answers(home, 2))[1] == "and a rose"
    assert network.at.runtime.seen[-1].session.id == session.id


async def test_a_token_in_the_environment_is_all_it_takes(home):
    async with telegram_rig() as harness:
        env = dict(os.environ) | {
            "SOJOURN_TELEGRAM_TOKEN": harness.secret,
            "SOJOURN_TELEGRAM_BASE_URL": harness.server.url,
            "SOJOURN_GATEWAY_OWNERS": f"telegram:{harness.people[0].id}",
            "SOJOURN_RUNTIME": "echo",
        }
        program = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "sojourn", "gateway", "run", env=env, stdout=subprocess.DEVNULL
        )
        try:
            async with asyncio.timeout(30):
                await harness.until_listening()
            at = Network(None, harness, harness.connect(), "")
            place = at.adapter.home(harness.chats["dm"])
            await harness.write(place, "anybody there?", harness.people[0])
            assert "anybody there?" in (await at.answers(place, 1))[0]
        finally:
            program.terminate()
            assert await program.wait() in (0, -signal.SIGTERM, 128 + signal.SIGTERM)
