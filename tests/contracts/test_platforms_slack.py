"""PlatformContract on Slack: the real library against a server that speaks its Web API and Socket Mode."""

import pytest

from sojourn.core.errors import BadInput, KeyRefused, PlatformDown, SendRefused, ThreadsUnsupported
from sojourn.core.places import build_session_key
from sojourn.ports.platform import Button, File, Sent
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_rig import Ear
from tests.servers.platform_server import hearing
from tests.servers.slack import ANN, DM, GARDEN, TEAM, US, Refused, slack_rig


@pytest.fixture
async def rig():
    async with slack_rig() as rig:
        yield rig


class TestSlack(PlatformContract):
    """What every network keeps."""


@pytest.fixture
async def app(rig):
    made = rig.connect()
    yield made
    await made.close()


async def test_a_wrong_app_token_is_told_apart_from_a_wrong_bot_token(rig):
    for app, variable in (
        (rig.connect(app_token="xapp-1-A0-3-wrong"), "SOJOURN_SLACK_APP_TOKEN"),
        (rig.connect("xoxb-wrong"), "SOJOURN_SLACK_TOKEN"),
    ):
        ear = Ear(app)
        with pytest.raises(KeyRefused) as refused:
            await ear.hear()
        assert variable in refused.value.hint
        await app.close()


async def test_the_workspace_is_known_once_slack_has_told_it(rig, app):
    with pytest.raises(BadInput, match="which workspace"):
        app.home(GARDEN)
    async with hearing(rig, app):
        assert app.home(GARDEN) == app.home(f"{TEAM}/{GARDEN}")


async def test_a_fresh_line_on_slacks_wish_is_no_failure(rig, app):
    async with hearing(rig, app) as ear:
        await rig.write(app.home(DM), "before", ANN)
        assert (await ear.hear()).text == "before"
        ear.open()
        [(_, line)] = rig.server.lines
        await line.send_json({"type": "disconnect", "reason": "refresh_requested"})
        await rig.server.changed.until(lambda: rig.server.lines and rig.server.lines[-1][1] is not line)
        await rig.write(app.home(DM), "after", ANN)
        assert (await ear.hear()).text == "after"


async def test_what_is_no_message_is_acknowledged_and_left_out(rig, app):
    async with hearing(rig, app) as ear:
        edited = {"type": "message", "subtype": "message_changed", "channel": DM, "ts": "1.2", "message": {}}
        await rig.server.tell(edited)
        await rig.server.tell({"type": "reaction_added", "user": ANN.id})
        await rig.server.tell({}, kind="interactive")
        await rig.write(app.home(DM), "hello", ANN)
        assert (await ear.hear()).text == "hello"
        await ear.hears_nothing()
    assert rig.server.waiting == {}


async def test_only_what_names_us_is_meant_for_us_in_a_channel(rig, app):
    async with hearing(rig, app) as ear:
        await rig.server.say(GARDEN, None, ANN, "nice weather")
        assert not (await ear.hear()).mentioned
        await rig.server.say(GARDEN, None, ANN, f"<@{US}> is it &lt; 20?", type="app_mention")
        asked = await ear.hear()
    assert (asked.text, asked.mentioned) == ("is it < 20?", True)


async def test_a_thread_in_a_channel_is_a_thread_and_one_in_private_stays_private(app):
    thread = await app.create_handoff_thread(app.home(f"{TEAM}/{GARDEN}"), "garden")
    private = await app.create_handoff_thread(app.home(f"{TEAM}/{DM}"), "garden")
    assert build_session_key(thread, ANN) == f"slack:thread:{TEAM}:{GARDEN}:{thread.thread}"
    assert build_session_key(private, ANN) == f"slack:dm:{TEAM}:{DM}:{private.thread}"


