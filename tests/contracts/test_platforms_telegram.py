"""PlatformContract on Telegram: the real library against a Bot API server on this machine."""

import json
import logging
import traceback

import pytest

from sojourn.core.errors import KeyRefused, PlatformDown, SendRefused, ThreadsUnsupported
from sojourn.core.places import build_session_key
from sojourn.ports.platform import Button
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_harness import InboundListener
from tests.servers.telegram import ANN, BOT, CHATS, FORUM, GROUP, NAME, NO_TOPICS, TOKEN, Refused, telegram_rig


@pytest.fixture
async def harness():
    async with telegram_rig() as harness:
        yield harness


class TestTelegram(PlatformContract):
    """What every network keeps."""


@pytest.fixture
async def bot(harness):
    made = harness.connect()
    yield made
    await made.close()


async def heard(bot, count=1):
    """What is waiting, each kept when the next one is asked for."""
    ear = InboundListener(bot)
    try:
        return [await ear.hear() for _ in range(count)]
    finally:
        await ear.close()


@pytest.mark.parametrize("chat", [GROUP, NO_TOPICS])
async def test_where_topics_are_off_the_reason_is_told(bot, chat):
    with pytest.raises(ThreadsUnsupported, match="not a forum") as refused:
        await bot.create_handoff_thread(bot.home(str(chat)), "Sojourn — garden")
    assert "topics" in refused.value.hint


async def test_a_forum_topic_is_a_thread_and_a_private_topic_stays_private(bot):
    topic = await bot.create_handoff_thread(bot.home(str(FORUM)), "garden")
    private = await bot.create_handoff_thread(bot.home("501"), "garden")
    assert build_session_key(topic, ANN) == f"telegram:thread:{FORUM}:{topic.thread}"
    assert build_session_key(private, ANN) == f"telegram:dm:501:{private.thread}"


async def test_a_long_title_is_cut_to_what_a_topic_may_be_called(bot):
    assert len((await bot.create_handoff_thread(bot.home(str(FORUM)), "g" * 500)).name) == 128


async def test_too_many_topics_at_once_are_tried_later(harness, bot):
    harness.server._createForumTopic = lambda given: (_ for _ in ()).throw(Refused(429, "Too Many", retry_after=3))
    with pytest.raises(SendRefused) as refused:
        await bot.create_handoff_thread(bot.home(str(FORUM)), "garden")
    assert (refused.value.kind, refused.value.retry_after) == ("rate_limited", 3)


async def test_our_name_is_not_part_of_what_was_said(harness, bot):
    await harness.write(bot.home(str(GROUP)), "what grows here?", ANN)
    command = f"/status@{NAME} now"
    entity = {"type": "bot_command", "offset": 0, "length": len(NAME) + 8}
    await harness.server.say(GROUP, None, ANN, text=command, entities=[entity])
    one, two = await heard(bot, 2)
    assert (one.text, one.mentioned) == ("what grows here?", True)
    assert (two.text, two.mentioned) == ("/status now", True)


async def test_words_among_people_are_not_meant_for_us_but_answers_to_us_are(harness, bot):
    await harness.server.say(GROUP, None, ANN, text="nice weather")
    ours = {"message_id": 9, "date": 0, "chat": CHATS[GROUP], "from": {"id": BOT, "is_bot": True, "first_name": "S"}}
    await harness.server.say(GROUP, None, ANN, text="and you?", reply_to_message=ours)
    one, two = await heard(bot, 2)
    assert not one.mentioned
    assert (two.mentioned, two.reply_to) == (True, f"{GROUP}/9")


async def test_news_about_a_chat_is_not_a_message_but_acknowledged(harness, bot):
    await harness.server.say(FORUM, 5, ANN, forum_topic_created={"name": "garden", "icon_color": 1})
    await harness.server.say(501, None, ANN, text="hello")
    ear = InboundListener(bot)
    assert (await ear.hear()).text == "hello"
    await ear.hears_nothing()
    await ear.close()
    assert harness.server.updates == []


async def test_the_largest_picture_is_taken_and_a_lost_file_is_said(harness, bot):
    harness.server.files["big.jpg"] = b"big"
    sizes = [{"file_id": id, "file_unique_id": id, "width": n, "height": n} for n, id in ((1, "tiny"), (9, "big.jpg"))]
    await harness.server.say(501, None, ANN, photo=sizes)
    huge = {"file_id": "huge", "file_unique_id": "u", "file_name": "film.mp4"}
    await harness.server.say(501, None, ANN, caption="watch", document=huge)
    picture, film = await heard(bot, 2)
    assert [(file.data, file.media_type) for file in picture.files] == [(b"big", "image/jpeg")]
    assert film.files == ()
    assert film.text.startswith("watch\n[film.mp4 could not be downloaded: Telegram: ")


