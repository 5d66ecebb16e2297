"""Comments in Feishu's documents."""

import pytest

from sojourn.core.errors import BadConfig, SendRefused
from sojourn.core.places import build_session_key
from sojourn.ports.platform import Button
from sojourn.testing.platform_harness import PICTURE
from sojourn.testing.platform_steps import listening
from tests.servers.feishu import ANN, BEN, BOT
from tests.servers.feishu_comments import DOCUMENT, feishu_comment_rig


@pytest.fixture
async def harness():
    async with feishu_comment_rig() as harness:
        yield harness


@pytest.fixture
async def adapter(harness):
    made = harness.connect()
    yield made
    await made.close()


async def test_a_comment_is_heard_with_what_it_is_about_and_answered_in_its_thread(harness, adapter):
    async with listening(harness, adapter) as ear:
        id = await harness.server.comment(ANN, " Is this true?", quote="Roses are blue.")
        heard = await ear.hear()
    assert (heard.sender.id, heard.text) == (ANN.id, "> Roses are blue.\n\nIs this true?")
    assert (heard.place.kind, heard.place.thread, heard.place.chat) == ("thread", id, f"doc:docx:{DOCUMENT}")
    sent = await adapter.send(heard.place, "**No**, a < b & c")
    assert harness.server.answers[id] == [(sent.id.removeprefix("comment/"), "No, a < b & c")]
    await adapter.edit(sent, "Yes", plain=True)
    assert [text for _, text in harness.server.answers[id]] == ["Yes"]


async def test_each_thread_of_comments_is_a_session_that_people_share(harness, adapter):
    async with listening(harness, adapter) as ear:
        for person in (ANN, BEN):
            await harness.server.comment(person, "hello")
        first, second = await ear.hear(), await ear.hear()
    assert build_session_key(first.place, ANN) == build_session_key(first.place, BEN)
    assert build_session_key(first.place) != build_session_key(second.place)


async def test_a_comment_that_is_not_readable_yet_is_read_again(harness, adapter):
    harness.server.hidden = 1
    async with listening(harness, adapter) as ear:
        await harness.server.comment(ANN, "patience")
        assert (await ear.hear()).text == "patience"


async def test_a_comment_that_we_may_not_read_stops_nothing(harness, adapter, caplog):
    """Anybody can mention the app in a document that it may not open, or delete the comment at once."""
    async with listening(harness, adapter) as ear:
        harness.server.refusal = {"code": 1069303, "msg": "forbidden"}
        await harness.server.comment(ANN, "you cannot see this")
        await harness.write(adapter.home(ANN.id), "still there?", ANN)
        assert (await ear.hear()).text == "still there?"
    assert "cannot be read" in caplog.text


async def test_where_no_reply_is_possible_a_comment_is_written(harness, adapter):
    harness.server.allows_replies = False
    async with listening(harness, adapter) as ear:
        await harness.server.comment(ANN, "the whole document")
        heard = await ear.hear()
    assert (await adapter.send(heard.place, "well", plain=True)).id
    assert harness.server.new_comments == ["well"]


@pytest.mark.parametrize(
    "more",
    [
        {"document": "doxcnOther"},
        {"from_user_id": {"open_id": BOT}},
        {"from_user_id": {}},
        {"to_user_id": {"open_id": BEN.id}},
        {"notice_type": "resolve"},
        {"file_type": "mindnote"},
        {"file_token": "a/b"},
        {"file_token": 7},
    ],
)
async def test_other_comments_are_left_alone(harness, adapter, more):
    async with listening(harness, adapter) as ear:
        await harness.server.comment(ANN, "not for us", **more)
        await harness.write(adapter.home(ANN.id), "for us", ANN)
        assert (await ear.hear()).text == "for us"


@pytest.mark.parametrize(
    ("comments", "document", "expected"), [((), DOCUMENT, "direct"), (("*",), "doxcnOther", "commented")]
)
async def test_without_the_setting_no_comment_is_heard_and_a_star_means_all(harness, comments, document, expected):
    adapter = harness.connect(comments=comments)
    async with listening(harness, adapter) as ear:
        await harness.server.comment(ANN, "commented", document=document)
        await harness.write(adapter.home(ANN.id), "direct", ANN)
        assert (await ear.hear()).text == expected
    await adapter.close()


async def test_a_question_in_a_comment_is_answered_with_a_word_and_files_are_refused(harness, adapter):
    async with listening(harness, adapter) as ear:
        id = await harness.server.comment(ANN, "do it")
        heard = await ear.hear()
    await adapter.ask(heard.place, "May I?", [Button(label="Yes", value="y"), Button(label="No", value="n")])
    assert [text for _, text in harness.server.answers[id]] == ["May I?\n\nAnswer with: Yes, No"]
    with pytest.raises(SendRefused) as refused:
        await adapter.send_file(heard.place, PICTURE)
    assert refused.value.kind == "forbidden"


@pytest.mark.parametrize("names", [("docx",), ("docx:",), ("x:abc",), ("docx:a/b",)])
def test_what_is_no_document_is_said(harness, names):
    with pytest.raises(BadConfig, match="comments"):
        harness.connect(comments=names)
