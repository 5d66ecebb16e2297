"""whatsapp, on a server that speaks its wire."""

import json
import logging
import time

import pytest

from sojourn.core.errors import BadInput, KeyRefused, PlatformDown, SendRefused
from sojourn.core.settings import Secret
from sojourn.platforms.reply_tickets import KIND, ReplyTickets
from sojourn.platforms.request_checks import compute_hub_signature
from sojourn.ports.platform import Button, File, Sent
from sojourn.testing.platform_abilities import has_lasting_buttons
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_harness import PICTURE
from sojourn.testing.platform_steps import hear_one, listening
from tests.servers.whatsapp import (
    ANN,
    APP_SECRET,
    BEN,
    GROUP,
    HIDDEN,
    NUMBER,
    TOKEN,
    VERIFY_TOKEN,
    GraphRefused,
    build_message,
    build_notification,
    whatsapp_rig,
)


@pytest.fixture
async def harness():
    async with whatsapp_rig() as harness:
        yield harness


@pytest.fixture
async def adapter(harness):
    made = harness.connect()
    yield made
    await made.close()


class TestWhatsapp(PlatformContract):
    pass


CHECK = {"hub.mode": "subscribe", "hub.verify_token": VERIFY_TOKEN, "hub.challenge": "1158201444"}


async def test_the_address_is_confirmed_to_who_knows_the_verify_token(harness, adapter):
    async with listening(harness, adapter):
        reply = await harness.http.get("/whatsapp", params=CHECK)
        assert (reply.status_code, reply.text) == (200, "1158201444")
        for wrong in ({"hub.verify_token": "other"}, {"hub.mode": "unsubscribe"}, {"hub.verify_token": ""}):
            assert (await harness.http.get("/whatsapp", params=CHECK | wrong)).status_code == 401


def test_the_published_signature():
    """Meta prints no example. GitHub does, of the same header and the same computation."""
    expected = "757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17"
    assert compute_hub_signature(Secret("It's a Secret to Everybody"), b"Hello, World!") == f"sha256={expected}"


async def test_several_messages_in_one_request_come_in_order_and_are_answered_together(harness, adapter):
    async with listening(harness, adapter) as ear:
        ids = [harness.server.new_id() for _ in range(3)]
        harness.notify(build_notification(*(build_message(ANN, f"line {n}", id) for n, id in enumerate(ids))))
        assert [(await ear.hear()).id for _ in ids] == ids
        assert not harness.sender.answers
        ear.open()
        await harness.sender.until_sent()
    assert len(harness.sender.answers) == 1


async def test_a_message_for_another_number_is_acknowledged_and_left_out(harness, adapter):
    async with listening(harness, adapter) as ear:
        harness.notify(build_notification(build_message(ANN, "not here", harness.server.new_id()), number="999"))
        await harness.write(adapter.home(ANN.id), "here", ANN)
        assert (await ear.hear()).text == "here"


async def test_a_person_who_hides_the_number_is_known_and_answered_by_id(harness, adapter):
    async with listening(harness, adapter) as ear:
        harness.notify(build_notification(build_message(HIDDEN, "hello", harness.server.new_id())))
        heard = await ear.hear()
    assert (heard.sender.id, heard.place.chat, heard.sender.name) == (HIDDEN.id, HIDDEN.id, "Cleo")
    await adapter.send(heard.place, "hello to you")
    assert harness.server.bodies[-1]["recipient"] == HIDDEN.id
    assert "to" not in harness.server.bodies[-1]


async def test_who_hides_the_number_later_stays_the_same_person_also_after_a_restart(harness, adapter):
    async with listening(harness, adapter) as ear:
        both = build_message(ANN, "with my number", harness.server.new_id(), from_user_id=HIDDEN.id)
        harness.notify(build_notification(both))
        assert (await ear.hear()).sender.id == ANN.id
    again = harness.connect()
    async with listening(harness, again) as ear:
        harness.notify(build_notification(build_message(HIDDEN, "without it", harness.server.new_id())))
        heard = await ear.hear()
        while heard.text != "without it":
            heard = await ear.hear()
        assert (heard.sender.id, heard.place.chat) == (ANN.id, ANN.id)
    await again.close()


