"""PlatformContract on Slack: the real library against a server that speaks its Web API and Socket Mode."""

import asyncio

import pytest

from sojourn.core.errors import BadInput, KeyRefused, PlatformDown, SendRefused, ThreadsUnsupported
from sojourn.core.places import build_session_key
from sojourn.ports.platform import Button, File, Sent
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_harness import InboundListener
from tests.servers.platform_server import hearing
from tests.servers.slack import ANN, DM, GARDEN, TEAM, US, Refused, slack_rig


@pytest.fixture
async def harness():
    async with slack_rig() as harness:
        yield harness


class TestSlack(PlatformContract):
    """What every network keeps."""


@pytest.fixture
async def app(harness):
    made = harness.connect()
    yield made
    await made.close()


async def test_a_wrong_app_token_is_told_apart_from_a_wrong_bot_token(harness):
    for app, variable in (
        (harness.connect(app_token="xapp-1-A0-3-wrong"), "SOJOURN_SLACK_APP_TOKEN"),
        (harness.connect("xoxb-wrong"), "SOJOURN_SLACK_TOKEN"),
    ):
        ear = InboundListener(app)
        with pytest.raises(KeyRefused) as refused:
            await ear.hear()
        assert variable in refused.value.hint
        await app.close()


async def test_the_workspace_is_known_once_slack_has_told_it(harness, app):
    with pytest.raises(BadInput, match="which workspace"):
        app.home(GARDEN)
    async with hearing(harness, app):
        assert app.home(GARDEN) == app.home(f"{TEAM}/{GARDEN}")


async def test_a_fresh_line_on_slacks_wish_is_no_failure(harness, app):
    async with hearing(harness, app) as ear:
        await harness.write(app.home(DM), "before", ANN)
        assert (await ear.hear()).text == "before"
        ear.open()
        [(_, line)] = harness.server.lines
        await line.send_json({"type": "disconnect", "reason": "refresh_requested"})
        await harness.server.changed.until(lambda: harness.server.lines and harness.server.lines[-1][1] is not line)
        await harness.write(app.home(DM), "after", ANN)
        assert (await ear.hear()).text == "after"


async def test_what_is_no_message_is_acknowledged_and_left_out(harness, app):
    async with hearing(harness, app) as ear:
        edited = {"type": "message", "subtype": "message_changed", "channel": DM, "ts": "1.2", "message": {}}
        await harness.server.tell(edited)
        await harness.server.tell({"type": "reaction_added", "user": ANN.id})
        await harness.server.tell({}, kind="interactive")
        await harness.write(app.home(DM), "hello", ANN)
        assert (await ear.hear()).text == "hello"
        await ear.hears_nothing()
    assert harness.server.waiting == {}


async def test_only_what_names_us_is_meant_for_us_in_a_channel(harness, app):
    async with hearing(harness, app) as ear:
        await harness.server.say(GARDEN, None, ANN, "nice weather")
        assert not (await ear.hear()).mentioned
        await harness.server.say(GARDEN, None, ANN, f"<@{US}> is it &lt; 20?", type="app_mention")
        asked = await ear.hear()
    assert (asked.text, asked.mentioned) == ("is it < 20?", True)


async def test_a_thread_in_a_channel_is_a_thread_and_one_in_private_stays_private(app):
    thread = await app.create_handoff_thread(app.home(f"{TEAM}/{GARDEN}"), "garden")
    private = await app.create_handoff_thread(app.home(f"{TEAM}/{DM}"), "garden")
    assert build_session_key(thread, ANN) == f"slack:thread:{TEAM}:{GARDEN}:{thread.thread}"
    assert build_session_key(private, ANN) == f"slack:dm:{TEAM}:{DM}:{private.thread}"


async def test_a_refused_thread_says_why_and_a_busy_slack_is_tried_later(harness, app):
    home = app.home(f"{TEAM}/{GARDEN}")
    await harness.refuse("forbidden")
    with pytest.raises(ThreadsUnsupported, match="not_in_channel") as refused:
        await app.create_handoff_thread(home, "garden")
    assert "/invite" in refused.value.hint
    await harness.refuse("rate_limited", 3)
    with pytest.raises(SendRefused) as later:
        await app.create_handoff_thread(home, "garden")
    assert (later.value.kind, later.value.retry_after) == ("rate_limited", 3)


