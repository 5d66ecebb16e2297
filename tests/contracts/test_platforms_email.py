"""email, on a real Dovecot and an SMTP server."""

from collections.abc import AsyncIterator, Iterator

import pytest

from sojourn.core.errors import BadConfig, BadInput
from sojourn.platforms.email.adapter import Email
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_steps import listening
from tests.integration.gateway.network_steps import hand_over_and_go_on
from tests.servers.mail import Mailboxes, MailHarness, dovecot


@pytest.fixture(scope="module")
def boxes() -> Iterator[Mailboxes]:
    with dovecot() as boxes:
        yield boxes


@pytest.fixture
async def harness(boxes: Mailboxes) -> AsyncIterator[MailHarness]:
    async with MailHarness(boxes) as harness:
        yield harness


@pytest.fixture
def adapter(harness: MailHarness) -> Email:
    return harness.connect()


class TestEmail(PlatformContract):
    pass


async def test_a_session_goes_on_where_it_was_handed_over_to(harness: MailHarness, home, store):
    await hand_over_and_go_on(harness, home, store)


async def test_a_reply_is_found_under_its_subject_and_continues_the_chat(harness: MailHarness, adapter: Email):
    ann = harness.people[0]
    async with listening(harness, adapter) as ear:
        id = await harness.put_in_post(harness.letter("Which way?", ann, Subject="The garden"))
        heard = await ear.hear()
        sent = await adapter.send(heard.place, "**Left**", reply_to=heard.id)
        reply = harness.letter("Thanks.\n\nOn Monday Sojourn wrote:\n> Left\n", ann, Subject="Re: The garden")
        reply["References"] = f"<{id}> <{sent.id}>"
        await harness.put_in_post(reply)
        again = await ear.hear()
    [answer] = harness.got(ann.id)
    assert (answer["Subject"], answer["In-Reply-To"]) == ("Re: The garden", f"<{id}>")
    assert heard.text == "The garden\n\nWhich way?"
    assert (again.text, again.place.chat, again.place.thread) == ("Thanks.", ann.id, None)


async def test_a_letter_from_before_this_process_is_answered_under_its_subject(harness: MailHarness, adapter: Email):
    async with listening(harness, adapter) as ear:
        await harness.put_in_post(harness.letter("Which way?", harness.people[0], Subject="The garden"))
        heard = await ear.hear()
    for reply_to in (heard.id, ""):
        await harness.connect().send(heard.place, "Left", reply_to=reply_to)
    assert [(one["Subject"], one["In-Reply-To"]) for one in harness.got(harness.people[0].id)] == [
        ("Re: The garden", f"<{heard.id}>")
    ] * 2


async def test_an_answer_goes_under_the_last_letter_of_its_place(harness: MailHarness, adapter: Email):
    home, ann = adapter.home(harness.chats["dm"]), harness.people[0]
    thread = await adapter.create_handoff_thread(home, "Plan the garden")
    async with listening(harness, adapter) as ear:
        await harness.put_in_post(harness.letter("Which way?", ann, Subject="A walk"))
        last = await harness.write(thread, "add thyme", ann)
        places = [(await ear.hear()).place for _ in range(2)]
    for one in (adapter, harness.connect()):  # also after a new start
        for place in places:
            await one.send(place, "as you say")
    assert [one["Subject"] for one in harness.got(ann.id)] == ["Re: A walk", "Re: Plan the garden"] * 2
    assert {one["In-Reply-To"] for one in harness.got(ann.id)[1::2]} == {f"<{last}>"}


async def test_what_lay_there_before_the_first_start_is_not_answered(harness: MailHarness, adapter: Email):
    await harness.write(adapter.home(harness.chats["dm"]), "from last year", harness.people[0])
    async with listening(harness, adapter) as ear:
        await harness.write(adapter.home(harness.chats["dm"]), "from today", harness.people[0])
        assert (await ear.hear()).text == "from today"


async def test_a_handoff_thread_has_a_subject_of_its_own(harness: MailHarness, adapter: Email):
    thread = await adapter.create_handoff_thread(adapter.home(harness.chats["dm"]), "Plan the\ngarden")
    await adapter.send(thread, "I am here now")
    assert harness.got(harness.people[0].id)[0]["Subject"] == "Plan the garden"


async def test_unproven_senders_are_left_out_where_a_server_vouches_for_them(harness: MailHarness):
    ann, good = harness.people[0], "mx.home.example; dmarc=pass header.from=home.example"
    forged = {"forged": good.replace("pass", "fail"), "vouched for by others": good.replace("mx.", "evil.")}
    async with listening(harness, harness.connect(verified_by="mx.home.example")) as ear:
        for text, proof in {**forged, "proven": good}.items():
            await harness.put_in_post(harness.letter(text, ann, Authentication_Results=proof))
        assert (await ear.hear()).text == "proven"


@pytest.mark.parametrize(
    ("head", "value"), [("Auto_Submitted", "auto-replied"), ("List_Id", "<garden.example>"), ("Precedence", "bulk")]
)
async def test_machines_and_lists_get_no_answer(harness: MailHarness, adapter: Email, head: str, value: str):
    async with listening(harness, adapter) as ear:
        await harness.put_in_post(harness.letter("I am on holiday", harness.people[0], **{head: value}))
        await harness.put_in_post(harness.letter("a person", harness.people[0]))
        assert (await ear.hear()).text == "a person"


async def test_our_letters_say_that_a_machine_wrote_them(harness: MailHarness, adapter: Email):
    await adapter.send(adapter.home(harness.chats["dm"]), "**hello**")
    [mail] = harness.got(harness.people[0].id)
    assert mail["Auto-Submitted"] == "auto-replied"
    html = mail.get_body(("html",))
    assert html is not None
    assert html.get_content().strip() == "<p><strong>hello</strong></p>"


def test_an_address_may_come_with_a_name(harness: MailHarness, adapter: Email):
    assert adapter.home("Ann <Ann@Home.example>").chat == "ann@home.example"
    with pytest.raises(BadInput):
        adapter.home("ann")


def test_a_wrong_kind_of_line_is_said(harness: MailHarness):
    with pytest.raises(BadConfig, match="imap_security"):
        harness.settings(imap_security="tls")