async def test_a_refused_thread_says_why_and_a_busy_slack_is_tried_later(rig, app):
    home = app.home(f"{TEAM}/{GARDEN}")
    await rig.refuse("forbidden")
    with pytest.raises(ThreadsUnsupported, match="not_in_channel") as refused:
        await app.create_handoff_thread(home, "garden")
    assert "/invite" in refused.value.hint
    await rig.refuse("rate_limited", 3)
    with pytest.raises(SendRefused) as later:
        await app.create_handoff_thread(home, "garden")
    assert (later.value.kind, later.value.retry_after) == ("rate_limited", 3)


async def test_a_lost_file_is_said(rig, app):
    async with hearing(rig, app) as ear:
        file = {"id": "F1", "name": "film.mp4", "mimetype": "video/mp4"}
        await rig.server.say(DM, None, ANN, "watch", subtype="file_share", files=[file])
        heard = await ear.hear()
    assert (heard.files, heard.text.splitlines()[0]) == ((), "watch")
    assert "could not be downloaded: film.mp4" in heard.text


async def test_markup_arrives_as_slack_writes_it_and_links_are_not_unfolded(rig, app):
    await app.send(app.home(f"{TEAM}/{DM}"), "**1 < 2**, see [this](https://a.example)")
    _, given = rig.server.calls[-1]
    assert given["text"] == "*1 &lt; 2*, see <https://a.example|this>"
    assert (given["mrkdwn"], given["unfurl_links"]) == (True, False)


async def test_a_server_in_trouble_is_a_lost_line(rig, app):
    rig.server.faults.append(Refused("", status=503))
    with pytest.raises(PlatformDown):
        await app.send(app.home(f"{TEAM}/{DM}"), "hello")


async def test_a_message_that_is_not_ours_cannot_be_changed(rig, app):
    theirs = await rig.write(app.home(f"{TEAM}/{DM}"), "mine", ANN)
    with pytest.raises(SendRefused) as refused:
        await app.edit(Sent(place=app.home(f"{TEAM}/{DM}"), id=theirs), "yours")
    assert refused.value.kind == "not_found"


# what was missed
async def away(rig, *places):
    """The app has heard something in each of these, and then its process ends."""
    app = rig.connect()
    async with hearing(rig, app) as ear:
        for place in places:
            await rig.write(place, "before", ANN)
            assert (await ear.hear()).text == "before"
        await ear.hears_nothing()
    await app.close()


async def missing(rig, *written):
    """Written while nobody listens, and for so long that Slack has given up telling it."""
    for place, text in written:
        await rig.write(place, text, ANN)
    rig.server.waiting.clear()


async def test_what_slack_no_longer_tells_is_looked_up_in_order_and_once(rig, app):
    dm, garden = app.home(f"{TEAM}/{DM}"), app.home(f"{TEAM}/{GARDEN}")
    await away(rig, dm)
    first = await rig.write(garden, "before", ANN)
    thread = app.home(f"{TEAM}/{first}")
    rig.server.waiting.clear()
    await missing(rig, (garden, "away 0"), (thread, "away 1"), (dm, "away 2"), (garden, "away 3"), (dm, "away 4"))
    async with hearing(rig, app) as ear:
        heard = [await ear.hear() for _ in range(6)]
        await rig.write(dm, "now", ANN)
        assert (await ear.hear()).text == "now"
        await ear.hears_nothing()
    assert [one.text for one in heard] == ["before", *(f"away {n}" for n in range(5))]
    places = [garden, garden, thread, dm, garden, dm]
    assert [build_session_key(one.place) for one in heard] == [build_session_key(one) for one in places]


async def test_the_first_reply_in_a_handoff_thread_is_not_missed(rig, app):
    async with hearing(rig, app) as ear:
        thread = await app.create_handoff_thread(app.home(f"{TEAM}/{GARDEN}"), "garden")
        await ear.hears_nothing()
    rig.server.events[0]["ts"] = "1.000001"  # so long ago that the channel's own past does not show it
    await missing(rig, (thread, "I am here"))
    again = rig.connect()
    async with hearing(rig, again) as ear:
        assert build_session_key((await ear.hear()).place) == build_session_key(thread)
    await again.close()


