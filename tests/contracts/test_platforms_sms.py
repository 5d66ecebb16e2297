"""sms, on a server that speaks Twilio's wire."""

import logging
import time
from urllib.parse import parse_qs

import pytest

from sojourn.core.errors import BadConfig, BadInput, SendRefused
from sojourn.core.settings import Secret
from sojourn.platforms.sms.adapter import OPT_OUT_KIND
from sojourn.platforms.sms.requests import compute_signature, is_signed
from sojourn.ports.platform import File
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_harness import PICTURE
from sojourn.testing.platform_steps import a_text, listening
from tests.servers.sms import ACCOUNT, ANN, BEN, OURS, SERVICE, TOKEN, TwilioRefused, build_form, compute_mark, sms_rig


@pytest.fixture
async def harness():
    async with sms_rig() as harness:
        yield harness


@pytest.fixture
async def adapter(harness):
    made = harness.connect()
    yield made
    await made.close()


class TestSms(PlatformContract):
    async def test_sends_files(self, harness, adapter, chat):
        """As every network, while it listens: Twilio fetches the file from us."""
        async with listening(harness, adapter):
            await super().test_sends_files(harness, adapter, chat)


PUBLISHED_FORM = "CallSid=CA1234567890ABCDE&Caller=%2B14158675309&Digits=1234&From=%2B14158675309&To=%2B18005551212"
PUBLISHED_URL = "https://mycompany.com/myapp.php?foo=1&bar=2"


def test_the_published_signature():
    form = parse_qs(PUBLISHED_FORM)
    assert compute_signature(Secret("12345"), PUBLISHED_URL, form) == "RSOYDt4T1cUTdK1PDd93/VVr8B8="


def test_a_field_that_comes_several_times_is_signed_with_each_value_once_in_order():
    form = parse_qs("b=2&a=1&b=1&b=2")
    assert compute_signature(Secret("t"), "u", form) == compute_mark("u", {"a": "1", "b": "1b2"}, "t")


@pytest.mark.parametrize(
    ("signed", "known"),
    [
        ("https://bot.example.org:443/sms", "https://bot.example.org/sms"),
        ("https://bot.example.org/sms", "https://bot.example.org:443/sms"),
        ("https://bot.example.org:8443/sms", "https://bot.example.org:8443/sms"),
    ],
)
def test_the_default_port_may_stand_in_the_address_or_not(signed, known):
    form, token = {"From": ["+1"]}, Secret("t")
    assert is_signed(token, known, form, compute_signature(token, signed, form))
    assert not is_signed(token, known, form, compute_signature(token, signed.replace("/sms", "/mms"), form))


async def test_the_answer_is_empty_and_comes_when_the_message_is_stored(harness, adapter):
    async with listening(harness, adapter) as ear:
        await harness.write(adapter.home(ANN.id), "hello", ANN)
        await ear.hear()
        assert not harness.sender.answers
        ear.open()
        await harness.sender.until_sent()
    [answer] = harness.sender.answers
    assert (answer.text, answer.headers["content-type"]) == ("<Response/>", "text/xml; charset=utf-8")


async def test_what_came_while_away_is_asked_for_in_order_over_several_pages(harness, adapter):
    async with listening(harness, adapter) as ear:
        known = await harness.write(adapter.home(ANN.id), "heard", ANN)
        await ear.hear()
        await ear.hears_nothing()
    harness.server.page_rows = 2
    now = time.time()
    harness.server.list_as_received("SM" + "e" * 32, ANN, "long ago", at=now - 3 * 86_400)
    harness.server.list_as_received(known, ANN, "heard", at=now)
    sids = [harness.server.new_sid() for _ in range(4)]
    for n, sid in enumerate(sids):
        harness.server.list_as_received(sid, BEN, f"away {n}", at=now + n)
    again = harness.connect()
    async with listening(harness, again) as ear:
        assert [(await ear.hear()).id for _ in sids] == sids
        await ear.hears_nothing()
        harness.notify(build_form(BEN, "away 3", sids[3]))  # Twilio repeats it as well
        await harness.sender.until_sent()
        await ear.hears_nothing()
    await again.close()
    assert harness.server.asked[-1].startswith("Page=2")
    assert "DateSent>=20" in harness.server.asked[0]


async def test_a_file_that_came_while_away_is_fetched(harness, adapter):
    async with listening(harness, adapter):
        pass
    harness.server.files["ME1"] = PICTURE
    harness.server.list_as_received(harness.server.new_sid("MM"), ANN, "look", at=time.time() + 1, num_media=1)
    async with listening(harness, adapter) as ear:
        [file] = (await ear.hear()).files
    assert file.data == PICTURE.data


