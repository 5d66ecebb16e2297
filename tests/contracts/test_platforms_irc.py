"""irc, on a real ngIRCd."""

from collections.abc import AsyncIterator, Iterator

import pytest

from sojourn.core.errors import BadInput, PlatformDown, SendRefused
from sojourn.platforms.irc.adapter import Irc
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_steps import listening
from tests.integration.gateway.network_steps import hand_over_and_go_on
from tests.servers.ngircd import IrcHarness, Person, ngircd


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with ngircd(tmp_path_factory.mktemp("ngircd")) as port:
        yield port


@pytest.fixture
async def harness(port: int) -> AsyncIterator[IrcHarness]:
    async with IrcHarness(port) as harness:
        yield harness


@pytest.fixture
async def adapter(harness: IrcHarness) -> AsyncIterator[Irc]:
    made = harness.connect()
    yield made
    await made.close()


class TestIrc(PlatformContract):
    pass


async def test_a_session_goes_on_where_it_was_handed_over_to(harness: IrcHarness, home, store):
    await hand_over_and_go_on(harness, home, store)


async def test_each_line_of_a_message_is_one_of_theirs(harness: IrcHarness, adapter: Irc):
    lines = [f"line {n}" for n in range(12)]
    await adapter.send(adapter.home(harness.channel), "\n\n".join(lines))
    assert [one.text for one in await harness.read_messages(adapter.home(harness.channel))] == lines


async def test_nothing_of_a_full_line_is_cut_off(harness: IrcHarness, adapter: Irc):
    words = "x" * (adapter.info.max_chars - 3) + "end"
    await adapter.send(adapter.home(harness.channel), words)
    assert [one.text for one in await harness.read_messages(adapter.home(harness.channel))] == [words]


async def test_a_taken_nick_gets_a_tail(harness: IrcHarness, adapter: Irc, port: int):
    async with Person(harness.us, port, harness.channel):
        await harness.ann.until(lambda: harness.us in harness.ann.present)
        await adapter.send(adapter.home(harness.ann.nick), "it is me")
        await harness.ann.settled()
        assert harness.ann.heard == [(f"{harness.us}_", harness.ann.nick, "it is me")]


async def test_where_only_some_may_speak_it_is_forbidden(harness: IrcHarness, adapter: Irc):
    harness.ann.say(f"MODE {harness.channel} +m")
    await harness.ann.settled()
    with pytest.raises(SendRefused) as refused:
        await adapter.send(adapter.home(harness.channel), "let me speak")
    assert refused.value.kind == "forbidden"


async def test_in_a_channel_it_says_whether_we_are_called(harness: IrcHarness, adapter: Irc):
    channel, ann = adapter.home(harness.channel), harness.people[0]
    async with listening(harness, adapter) as ear:
        for text in (
            "nice weather",
            f"{harness.us.upper()}: is it?",
            f"I like {harness.us}x",
            f"ask {harness.us} then",
        ):
            await harness.write(channel, text, ann)
        heard = [await ear.hear() for _ in range(4)]
    assert [one.mentioned for one in heard] == [False, True, False, True]
    assert heard[1].text == "is it?"


async def test_colours_and_the_talk_of_programs_are_left_out(harness: IrcHarness, adapter: Irc):
    home, ann = adapter.home(harness.ann.nick), harness.people[0]
    async with listening(harness, adapter) as ear:
        for text in ("\x01VERSION\x01", "\x0304red\x03 and \x02bold\x02", "\x01ACTION waves\x01"):
            await harness.write(home, text, ann)
        assert [(await ear.hear()).text for _ in range(2)] == ["red and bold", "waves"]


async def test_a_server_without_accounts_is_said(harness: IrcHarness):
    adapter = harness.connect(account="sojourn")
    with pytest.raises(PlatformDown, match="does not support SASL"):
        await anext(adapter.listen())


@pytest.mark.parametrize("words", ["#two words", "a,b", ":colon", "x\ny"])
def test_what_could_be_a_command_is_no_name(harness: IrcHarness, adapter: Irc, words: str):
    with pytest.raises(BadInput):
        adapter.home(words)