async def test_what_was_said_before_the_first_start_is_not_for_us(rig, app):
    await missing(rig, (app.home(f"{TEAM}/{DM}"), "long ago"))
    async with hearing(rig, app) as ear:
        await rig.write(app.home(f"{TEAM}/{DM}"), "today", ANN)
        assert (await ear.hear()).text == "today"


async def test_an_app_that_may_not_list_channels_looks_where_it_has_heard_something(rig, app):
    dm = app.home(f"{TEAM}/{DM}")
    await away(rig, dm)
    rig.server.lacking.add("users.conversations")
    await missing(rig, (app.home(f"{TEAM}/{GARDEN}"), "nobody knows"), (dm, "known"))
    async with hearing(rig, app) as ear:
        assert (await ear.hear()).text == "known"
        await ear.hears_nothing()


async def test_looking_up_waits_as_long_as_slack_asks(rig, app):
    dm = app.home(f"{TEAM}/{DM}")
    await away(rig, dm)
    await missing(rig, (dm, "away"))
    rig.server.faults.append(Refused("ratelimited", status=429, headers={"Retry-After": "0.1"}))
    async with hearing(rig, app) as ear:
        assert (await ear.hear()).text == "away"


async def test_what_slack_tells_again_is_heard_once(rig, app):
    dm = app.home(f"{TEAM}/{DM}")
    await away(rig, dm)
    await rig.write(dm, "both looked up and told again", ANN)
    async with hearing(rig, app) as ear:
        assert (await ear.hear()).text == "both looked up and told again"
        await ear.hears_nothing()
    assert rig.server.waiting == {}


# what it can do besides
async def test_a_press_is_acknowledged_when_it_is_kept(rig, app):
    dm = app.home(f"{TEAM}/{DM}")
    async with hearing(rig, app) as ear:
        await app.ask(dm, "May I?", [Button(label="Yes", value="q:0")])
        await ear.hears_nothing()
        await rig.press(dm, rig.server.posts[(DM, None)][-1], Button(label="Yes", value="q:0"), ANN)
        assert ((await ear.hear()).pressed, len(rig.server.waiting)) == ("q:0", 1)
        await ear.hears_nothing()
        assert rig.server.waiting == {}


async def test_a_long_question_has_several_blocks(rig, app):
    await app.ask(app.home(f"{TEAM}/{DM}"), "x" * 7000, [Button(label="Yes", value="q:0")])
    blocks = rig.server.calls[-1][1]["blocks"]
    assert [one["type"] for one in blocks] == ["section", "section", "section", "actions"]


async def test_a_file_goes_into_the_thread(rig, app):
    thread = await app.create_handoff_thread(app.home(f"{TEAM}/{GARDEN}"), "garden")
    sent = await app.send_file(thread, File(name="a.png", media_type="image/png", data=b"dot"))
    [shown] = [one for one in await rig.shown(thread) if one.files]
    assert (shown.id, shown.files[0].data, shown.text) == (sent.id, b"dot", "")


async def test_typing_is_shown_in_threads_and_not_again_soon(rig, app):
    thread = await app.create_handoff_thread(app.home(f"{TEAM}/{GARDEN}"), "garden")
    for place in (app.home(f"{TEAM}/{GARDEN}"), thread, thread):
        await app.typing(place)
    assert [method for method, _ in rig.server.calls].count("assistant.threads.setStatus") == 1


async def test_a_sign_may_be_named_and_one_that_slack_has_not_is_refused(rig, app):
    sent = await app.send(app.home(f"{TEAM}/{DM}"), "hello")
    for _ in range(2):  # twice is once
        await app.react(sent, ":eyes:")
    assert rig.server.posts[(DM, None)][0].reactions == ("👀",)
    with pytest.raises(SendRefused) as refused:
        await app.react(sent, "🦩")
    assert refused.value.kind == "bad_format"
