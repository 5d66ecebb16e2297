"""A message that cannot be understood stops nothing: those behind it are heard."""

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack

import pytest

from sojourn.core.places import Sender
from sojourn.stores.postgres.store import PostgresStore
from sojourn.stores.sqlite.store import SqliteStore
from sojourn.testing.fake_platform import ANN
from sojourn.testing.platform_steps import listening
from tests.integration.gateway.worlds import world
from tests.security.test_forged_mail import GOOD
from tests.servers.mail import Mailboxes, MailHarness, dovecot

UNREADABLE: dict[str, tuple[str, str]] = {  # a further header, and the body
    "alphabet that decodes nothing": ("Content-Type: text/plain; charset=undefined", "x"),
    "alphabet that takes no errors": ("Content-Type: text/plain; charset=idna", "\xff"),
    "broken word in the subject": ("Subject: =?utf-8?b?a?=", "x"),
    "subject that decodes to nothing": ("Subject: =?undefined?q?abc?=", "x"),
    "nested without end": (
        "Content-Type: multipart/mixed; boundary=x0",
        "".join(f"--x{n}\r\nContent-Type: multipart/mixed; boundary=x{n + 1}\r\n\r\n" for n in range(1500)),
    ),
}


@pytest.fixture(scope="module")
def boxes() -> Iterator[Mailboxes]:
    with dovecot() as boxes:
        yield boxes


@pytest.fixture
async def harness(boxes: Mailboxes) -> AsyncIterator[MailHarness]:
    async with MailHarness(boxes) as harness:
        yield harness


def build_mail(harness: MailHarness, name: str, header: str = "", body: str = "") -> bytes:
    lines = [f"Authentication-Results: {GOOD}", f"From: {harness.people[0].id}", f"To: {harness.us}"]
    lines += [f"Message-ID: <{name.replace(' ', '-')}@x.example>", *([header] if header else []), "", body or name, ""]
    return "\r\n".join(lines).encode("latin-1")


async def test_a_mail_that_cannot_be_read_holds_up_no_other(harness: MailHarness, caplog):
    """Anybody can send one: it is parsed before it is known who has sent it."""
    async with listening(harness, harness.connect()) as ear:
        for name, (header, body) in UNREADABLE.items():
            await harness.post_raw(build_mail(harness, name, header, body))
            await harness.post_raw(build_mail(harness, f"behind {name}"))
            assert (await ear.hear()).text == f"behind {name}"
    assert len([one for one in caplog.records if "cannot be read" in one.getMessage()]) == len(UNREADABLE)


@pytest.mark.parametrize("id", ["@a..b:evil.example", "/evil", "", "a\x00b"])
async def test_a_sender_who_cannot_be_part_of_a_key_stops_no_network(home, store, id):
    async with world(home, store) as at:
        await at.start()
        at.network.say("#team", "you never hear this", Sender(id=id))
        at.network.say("#team", "hello", ANN)
        assert await at.texts("#team", 1) == ["hello"]
        assert at.network.listeners == 1


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
async def test_characters_that_are_none_stop_no_network(home, request, kind):
    text = "half \ud83d of a character, zero \x00 byte, \udcff \ufffe\uffff"
    postgres = kind == "postgres"
    store = PostgresStore(request.getfixturevalue("postgres_url")) if postgres else SqliteStore(home / "state.db")
    async with AsyncExitStack() as stack:
        stack.push_async_callback(store.close)
        at = await stack.enter_async_context(world(home, store))
        await at.start()
        at.network.say("42", text, Sender(id="42", name=text))
        at.network.say("43", text, Sender(id=text))
        at.network.say("42", "hello", ANN, id=f"id{text}")
        assert (await at.texts("42", 2))[-1] == "hello"
        assert at.network.listeners == 1
