"""Forged senders: no mail that the trusted server does not confirm is heard, whatever its headers claim."""

from collections.abc import AsyncIterator, Iterator

import pytest

from sojourn.core.errors import BadConfig
from sojourn.testing.platform_steps import listening
from tests.servers.mail import Mailboxes, MailHarness, dovecot

MX = "mx.home.example"
GOOD = f"{MX}; dmarc=pass header.from=home.example"
FAIL = f"{MX}; dmarc=fail header.from=home.example"
ANN = "Ann <{ann}>"

# Authentication-Results from top to bottom, and the From headers
FORGED: dict[str, tuple[list[str], list[str]]] = {
    "no results": ([], [ANN]),
    "fail": ([FAIL], [ANN]),
    "results of another server": (["mx.evil.example; dmarc=pass header.from=home.example"], [ANN]),
    "name of the server as a prefix": ([f"{MX}.evil.example; dmarc=pass header.from=home.example"], [ANN]),
    "name of the server in a comment": ([f"evil.example ({MX}); dmarc=pass header.from=home.example"], [ANN]),
    "forged header below the server's": ([FAIL, GOOD], [ANN]),
    "forged header below a broken one": ([f"{MX}; dmarc=fail (unclosed header.from=home.example", GOOD], [ANN]),
    "pass in a comment": ([f"{MX}; dmarc=fail (was: dmarc=pass header.from=home.example)"], [ANN]),
    "pass in a nested comment": ([f"{MX}; dmarc=fail (a (b) dmarc=pass header.from=home.example)"], [ANN]),
    "escaped bracket in a comment": ([f"{MX}; dmarc=fail (\\) dmarc=pass header.from=home.example)"], [ANN]),
    "pass in a quoted string": ([f'{MX}; spf=fail reason="; dmarc=pass header.from=home.example"'], [ANN]),
    "escaped quote in a string": ([f'{MX}; spf=fail reason="\\"; dmarc=pass header.from=home.example; x=y"'], [ANN]),
    "pass of another method": ([f"{MX}; x-dmarc=pass header.from=home.example"], [ANN]),
    "pass of spf alone": ([f"{MX}; spf=pass smtp.mailfrom=home.example header.from=home.example"], [ANN]),
    "result that begins with pass": ([f"{MX}; dmarc=passed header.from=home.example"], [ANN]),
    "fail and pass": ([f"{MX}; dmarc=fail header.from=home.example; dmarc=pass header.from=home.example"], [ANN]),
    "pass for another domain": ([f"{MX}; dmarc=pass header.from=evil.example"], [ANN]),
    "pass for two domains": ([f"{MX}; dmarc=pass header.from=evil.example header.from=home.example"], [ANN]),
    "pass for no domain": ([f"{MX}; dmarc=pass"], [ANN]),
    "pass for a longer domain": ([f"{MX}; dmarc=pass header.from=home.example.evil.example"], [ANN]),
    "domain in a property of another kind": ([f"{MX}; dmarc=pass smtp.from=home.example"], [ANN]),
    "version nobody knows": ([f"{MX} 2; dmarc=pass header.from=home.example"], [ANN]),
    "none": ([f"{MX}; none"], [ANN]),
    "nothing but the server": ([f"{MX}"], [ANN]),
    "two words as the server": ([f"{MX} evil; dmarc=pass header.from=home.example"], [ANN]),
    "encoded word": (["=?utf-8?q?mx=2Ehome=2Eexample=3B_dmarc=3Dpass_header=2Efrom=3Dhome=2Eexample?="], [ANN]),
    "two From headers": ([GOOD], [ANN, "Evil <evil@evil.example>"]),
    "two From headers, ours last": ([GOOD], ["Evil <evil@evil.example>", ANN]),
    "two addresses": ([GOOD], ["{ann}, evil@evil.example"]),
    "address as a name": ([GOOD], ['"{ann}" <evil@evil.example>']),
    "bare address as a name": ([GOOD], ["{ann} <evil@evil.example>"]),
    "group": ([GOOD], ["friends: {ann}, evil@evil.example;"]),
    "encoded comma": ([GOOD], ["=?utf-8?q?{q}=2C?= <evil@evil.example>"]),
    "no From": ([GOOD], []),
    "empty From": ([GOOD], [""]),
}
HEARD = {
    "simple": [GOOD],
    "comments, versions and cases": [
        f"(a (b)) {MX.upper()} (c) 1 (d); DMARC/1 (e) = (f) PASS (g) header . from = (h) Home.Example"
    ],
    "quoted": [f'"{MX}"; dmarc=pass reason="a;b \\"c\\"" header.from="home.example"'],
    "several methods": [
        f"{MX}; spf=pass smtp.mailfrom=x@home.example; dkim=pass header.b=aB+/=; dmarc=pass header.from=home.example;"
    ],
    "words of its own": [f"{MX}; dmarc=pass action=none header.from=home.example; compauth=pass reason=100"],
    "below those of a later server": ["relay.home.example; none", GOOD],
    "above a forged one": [GOOD, f"{MX}; dmarc=fail header.from=home.example"],
}


@pytest.fixture(scope="module")
def boxes() -> Iterator[Mailboxes]:
    with dovecot() as boxes:
        yield boxes


@pytest.fixture
async def harness(boxes: Mailboxes) -> AsyncIterator[MailHarness]:
    async with MailHarness(boxes) as harness:
        yield harness


def raw_mail(harness: MailHarness, name: str, results: list[str], senders: list[str]) -> bytes:
    ann = harness.people[0].id
    lines = [f"Authentication-Results: {one}" for one in results]
    lines += [f"From: {one.format(ann=ann, q=ann.replace('@', '=40'))}" for one in senders]
    lines += [f"To: {harness.us}", f"Message-ID: <{name.replace(' ', '-')}@x.example>", "Subject: ", "", name, ""]
    return "\r\n".join(lines).encode()


async def test_no_forged_mail_is_heard(harness: MailHarness):
    async with listening(harness, harness.connect()) as ear:
        for name, (results, senders) in FORGED.items():
            await harness.post_raw(raw_mail(harness, name, results, senders))
        await harness.post_raw(raw_mail(harness, "honest", [GOOD], [ANN]))
        heard = await ear.hear()
        assert (heard.text, heard.sender.id) == ("honest", harness.people[0].id)


async def test_mail_that_the_server_confirms_is_heard_in_every_form(harness: MailHarness):
    async with listening(harness, harness.connect()) as ear:
        for name, results in HEARD.items():
            await harness.post_raw(raw_mail(harness, name, results, [ANN]))
            assert ((await ear.hear()).text, name) == (name, name)


async def test_address_that_only_looks_the_same_is_not_heard(harness: MailHarness):
    """Python's lower() turns the Kelvin sign into a k."""
    async with listening(harness, harness.connect()) as ear:
        for who in ("\u212a@home.example", "=?utf-8?b?4oSq?=@home.example", "K@home.example"):
            await harness.post_raw(raw_mail(harness, "hello", [GOOD], [who]))
        assert (await ear.hear()).sender.id == "k@home.example"
        await ear.hears_nothing()


def test_without_a_trusted_server_mail_is_not_served(harness: MailHarness):
    with pytest.raises(BadConfig, match="verified_by"):
        harness.connect(verified_by="")