async def test_what_was_written_before_the_first_start_is_left_alone(harness, adapter):
    harness.server.list_as_received(harness.server.new_sid(), ANN, "old", at=time.time() - 3600)
    async with listening(harness, adapter) as ear:
        await ear.hears_nothing()


@pytest.mark.parametrize("by", ["whatsapp:+491701234567", "12345", "Garden", "+0123", ""])
async def test_who_cannot_be_answered_is_left_out(harness, adapter, by):
    async with listening(harness, adapter) as ear:
        harness.notify(build_form(ANN, "no", harness.server.new_sid(), From=by))
        harness.notify(build_form(ANN, "no", harness.server.new_sid(), To="+15559999999"))
        harness.notify(build_form(ANN, "no", harness.server.new_sid(), AccountSid="AC" + "9" * 32))
        await harness.write(adapter.home(ANN.id), "yes", ANN)
        assert (await ear.hear()).text == "yes"


@pytest.mark.parametrize("form", [{"Body": "Stop"}, {"Body": " cancel "}, {"Body": "basta", "OptOutType": "STOP"}])
async def test_who_answers_stop_is_not_written_to_until_they_answer_start(harness, adapter, form):
    place = adapter.home(ANN.id)
    async with listening(harness, adapter) as ear:
        harness.notify(build_form(ANN, "", harness.server.new_sid(), **form))
        await harness.sender.until_sent()
        await ear.hears_nothing()
        with pytest.raises(SendRefused) as refused:
            await adapter.send(place, "hello?")
        assert (refused.value.kind, "START" in refused.value.hint, harness.server.sent) == ("forbidden", True, [])
        assert (await adapter.send(adapter.home(BEN.id), "hello")).id
        harness.notify(build_form(ANN, "START", harness.server.new_sid(), OptOutType="START"))
        await harness.sender.until_sent()
        assert (await adapter.send(place, "welcome back")).id
        await ear.hears_nothing()
    assert not await harness.kit.store.list_records(OPT_OUT_KIND)


async def test_who_has_started_again_is_not_stopped_by_a_restart(harness, adapter):
    """Twilio still lists the STOP, which came while we were away."""
    async with listening(harness, adapter) as ear:
        await ear.hears_nothing()
    harness.server.list_as_received(harness.server.new_sid(), ANN, "STOP", at=time.time())
    async with listening(harness, adapter) as ear:
        await ear.hears_nothing()
        with pytest.raises(SendRefused):
            await adapter.send(adapter.home(ANN.id), "hello?")
        harness.notify(build_form(ANN, "START", harness.server.new_sid()))
        await harness.sender.until_sent()
    again = harness.connect()
    async with listening(harness, again) as ear:
        await ear.hears_nothing()
        assert (await again.send(again.home(ANN.id), "welcome back")).id
    await again.close()


async def test_what_came_in_the_same_second_keeps_its_order(harness, adapter):
    async with listening(harness, adapter) as ear:
        await ear.hears_nothing()
    now = time.time()
    for words in ("Please buy", "bread", "and salt"):
        harness.server.list_as_received(harness.server.new_sid(), ANN, words, at=now)
    async with listening(harness, adapter) as ear:
        assert [(await ear.hear()).text for _ in range(3)] == ["Please buy", "bread", "and salt"]


async def test_help_is_twilios_and_yes_is_an_answer(harness, adapter):
    async with listening(harness, adapter) as ear:
        harness.notify(build_form(ANN, "HELP", harness.server.new_sid()))
        harness.notify(build_form(ANN, "yes", harness.server.new_sid()))
        assert (await ear.hear()).text == "yes"


async def test_a_status_is_signed_for_its_own_address_and_a_failure_is_logged(harness, adapter, caplog):
    sid = harness.server.new_sid()
    form = {
        "MessageSid": sid,
        "MessageStatus": "undelivered",
        "ErrorCode": "30003",
        "AccountSid": ACCOUNT,
        "To": ANN.id,
    }
    async with listening(harness, adapter) as ear:
        _, body, headers = harness.sign_form(form)
        assert (await harness.http.post("/sms/status", content=body, headers=headers)).status_code == 401
        harness.notify(form, path="/status")
        harness.notify(form | {"MessageStatus": "delivered", "ErrorCode": ""}, path="/status")
        await harness.sender.until_sent()
        await ear.hears_nothing()
    expected = f"Twilio did not deliver '{sid}': undelivered (https://www.twilio.com/docs/api/errors/30003)."
    assert [one.getMessage() for one in caplog.records if "deliver" in one.getMessage()] == [expected]
    assert ANN.id not in caplog.text


