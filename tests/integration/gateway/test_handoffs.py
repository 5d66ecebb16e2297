"""A session goes from the terminal to a chat and back."""

import asyncio

import pytest

from sojourn.core.errors import BadInput, Conflict, NotDriving, NotFound, PlatformDown, RuntimeFailed, SessionBusy
from sojourn.ports.service import TurnRequest
from sojourn.ports.store import Listing
from sojourn.ports.tool import ToolResult
from sojourn.service.local import LocalService
from sojourn.stores.sql.handoff_rules import in_progress
from sojourn.testing.app import FakeApp, make_settings
from sojourn.testing.fake_platform import PlainPlatform
from sojourn.testing.scripted_runtime import CallTool, Fail, PauseGate, SayText, ScriptedRuntime
from sojourn.testing.turn_runner import make_tool
from tests.integration.gateway.worlds import CLI, wait_for, world


async def look_up(_at, _given):
    return ToolResult(text="a plant")


async def test_a_session_lands_in_a_fresh_thread(home, store):
    async with world(home, store) as at:
        await at.start()
        session = await at.session("plant a tree", title="garden")
        done = await at.hand_over(session)
        assert done.state == "completed"
        assert at.network.threads_opened == [("42", "Sojourn — garden")]
        assert len(at.network.texts("42", done.thread_id)) == 1
        assert at.network.texts("42") == []
        now = await at.service.get(session.id)
        assert (now.driver, now.handoff_state, now.handoff_platform) == ("fake", "completed", "fake")


async def test_the_next_words_in_the_thread_go_on_with_the_session(home, store):
    async with world(home, store) as at:
        await at.start()
        session = await at.session("plant a tree")
        done = await at.hand_over(session)
        at.network.say("42", "and a rose", thread=done.thread_id)
        texts = await at.texts("42", 2, done.thread_id)
        assert texts[1] == "and a rose"
        assert at.runtime.seen[-1].session.id == session.id
        assert len(await at.service.find(Listing())) == 1


async def test_the_model_is_asked_with_the_original_roles_and_calls(home, store):
    async with world(home, store) as at:
        at.kit.tool_list = [make_tool("look_up", look_up, "Looks up.", word="what")]
        at.runtime.on("what is a rose", CallTool("look_up", {"word": "rose"}), SayText("A plant."))
        await at.start()
        session = await at.session("what is a rose", title="flowers")
        await at.hand_over(session)
        asked = at.runtime.seen[-1]
        roles = [past.message.role for past in asked.history]
        assert roles == ["user", "assistant", "tool", "assistant"]
        assert "look_up" in asked.history[1].message.tool_calls
        assert "handed over" in asked.said
        assert not any(words in asked.said for words in ("what is a rose", "A plant.", "look_up"))
        kept = [one.item for one in await at.service.messages(session.id)]
        assert '"internal": true' in kept[4].extra


async def test_without_threads_it_lands_in_the_home_channel_and_says_why(home, store):
    async with world(home, store) as at:
        await at.start(PlainPlatform(at.network))
        session = await at.session("plant a tree")
        done = await at.hand_over(session)
        assert (done.state, done.thread_id) == ("completed", "")
        assert "no threads" in done.note
        at.network.say("42", "hello")
        assert (await at.texts("42", 2))[1] == "hello"
        assert at.runtime.seen[-1].session.id == session.id


async def test_a_refused_thread_is_recorded_and_said(home, store):
    async with world(home, store) as at:
        at.network.threads_refused = "topics are switched off"
        await at.start()
        done = await at.hand_over(await at.session("plant a tree"))
        assert done.state == "completed"
        assert "topics are switched off" in done.note
        assert len(at.network.texts("42")) == 1


async def test_what_the_home_channel_talked_about_can_be_brought_back(home, store):
    async with world(home, store) as at:
        await at.start(PlainPlatform(at.network))
        at.network.say("42", "an old story")
        await at.texts("42", 1)
        [old] = await at.service.find(Listing())
        done = await at.hand_over(await at.session("plant a tree"))
        assert done.state == "completed"
        at.network.say("42", "/resume")
        assert "an old story" in (await at.texts("42", 3))[2]
        at.network.say("42", "go on")
        await at.texts("42", 4)
        assert at.runtime.seen[-1].session.id == old.id


async def test_a_failing_turn_fails_the_handoff_and_leaves_the_terminal_intact(home, store):
    async with world(home, store) as at:
        await at.start()
        session = await at.session("plant a tree")
        at.runtime.otherwise = (Fail(RuntimeFailed("the model is away")),)
        done = await at.hand_over(session)
        assert done.state == "failed"
        assert "the model is away" in done.error
        assert at.network.texts("42", done.thread_id) == []
        now = await at.service.get(session.id)
        assert (now.driver, now.handoff_state) == ("cli", "failed")
        at.runtime.otherwise = None
        await at.service.say(session.id, TurnRequest(text="still here?"), CLI)
        await at.service.settle()
        assert at.runtime.seen[-1].said == "still here?"
        assert await store.binding(done.place) is None


async def test_an_empty_session_can_be_handed_over(home, store):
    async with world(home, store) as at:
        await at.start()
        done = await at.hand_over(await at.session())
        assert done.state == "completed"
        assert at.runtime.seen[-1].history == ()


async def test_back_to_the_terminal_by_taking_the_wheel(home, store):
    async with world(home, store) as at:
        await at.start()
        session = await at.session("plant a tree")
        done = await at.hand_over(session)
        await at.service.take_over(session.id, CLI)
        await at.service.say(session.id, TurnRequest(text="back at the desk"), CLI)
        await at.service.settle()
        at.network.say("42", "and here?", thread=done.thread_id)
        texts = await at.texts("42", 2, done.thread_id)
        assert "driven from cli" in texts[1]
        at.network.say("42", "/take", thread=done.thread_id)
        await at.texts("42", 3, done.thread_id)
        at.network.say("42", "on the phone again", thread=done.thread_id)
        assert (await at.texts("42", 4, done.thread_id))[3] == "on the phone again"


