"""irc, on a real ngIRCd."""

from collections.abc import AsyncIterator, Iterator

import pytest

from sojourn.core.errors import BadInput, PlatformDown, SendRefused
from sojourn.platforms.irc.adapter import Irc
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_steps import listening
from tests.servers.ngircd import IrcRig, Person, ngircd


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    with ngircd(tmp_path_factory.mktemp("ngircd")) as port:
        yield port


@pytest.fixture
async def rig(port: int) -> AsyncIterator[IrcRig]:
    async with IrcRig(port) as rig:
        yield rig


@pytest.fixture
async def adapter(rig: IrcRig) -> AsyncIterator[Irc]:
    made = rig.connect()
    yield made
    await made.close()


class TestIrc(PlatformContract):
    pass


async def test_each_line_of_a_message_is_one_of_theirs(rig: IrcRig, adapter: Irc):
    lines = [f"line {n}" for n in range(12)]
    await adapter.send(adapter.home(rig.channel), "\n\n".join(lines))
    assert [one.text for one in await rig.shown(adapter.home(rig.channel))] == lines


async def test_nothing_of_a_full_line_is_cut_off(rig: IrcRig, adapter: Irc):
    words = "x" * (adapter.info.max_chars - 3) + "end"
    await adapter.send(adapter.home(rig.channel), words)
    assert [one.text for one in await rig.shown(adapter.home(rig.channel))] == [words]


async def test_a_taken_nick_gets_a_tail(rig: IrcRig, adapter: Irc, port: int):
    async with Person(rig.us, port, rig.channel):
        await rig.ann.until(lambda: rig.us in rig.ann.present)
        await adapter.send(adapter.home(rig.ann.nick), "it is me")
        await rig.ann.settled()
        assert rig.ann.heard == [(f"{rig.us}_", rig.ann.nick, "it is me")]


async def test_where_only_some_may_speak_it_is_forbidden(rig: IrcRig, adapter: Irc):
    rig.ann.say(f"MODE {rig.channel} +m")
    await rig.ann.settled()
    with pytest.raises(SendRefused) as refused:
        await adapter.send(adapter.home(rig.channel), "let me speak")
    assert refused.value.kind == "forbidden"


async def test_in_a_channel_it_says_whether_we_are_called(rig: IrcRig, adapter: Irc):
    channel, ann = adapter.home(rig.channel), rig.people[0]
    async with listening(rig, adapter) as ear:
        for text in ("nice weather", f"{rig.us.upper()}: is it?", f"I like {rig.us}x", f"ask {rig.us} then"):
            await rig.write(channel, text, ann)
        heard = [await ear.hear() for _ in range(4)]
    assert [one.mentioned for one in heard] == [False, True, False, True]
    assert heard[1].text == "is it?"


async def test_colours_and_the_talk_of_programs_are_left_out(rig: IrcRig, adapter: Irc):
    home, ann = adapter.home(rig.ann.nick), rig.people[0]
    async with listening(rig, adapter) as ear:
        for text in ("\x01VERSION\x01", "\x0304red\x03 and \x02bold\x02", "\x01ACTION waves\x01"):
            await rig.write(home, text, ann)
        assert [(await ear.hear()).text for _ in range(2)] == ["red and bold", "waves"]


async def test_a_server_without_accounts_is_said(rig: IrcRig):
    adapter = rig.connect(account="sojourn")
    with pytest.raises(PlatformDown, match="does not support SASL"):
        await anext(adapter.listen())


@pytest.mark.parametrize("words", ["#two words", "a,b", ":colon", "x\ny"])
def test_what_could_be_a_command_is_no_name(rig: IrcRig, adapter: Irc, words: str):
    with pytest.raises(BadInput):
        adapter.home(words)