async def test_a_lost_file_is_said(harness, app):
    async with hearing(harness, app) as ear:
        file = {"id": "F1", "name": "film.mp4", "mimetype": "video/mp4"}
        await harness.server.say(DM, None, ANN, "watch", subtype="file_share", files=[file])
        heard = await ear.hear()
    assert (heard.files, heard.text.splitlines()[0]) == ((), "watch")
    assert "[film.mp4 could not be downloaded: " in heard.text


async def test_a_file_that_lies_elsewhere_is_not_fetched_and_never_with_our_token(harness, app):
    """Anybody who may share a remote file chooses its address."""
    asked = list[bytes]()

    async def record(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(record, "127.0.0.1", 0) as elsewhere, hearing(harness, app) as ear:
        address = f"http://127.0.0.1:{elsewhere.sockets[0].getsockname()[1]}/a.png"
        file = {"id": "F1", "name": "a.png", "mimetype": "image/png", "mode": "external", "is_external": True}
        await harness.server.say(DM, None, ANN, "look", subtype="file_share", files=[file | {"url_private": address}])
        heard = await ear.hear()
    assert asked == []
    assert "[a.png could not be downloaded: The file is not on a server of Slack.]" in heard.text


async def test_markup_arrives_as_slack_writes_it_and_links_are_not_unfolded(harness, app):
    await app.send(app.home(f"{TEAM}/{DM}"), "**1 < 2**, see [this](https://a.example)")
    _, given = harness.server.calls[-1]
    assert given["text"] == "*1 &lt; 2*, see <https://a.example|this>"
    assert (given["mrkdwn"], given["unfurl_links"]) == (True, False)


async def test_a_server_in_trouble_is_a_lost_line(harness, app):
    harness.server.faults.append(Refused("", status=503))
    with pytest.raises(PlatformDown):
        await app.send(app.home(f"{TEAM}/{DM}"), "hello")


async def test_a_message_that_is_not_ours_cannot_be_changed(harness, app):
    theirs = await harness.write(app.home(f"{TEAM}/{DM}"), "mine", ANN)
    with pytest.raises(SendRefused) as refused:
        await app.edit(Sent(place=app.home(f"{TEAM}/{DM}"), id=theirs), "yours")
    assert refused.value.kind == "not_found"


# what was missed
async def away(harness, *places):
    """The app has heard something in each of these, and then its process ends."""
    app = harness.connect()
    async with hearing(harness, app) as ear:
        for place in places:
            await harness.write(place, "before", ANN)
            assert (await ear.hear()).text == "before"
        await ear.hears_nothing()
    await app.close()


async def missing(harness, *written):
    """Written while nobody listens, and for so long that Slack has given up telling it."""
    for place, text in written:
        await harness.write(place, text, ANN)
    harness.server.waiting.clear()


async def test_what_slack_no_longer_tells_is_looked_up_in_order_and_once(harness, app):
    dm, garden = app.home(f"{TEAM}/{DM}"), app.home(f"{TEAM}/{GARDEN}")
    await away(harness, dm)
    first = await harness.write(garden, "before", ANN)
    thread = app.home(f"{TEAM}/{first}")
    harness.server.waiting.clear()
    await missing(harness, (garden, "away 0"), (thread, "away 1"), (dm, "away 2"), (garden, "away 3"), (dm, "away 4"))
    async with hearing(harness, app) as ear:
        heard = [await ear.hear() for _ in range(6)]
        await harness.write(dm, "now", ANN)
        assert (await ear.hear()).text == "now"
        await ear.hears_nothing()
    assert [one.text for one in heard] == ["before", *(f"away {n}" for n in range(5))]
    places = [garden, garden, thread, dm, garden, dm]
    assert [build_session_key(one.place) for one in heard] == [build_session_key(one) for one in places]


async def test_the_first_reply_in_a_handoff_thread_is_not_missed(harness, app):
    async with hearing(harness, app) as ear:
        thread = await app.create_handoff_thread(app.home(f"{TEAM}/{GARDEN}"), "garden")
        await ear.hears_nothing()
    harness.server.events[0]["ts"] = "1.000001"  # so long ago that the channel's own past does not show it
    await missing(harness, (thread, "I am here"))
    again = harness.connect()
    async with hearing(harness, again) as ear:
        assert build_session_key((await ear.hear()).place) == build_session_key(thread)
    await again.close()


async def test_what_was_said_before_the_first_start_is_not_for_us(harness, app):
    await missing(harness, (app.home(f"{TEAM}/{DM}"), "long ago"))
    async with hearing(harness, app) as ear:
        await harness.write(app.home(f"{TEAM}/{DM}"), "today", ANN)
        assert (await ear.hear()).text == "today"


async def test_an_app_that_may_not_list_channels_looks_where_it_has_heard_something(harness, app):
    dm = app.home(f"{TEAM}/{DM}")
    await away(harness, dm)
    harness.server.lacking.add("users.conversations")
    await missing(harness, (app.home(f"{TEAM}/{GARDEN}"), "nobody knows"), (dm, "known"))
    async with hearing(harness, app) as ear:
        assert (await ear.hear()).text == "known"
        await ear.hears_nothing()


async def test_looking_up_waits_as_long_as_slack_asks(harness, app):
    dm = app.home(f"{TEAM}/{DM}")
    await away(harness, dm)
    await missing(harness, (dm, "away"))
    harness.server.faults.append(Refused("ratelimited", status=429, headers={"Retry-After": "0.1"}))
    async with hearing(harness, app) as ear:
        assert (await ear.hear()).text == "away"


async def test_what_slack_tells_again_is_heard_once(harness, app):
    dm = app.home(f"{TEAM}/{DM}")
    await away(harness, dm)
    await harness.write(dm, "both looked up and told again", ANN)
    async with hearing(harness, app) as ear:
        assert (await ear.hear()).text == "both looked up and told again"
        await ear.hears_nothing()
    assert harness.server.waiting == {}


# what it can do besides
async def test_a_press_is_acknowledged_when_it_is_kept(harness, app):
    dm = app.home(f"{TEAM}/{DM}")
    async with hearing(harness, app) as ear:
        await app.ask(dm, "May I?", [Button(label="Yes", value="q:0")])
        await ear.hears_nothing()
        await harness.press(dm, harness.server.posts[(DM, None)][-1], Button(label="Yes", value="q:0"), ANN)
        assert ((await ear.hear()).pressed, len(harness.server.waiting)) == ("q:0", 1)
        await ear.hears_nothing()
        assert harness.server.waiting == {}


async def test_a_long_question_has_several_blocks(harness, app):
    await app.ask(app.home(f"{TEAM}/{DM}"), "x" * 7000, [Button(label="Yes", value="q:0")])
    blocks = harness.server.calls[-1][1]["blocks"]
    assert [one["type"] for one in blocks] == ["section", "section", "section", "actions"]


async def test_a_file_goes_into_the_thread(harness, app):
    thread = await app.create_handoff_thread(app.home(f"{TEAM}/{GARDEN}"), "garden")
    sent = await app.send_file(thread, File(name="a.png", media_type="image/png", data=b"dot"))
    [shown] = [one for one in await harness.read_messages(thread) if one.files]
    assert (shown.id, shown.files[0].data, shown.text) == (sent.id, b"dot", "")


async def test_typing_is_shown_in_threads_and_not_again_soon(harness, app):
    thread = await app.create_handoff_thread(app.home(f"{TEAM}/{GARDEN}"), "garden")
    for place in (app.home(f"{TEAM}/{GARDEN}"), thread, thread):
        await app.typing(place)
    assert [method for method, _ in harness.server.calls].count("assistant.threads.setStatus") == 1


async def test_a_sign_may_be_named_and_one_that_slack_has_not_is_refused(harness, app):
    sent = await app.send(app.home(f"{TEAM}/{DM}"), "hello")
    for _ in range(2):  # twice is once
        await app.react(sent, ":eyes:")
    assert harness.server.posts[(DM, None)][0].reactions == ("👀",)
    with pytest.raises(SendRefused) as refused:
        await app.react(sent, "🦩")
    assert refused.value.kind == "bad_format"