async def test_after_24_hours_of_silence_only_a_template_is_sent(harness):
    silent = "4915112345678"
    without, templated = harness.connect(), harness.connect(template="sojourn_note")
    for send in (
        without.send(without.home(silent), "hello"),
        without.ask(without.home(silent), "May I?", [Button(label="Yes", value="y")]),
        without.send_file(without.home(silent), PICTURE),
        without.react(Sent(place=without.home(silent), id="x"), "👍"),
        templated.send_file(templated.home(silent), PICTURE),
    ):
        with pytest.raises(SendRefused, match="24 hours") as refused:
            await send
        assert (refused.value.kind, "template" in refused.value.hint) == ("forbidden", True)
    assert not harness.server.bodies
    await templated.send(templated.home(silent), "first line\n\nsecond\tline")
    [posted] = await harness.read_messages(templated.home(silent))
    assert posted.text == "[sojourn_note] first line · second line"
    await templated.send(templated.home(silent), "x" * 2500)
    assert len(await harness.read_messages(templated.home(silent))) == 4  # variables are short
    await without.close()
    await templated.close()


async def test_the_window_opens_with_any_message_and_is_kept_over_a_restart(harness):
    first, place = harness.connect(), harness.connect().home(HIDDEN.id)
    async with listening(harness, first) as ear:
        reaction = {"type": "reaction", "reaction": {"message_id": "wamid.x", "emoji": "👍"}}
        harness.notify(build_notification(build_message(HIDDEN, "", harness.server.new_id(), **reaction)))
        await ear.hears_nothing()
    await first.close()
    again = harness.connect()
    assert (await again.send(place, "still open")).id
    ticket = await ReplyTickets(harness.kit.store, "whatsapp", NUMBER).find(place)
    assert 86_300 < ticket.expires_at - time.time() <= 86_400
    await again.close()


async def test_an_old_message_does_not_open_the_window_anew(harness, adapter):
    async with listening(harness, adapter) as ear:
        old = build_message(HIDDEN, "from yesterday", harness.server.new_id())
        harness.notify(build_notification(old | {"timestamp": str(int(time.time()) - 90_000)}))
        heard = await ear.hear()
        older = build_message(HIDDEN, "repeated by somebody", harness.server.new_id())
        harness.notify(build_notification(older | {"timestamp": str(int(time.time()) - 11 * 86_400)}))
        await ear.hears_nothing()
    with pytest.raises(SendRefused, match="24 hours"):
        await adapter.send(heard.place, "too late")


async def test_an_old_message_that_comes_late_does_not_close_the_window(harness, adapter):
    async with listening(harness, adapter) as ear:
        await harness.write(adapter.home(HIDDEN.id), "hello", HIDDEN)
        heard = await ear.hear()
        late = build_message(HIDDEN, "from two days ago", harness.server.new_id())
        harness.notify(build_notification(late | {"timestamp": str(int(time.time()) - 2 * 86_400)}))
        assert (await ear.hear()).text == "from two days ago"
        assert (await adapter.send(heard.place, "still open")).id


async def test_typing_marks_the_last_message_as_read(harness, adapter):
    heard = await hear_one(harness, adapter, adapter.home(ANN.id), "hello")
    await adapter.typing(heard.place)
    assert harness.server.read == [heard.id]
    assert harness.server.bodies[-1]["typing_indicator"] == {"type": "text"}
    await adapter.typing(adapter.home("4915112345678"))  # nobody has written there
    assert harness.server.read == [heard.id]


