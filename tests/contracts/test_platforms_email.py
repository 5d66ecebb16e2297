"""email, on a real Dovecot and an SMTP server."""

from collections.abc import AsyncIterator, Iterator

import pytest

from sojourn.core.errors import BadConfig, BadInput
from sojourn.platforms.email.adapter import Email
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_steps import listening
from tests.servers.mail import Mailboxes, MailRig, dovecot


@pytest.fixture(scope="module")
def boxes() -> Iterator[Mailboxes]:
    with dovecot() as boxes:
        yield boxes


@pytest.fixture
async def rig(boxes: Mailboxes) -> AsyncIterator[MailRig]:
    async with MailRig(boxes) as rig:
        yield rig


@pytest.fixture
def adapter(rig: MailRig) -> Email:
    return rig.connect()


class TestEmail(PlatformContract):
    pass


async def test_a_reply_is_found_under_its_subject_and_continues_the_chat(rig: MailRig, adapter: Email):
    ann = rig.people[0]
    async with listening(rig, adapter) as ear:
        id = await rig.put_in_post(rig.letter("Which way?", ann, Subject="The garden"))
        heard = await ear.hear()
        sent = await adapter.send(heard.place, "**Left**", reply_to=heard.id)
        reply = rig.letter("Thanks.\n\nOn Monday Sojourn wrote:\n> Left\n", ann, Subject="Re: The garden")
        reply["References"] = f"<{id}> <{sent.id}>"
        await rig.put_in_post(reply)
        again = await ear.hear()
    [answer] = rig.got(ann.id)
    assert (answer["Subject"], answer["In-Reply-To"]) == ("Re: The garden", f"<{id}>")
    assert heard.text == "The garden\n\nWhich way?"
    assert (again.text, again.place.chat, again.place.thread) == ("Thanks.", ann.id, None)


async def test_a_letter_from_before_this_process_is_answered_under_its_subject(rig: MailRig, adapter: Email):
    async with listening(rig, adapter) as ear:
        await rig.put_in_post(rig.letter("Which way?", rig.people[0], Subject="The garden"))
        heard = await ear.hear()
    for reply_to in (heard.id, ""):
        await rig.connect().send(heard.place, "Left", reply_to=reply_to)
    assert [(one["Subject"], one["In-Reply-To"]) for one in rig.got(rig.people[0].id)] == [
        ("Re: The garden", f"<{heard.id}>")
    ] * 2


async def test_an_answer_goes_under_the_last_letter_of_its_place(rig: MailRig, adapter: Email):
    home, ann = adapter.home(rig.chats["dm"]), rig.people[0]
    thread = await adapter.create_handoff_thread(home, "Plan the garden")
    async with listening(rig, adapter) as ear:
        await rig.put_in_post(rig.letter("Which way?", ann, Subject="A walk"))
        last = await rig.write(thread, "add thyme", ann)
        places = [(await ear.hear()).place for _ in range(2)]
    for one in (adapter, rig.connect()):  # also after a new start
        for place in places:
            await one.send(place, "as you say")
    assert [one["Subject"] for one in rig.got(ann.id)] == ["Re: A walk", "Re: Plan the garden"] * 2
    assert {one["In-Reply-To"] for one in rig.got(ann.id)[1::2]} == {f"<{last}>"}


async def test_what_lay_there_before_the_first_start_is_not_answered(rig: MailRig, adapter: Email):
    await rig.write(adapter.home(rig.chats["dm"]), "from last year", rig.people[0])
    async with listening(rig, adapter) as ear:
        await rig.write(adapter.home(rig.chats["dm"]), "from today", rig.people[0])
        assert (await ear.hear()).text == "from today"


async def test_a_handoff_thread_has_a_subject_of_its_own(rig: MailRig, adapter: Email):
    thread = await adapter.create_handoff_thread(adapter.home(rig.chats["dm"]), "Plan the\ngarden")
    await adapter.send(thread, "I am here now")
    assert rig.got(rig.people[0].id)[0]["Subject"] == "Plan the garden"


async def test_unproven_senders_are_left_out_where_a_server_vouches_for_them(rig: MailRig):
    ann, good = rig.people[0], "mx.home.example; dmarc=pass header.from=home.example"
    forged = {"forged": good.replace("pass", "fail"), "vouched for by others": good.replace("mx.", "evil.")}
    async with listening(rig, rig.connect(verified_by="mx.home.example")) as ear:
        for text, proof in {**forged, "proven": good}.items():
            await rig.put_in_post(rig.letter(text, ann, Authentication_Results=proof))
        assert (await ear.hear()).text == "proven"


@pytest.mark.parametrize(
    ("head", "value"), [("Auto_Submitted", "auto-replied"), ("List_Id", "<garden.example>"), ("Precedence", "bulk")]
)
async def test_machines_and_lists_get_no_answer(rig: MailRig, adapter: Email, head: str, value: str):
    async with listening(rig, adapter) as ear:
        await rig.put_in_post(rig.letter("I am on holiday", rig.people[0], **{head: value}))
        await rig.put_in_post(rig.letter("a person", rig.people[0]))
        assert (await ear.hear()).text == "a person"


async def test_our_letters_say_that_a_machine_wrote_them(rig: MailRig, adapter: Email):
    await adapter.send(adapter.home(rig.chats["dm"]), "**hello**")
    [mail] = rig.got(rig.people[0].id)
    assert mail["Auto-Submitted"] == "auto-replied"
    html = mail.get_body(("html",))
    assert html is not None
    assert html.get_content().strip() == "<p><strong>hello</strong></p>"


def test_an_address_may_come_with_a_name(rig: MailRig, adapter: Email):
    assert adapter.home("Ann <Ann@Home.example>").chat == "ann@home.example"
    with pytest.raises(BadInput):
        adapter.home("ann")


def test_a_wrong_kind_of_line_is_said(rig: MailRig):
    with pytest.raises(BadConfig, match="imap_security"):
        rig.settings(imap_security="tls")