async def test_every_message_asks_for_its_status(harness, adapter):
    await adapter.send(adapter.home(ANN.id), "hello")
    [form] = harness.server.sent
    assert form == {"To": ANN.id, "From": OURS, "Body": "hello", "StatusCallback": f"{harness.public_url}/status"}


async def test_a_messaging_service_sends_and_receives(harness):
    service = harness.connect(number="", messaging_service=SERVICE)
    assert (await service.send(service.home(ANN.id), "hello")).id
    assert (harness.server.sent[0]["MessagingServiceSid"], "From" in harness.server.sent[0]) == (SERVICE, False)
    async with listening(harness, service) as ear:
        harness.notify(build_form(ANN, "another's", harness.server.new_sid()))
        harness.notify(build_form(ANN, "ours", harness.server.new_sid(), MessagingServiceSid=SERVICE))
        assert (await ear.hear()).text == "ours"
    await service.close()


async def test_a_file_is_offered_under_an_address_that_cannot_be_guessed(harness, adapter):
    place = adapter.home(ANN.id)
    with pytest.raises(SendRefused, match="not listening"):
        await adapter.send_file(place, PICTURE)
    async with listening(harness, adapter):
        await adapter.send_file(place, PICTURE)
        url = harness.server.sent[0]["MediaUrl"]
        assert url.startswith(f"{harness.public_url}/media/")
        assert len(url.rpartition("/")[2]) >= 43
        offered = await harness.http.get(f"/sms/media/{url.rpartition('/')[2]}")
        assert offered.content == PICTURE.data
        assert "sandbox" in offered.headers["content-security-policy"]  # a file is no page of this address
        for guess in ("media/", "media/x", "media", f"media/{url.rpartition('/')[2][:-1]}"):
            assert (await harness.http.get(f"/sms/{guess}")).status_code == 401
        with pytest.raises(SendRefused) as refused:
            await adapter.send_file(place, File(name="big", media_type="video/mp4", data=bytes(6 * 1024 * 1024)))
        assert refused.value.kind == "too_long"


async def test_a_file_on_another_host_is_not_fetched(harness, adapter):
    async with listening(harness, adapter) as ear:
        more = {"NumMedia": "1", "MediaUrl0": "https://evil.example/x", "MediaContentType0": "image/png"}
        harness.notify(build_form(ANN, "look", harness.server.new_sid(), **more))
        heard = await ear.hear()
    assert (heard.files, "not on a server of Twilio" in heard.text) == ((), True)


async def test_markdown_becomes_words_in_the_cheap_alphabet(harness, adapter):
    await adapter.send(adapter.home(ANN.id), "**Done** — see “[the page](https://x.example/)” …\n\n- one\n- two")
    assert harness.server.sent[0]["Body"] == 'Done - see "the page: https://x.example/" ...\n\n- one\n- two'


async def test_the_longest_message_is_sent_whole(harness, adapter):
    longest = a_text(adapter)
    await adapter.send(adapter.home(ANN.id), longest, plain=True)
    assert harness.server.sent[0]["Body"] == longest


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        (TwilioRefused(429, 20429), "rate_limited"),
        (TwilioRefused(400, 21608), "forbidden"),
        (TwilioRefused(400, 21614), "not_found"),
        (TwilioRefused(400, 21617), "too_long"),
        (TwilioRefused(500, 20500), "transient"),
        (TwilioRefused(400, 99999), "unknown"),
    ],
)
async def test_codes_become_kinds(harness, adapter, fault, kind):
    harness.server.faults.append(fault)
    with pytest.raises(SendRefused) as refused:
        await adapter.send(adapter.home(ANN.id), "hello")
    assert refused.value.kind == kind


@pytest.mark.parametrize("name", ["", "ann", "12345", "+49", "whatsapp:+491701234567", "+49170123456789012"])
def test_what_is_no_number_is_refused(adapter, name):
    with pytest.raises(BadInput):
        adapter.home(name)


@pytest.mark.parametrize("wrong", [{"number": ""}, {"public_url": "bot.example.org"}, {"public_url": "https://x:y/"}])
def test_a_number_and_its_address_are_needed(harness, wrong):
    with pytest.raises(BadConfig):
        harness.connect(**wrong)


async def test_nothing_secret_is_logged(harness, adapter, caplog):
    caplog.set_level(logging.DEBUG)
    async with listening(harness, adapter) as ear:
        await harness.write(adapter.home(BEN.id), "hello", BEN)
        await ear.hear()
        await adapter.send(adapter.home(BEN.id), "hello to you")
    assert TOKEN not in caplog.text