async def test_buttons_stay_and_many_or_long_ones_become_a_list(harness, adapter):
    assert has_lasting_buttons(adapter)
    place = adapter.home(ANN.id)
    four = [Button(label=f"Choice {n}", value=f"q:{n}") for n in range(4)]
    await adapter.ask(place, "Which?", four)
    long = [Button(label="Allow for this whole session, please", value="q:0"), Button(label="No", value="q:1")]
    await adapter.ask(place, "May I?", long)
    shown = await harness.read_messages(place)
    assert shown[0].buttons == tuple(four)
    assert [one.label for one in shown[1].buttons] == ["Allow for this whole ses", "No"]
    with pytest.raises(SendRefused):
        await adapter.ask(place, "Which?", [Button(label=str(n), value=str(n)) for n in range(11)])


async def test_a_long_question_is_sent_whole_before_its_buttons(harness, adapter):
    place, words = adapter.home(ANN.id), "rm -r " + "x" * 2000
    await adapter.ask(place, words, [Button(label="Yes", value="y")], plain=True)
    first, second = await harness.read_messages(place)
    assert (first.text, len(second.buttons)) == (words, 1)


async def test_a_choice_from_a_list_is_a_press(harness, adapter):
    async with listening(harness, adapter) as ear:
        reply = {"type": "list_reply", "list_reply": {"id": "q:3", "title": "Choice 3"}}
        more = {"type": "interactive", "interactive": reply, "context": {"id": "wamid.q"}}
        harness.notify(build_notification(build_message(ANN, "", harness.server.new_id(), **more)))
        heard = await ear.hear()
    assert (heard.pressed, heard.text, heard.reply_to) == ("q:3", "Choice 3", "wamid.q")


@pytest.mark.parametrize(
    ("more", "text"),
    [
        ({"type": "button", "button": {"text": "Yes please", "payload": "p"}}, "Yes please"),
        (
            {"type": "location", "location": {"latitude": 52.5, "longitude": 13, "name": "Zoo"}},
            "Location: Zoo, 52.5, 13",
        ),
        (
            {"type": "contacts", "contacts": [{"name": {"formatted_name": "Di"}, "phones": [{"phone": "+49 1"}]}]},
            "Contact: Di, +49 1",
        ),
        ({"type": "unsupported", "errors": [{"code": 131051}]}, "[WhatsApp does not hand this kind of message on]"),
    ],
)
async def test_other_kinds_of_messages_become_words(harness, adapter, more, text):
    async with listening(harness, adapter) as ear:
        harness.notify(build_notification(build_message(ANN, "", harness.server.new_id(), **more)))
        assert (await ear.hear()).text == text


async def test_a_file_on_another_host_is_not_fetched_and_gets_no_token(harness, adapter):
    place = adapter.home(ANN.id)
    for address in (
        "https://evil.example/x",
        "http://lookaside.fbsbx.com/x",
        "https://lookaside.fbsbx.com.evil.example/",
    ):
        harness.server.media_url = address
        async with listening(harness, adapter) as ear:
            await harness.write(place, "look", ANN, files=[PICTURE])
            heard = await ear.hear()
            ear.open()
            await harness.sender.until_sent()
        assert heard.files == ()
        assert "look\n[A file could not be downloaded: The file is not on a server of WhatsApp." in heard.text


async def test_files_are_sent_as_what_they_are(harness, adapter):
    place = adapter.home(ANN.id)
    await adapter.send_file(place, File(name="note.ogg", media_type="audio/ogg", data=b"a"), caption="listen")
    await adapter.send_file(place, File(name="plan.pdf", media_type="application/pdf", data=b"b"), caption="read")
    await adapter.send_file(place, File(name="big.png", media_type="image/png", data=bytes(6 * 1024 * 1024)))
    words, audio, document, picture = harness.server.bodies
    assert words["text"]["body"] == "listen"  # audio has no caption
    assert (audio["type"], "caption" in audio["audio"]) == ("audio", False)
    assert document["document"] | {"id": ""} == {"id": "", "caption": "read", "filename": "plan.pdf"}
    assert (picture["type"], picture["document"]["filename"]) == ("document", "big.png")