async def test_back_to_the_terminal_by_a_word_in_the_chat(home, store):
    async with world(home, store) as at:
        await at.start()
        at.network.say("42", "from the phone")
        await at.texts("42", 1)
        at.network.say("42", "/handoff cli")
        [_, told] = await at.texts("42", 2)
        [session] = await at.service.find(Listing())
        assert f"sojourn chat --session {session.id}" in told
        assert session.driver == "cli"
        await at.service.say(session.id, TurnRequest(text="at the desk"), CLI)
        await at.service.settle()
        at.network.say("42", "something new")
        await at.texts("42", 3)
        assert len(await at.service.find(Listing())) == 2


async def test_from_chat_to_chat(home, store):
    async with world(home, store) as at:
        await at.start()
        at.network.say("42", "from the phone")
        await at.texts("42", 1)
        at.network.say("42", "/handoff fake:#garden")
        assert "On its way" in (await at.texts("42", 2))[1]
        await at.until(lambda: at.network.threads_opened)
        thread = await at.until(lambda: [key[1] for key in at.network.posts if key[0] == "#garden" and key[1]])
        await at.texts("#garden", 1, thread[0])
        at.network.say("#garden", "here I am", thread=thread[0])
        await at.texts("#garden", 2, thread[0])
        assert len(await at.service.find(Listing())) == 1


# asking
async def test_without_a_gateway_it_is_said_at_once(home, store):
    async with world(home, store) as at:
        session = await at.session("hello")
        with pytest.raises(PlatformDown, match="No gateway is running") as told:
            await at.request(session, "fake")
        assert "sojourn gateway run" in told.value.hint


async def test_what_cannot_arrive_is_refused_at_once(home, store):
    async with world(home, store, gateway_home="") as at:
        await at.start()
        session = await at.session("hello")
        with pytest.raises(NotFound, match="telegram") as told:
            await at.request(session, "telegram")
        assert "fake" in told.value.hint
        with pytest.raises(BadInput, match="no home channel") as told:
            await at.request(session, "fake")
        assert "/sethome" in told.value.hint
        assert (await at.service.get(session.id)).handoff_state is None


async def test_mid_turn_it_is_refused(home, store):
    async with world(home, store) as at:
        at.runtime.on("slow", PauseGate("go"))
        await at.start()
        session = await at.session()
        await at.service.say(session.id, TurnRequest(text="slow"), CLI)
        with pytest.raises(SessionBusy):
            await at.request(session, "fake", surface="cli")
        at.runtime.gate("go").open()


async def test_sethome_chooses_where_it_lands(home, store):
    async with world(home, store, gateway_home="") as at:
        await at.start()
        at.network.say("#garden", "/sethome")
        await at.texts("#garden", 1)
        await at.hand_over(await at.session("plant a tree", title="trees"))
        assert at.network.threads_opened == [("#garden", "Sojourn — trees")]


async def test_after_it_arrived_the_giver_can_do_nothing(home, store):
    async with world(home, store) as at:
        await at.start()
        session = await at.session("plant a tree")
        await at.hand_over(session)
        with pytest.raises(NotDriving):
            await at.service.say(session.id, TurnRequest(text="late words"), CLI)
        with pytest.raises(Conflict):
            await at.request(session, "fake", surface="cli")


async def test_words_that_were_refused_by_a_handoff_that_is_over_are_said_again(home, store, monkeypatch):
    async with world(home, store) as at:
        await at.start()
        session = await at.session("plant a tree")
        done = await at.hand_over(session)
        say, refused = at.service.say, [in_progress(done)]

        async def once_too_late(*given, **more):
            if refused:
                raise refused.pop()
            return await say(*given, **more)

        monkeypatch.setattr(at.service, "say", once_too_late)
        at.network.say("42", "and a rose", thread=done.thread_id)
        assert (await at.texts("42", 2, done.thread_id))[1] == "and a rose"
        assert not refused


async def test_words_that_came_before_a_session_arrives_in_their_own_place_do_not_block_it(home, store, monkeypatch):
    async with world(home, store) as at:
        await at.start(PlainPlatform(at.network))
        at.network.say("42", "an old story")
        await at.texts("42", 1)
        await at.quiet()
        await at.service.settle()  # the turn has let go of the session, too
        [session] = await at.service.find(Listing())
        keep, written = store.add_incoming, asyncio.Event()

        async def words_first(platform, account, id, **given):
            if id.startswith("handoff:"):
                await written.wait()
            return await keep(platform, account, id, **given)

        monkeypatch.setattr(store, "add_incoming", words_first)
        asked = await at.request(session, "fake", wait=True)
        at.network.say("42", "go on")
        await at.rows("running", 1)
        written.set()
        async with asyncio.timeout(10):
            assert (await wait_for(at.requests, asked)).state == "completed"
        assert (await at.texts("42", 3))[2] == "go on"
        await at.quiet()


async def test_a_wrong_home_channel_setting_does_not_stop_conversations(home, store):
    service = LocalService(
        FakeApp(
            store=store,
            settings=make_settings(home, gateway_home="nonsense", agent_titles=False),
            runtimes=[ScriptedRuntime()],
        )
    )
    session = await service.open(CLI)
    await service.say(session.id, TurnRequest(text="hello"), CLI)
    await service.settle()
    assert (await service.messages(session.id))[-1].item.content == "hello"
    await service.close()