async def test_a_webhook_of_earlier_days_is_taken_down(harness, bot):
    harness.server.webhook = True
    await harness.write(bot.home("501"), "hello", ANN)
    assert [one.text for one in await heard(bot)] == ["hello"]


async def test_a_second_listener_with_the_same_token_is_named(harness, bot):
    other, ear = harness.connect(), InboundListener(bot)
    ear.open()
    await harness.until_listening()
    second = InboundListener(other)
    second.open()
    with pytest.raises(PlatformDown, match="Another program"):
        await ear.hear()
    await ear.close()
    await second.close()
    await other.close()


async def test_the_token_is_neither_logged_nor_told(harness, bot, caplog):
    caplog.set_level(logging.DEBUG)
    await bot.send(bot.home("501"), "hello")
    wrong = harness.connect_wrongly()
    with pytest.raises(KeyRefused) as refused:
        await wrong.send(wrong.home("501"), "hello")
    await wrong.close()
    assert "SOJOURN_TELEGRAM_TOKEN" in refused.value.hint
    assert "700100:wrong" not in "".join(traceback.format_exception(refused.value))
    assert "/sendMessage" in caplog.text
    assert TOKEN not in caplog.text
    assert "700100:wrong" not in caplog.text


async def test_a_group_that_moved_says_where(harness, bot):
    harness.server.faults.append(Refused(400, "Bad Request: group chat was upgraded", migrate_to_chat_id=-1009))
    with pytest.raises(SendRefused) as refused:
        await bot.send(bot.home(str(GROUP)), "hello")
    assert (refused.value.kind, refused.value.hint) == ("not_found", "Use -1009 instead.")


async def test_saying_the_same_again_is_no_failure(harness, bot):
    sent = await bot.send(bot.home("501"), "**done**")
    await bot.edit(sent, "done")
    assert [one.text for one in await harness.read_messages(sent.place)] == ["done"]


async def test_markup_arrives_as_formatting(harness, bot):
    await bot.send(bot.home("501"), "**1 < 2** and `x`")
    method, given = harness.server.calls[-1]
    assert (method, given["parse_mode"]) == ("sendMessage", "HTML")
    assert given["text"] == "<b>1 &lt; 2</b> and <code>x</code>"


async def test_an_answer_hangs_on_the_question(harness, bot):
    question = await harness.write(bot.home("501"), "hello?", ANN)
    await bot.send(bot.home("501"), "here", reply_to=question)
    reply = json.loads(harness.server.calls[-1][1]["reply_parameters"])
    assert reply == {"message_id": int(question.partition("/")[2]), "allow_sending_without_reply": True}


@pytest.fixture
async def ear(bot):
    made = InboundListener(bot)
    made.open()
    yield made
    await made.close()


async def pressing(harness, bot, ear):
    await bot.ask(bot.home("501"), "May I?", [Button(label="Yes", value="q:0")])
    await harness.press(bot.home("501"), harness.server.posts[(501, None)][-1], Button(label="Yes", value="q:0"), ANN)
    return await ear.hear()


async def test_a_button_is_let_go_of_when_the_press_is_kept(harness, bot, ear):
    assert (await pressing(harness, bot, ear)).pressed == "q:0"
    assert len(harness.server.queries) == 1
    await ear.hears_nothing()
    assert harness.server.queries == []


async def test_a_press_for_which_telegram_wants_no_answer_any_more_keeps_nobody_from_listening(harness, bot, ear):
    await pressing(harness, bot, ear)
    harness.server.queries.clear()
    await harness.write(bot.home("501"), "and on", ANN)
    assert (await ear.hear()).text == "and on"


async def test_a_press_on_a_message_that_telegram_no_longer_shows_has_its_chat(harness, bot, ear):
    ann = {"id": 501, "is_bot": False, "first_name": "Ann"}
    query = {"id": "9", "from": ann, "chat_instance": "1", "data": "q:0"}
    query["message"] = {"chat": CHATS[501], "message_id": 7, "date": 0}
    harness.server.updates.append({"update_id": 1, "callback_query": query})
    heard = await ear.hear()
    assert (heard.text, heard.reply_to) == ("q:0", "501/7")
    assert build_session_key(heard.place) == build_session_key(bot.home("501"))