async def test_a_message_that_fails_later_is_logged_with_its_reason(harness, adapter, caplog):
    failed = {
        "id": "wamid.sent",
        "status": "failed",
        "recipient_id": ANN.id,
        "errors": [{"code": 131047, "title": "Re-engagement message"}],
    }
    async with listening(harness, adapter) as ear:
        harness.notify(build_notification(statuses=[failed, {"id": "wamid.b", "status": "delivered"}]))
        await harness.sender.until_sent()
        await ear.hears_nothing()
    assert "'wamid.sent': 131047 Re-engagement message. WhatsApp lets a business" in caplog.text
    assert ANN.id not in caplog.text


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (GraphRefused(400, 131056), "rate_limited"),
        (GraphRefused(400, 100, "Param text: length must be less"), "too_long"),
        (GraphRefused(400, 132001), "bad_format"),
        (GraphRefused(400, 131030), "forbidden"),
        (GraphRefused(403, 200), "forbidden"),
        (GraphRefused(500, 131000), "transient"),
        (GraphRefused(503, 777), "transient"),
        (GraphRefused(400, 777), "unknown"),
    ],
)
async def test_codes_become_kinds(harness, adapter, fault, kind):
    harness.server.faults.append(fault)
    with pytest.raises(SendRefused) as refused:
        await adapter.send(adapter.home(ANN.id), "hello")
    assert refused.value.kind == kind


async def test_an_expired_token_is_said_while_sending(harness, adapter):
    harness.server.faults.append(GraphRefused(401, 190, "Session has expired"))
    with pytest.raises(KeyRefused) as refused:
        await adapter.send(adapter.home(ANN.id), "hello")
    assert "SOJOURN_WHATSAPP_ACCESS_TOKEN" in refused.value.hint


async def test_a_profile_needs_the_right_number(harness, adapter):
    assert (await adapter.identify()).address == "https://wa.me/15550001111"
    harness.server.faults.append(GraphRefused(400, 100, "Unsupported get request"))
    with pytest.raises(KeyRefused, match="may not use this number"):
        await adapter.identify()
    harness.server.faults.append(GraphRefused(500, 2))
    with pytest.raises(PlatformDown):
        await adapter.identify()


async def test_markdown_becomes_whatsapps_own(harness, adapter):
    text = "# Plan\n\n**bold** *it* ~~no~~ `code`\n\n- a\n\n> said\n\n[page](https://x.example/) <https://y.example/>"
    await adapter.send(adapter.home(ANN.id), text)
    [shown] = await harness.read_messages(adapter.home(ANN.id))
    expected = "*Plan*\n\n*bold* _it_ ~no~ `code`\n\n• a\n\n> said\n\npage: https://x.example/ https://y.example/"
    assert shown.text == expected


@pytest.mark.parametrize("name", ["", "ann", "+49", "12", "group:", "US.", "49170 1234567 89012345678", "group:a b"])
def test_what_is_no_chat_is_refused(adapter, name):
    with pytest.raises(BadInput):
        adapter.home(name)


def test_a_number_is_the_same_however_it_is_written(adapter):
    assert {adapter.home(one).chat for one in ("+49 (170) 123-4567", "491701234567", " +49.170.1234567")} == {ANN.id}
    assert adapter.home(GROUP).kind == "group"


async def test_nothing_secret_is_logged(harness, adapter, caplog):
    caplog.set_level(logging.DEBUG)
    heard = await hear_one(harness, adapter, adapter.home(BEN.id), "hello")
    await adapter.send(heard.place, "hello to you")
    assert len(await harness.kit.store.list_records(KIND)) >= 1
    assert not [one for one in (TOKEN, APP_SECRET, VERIFY_TOKEN) if one in caplog.text]
    assert json.dumps(harness.server.bodies[-1]["text"]["body"]) == '"hello to you"'
