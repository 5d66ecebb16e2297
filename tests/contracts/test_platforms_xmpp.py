"""xmpp, on a real Prosody."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

from sojourn.core.errors import BadInput, PlatformDown, SendRefused
from sojourn.core.places import Place
from sojourn.platforms.xmpp.adapter import Xmpp
from sojourn.platforms.xmpp.connection import XmppConnection
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_steps import listening
from tests.integration.gateway.network_steps import hand_over_and_go_on
from tests.servers.prosody import PASSWORD, Ports, XmppHarness, prosody

ROOM_USER = "http://jabber.org/protocol/muc#user"
DEEP = "<a xmlns='urn:x'>" * 400 + "</a>" * 400
HOSTILE = (  # what anybody may send to us; none of it is a message of theirs
    "<body/>",
    "<body xmlns='urn:other'>text</body>",
    "<subject>only a subject</subject>",
    "<x xmlns='jabber:x:oob'><url>http://127.0.0.1:1/secret</url></x>",
    "<body>changed</body><replace xmlns='urn:xmpp:message-correct:0' id='x'/>",
    "<body>secret</body><encrypted xmlns='eu.siacs.conversations.axolotl'/>",
    "<result xmlns='urn:xmpp:mam:2' queryid='1' id='1'><forwarded xmlns='urn:xmpp:forward:0'/></result>",
    "<result xmlns='urn:xmpp:mam:2'/>",
    "<received xmlns='urn:xmpp:carbons:2'><forwarded xmlns='urn:xmpp:forward:0'><message xmlns='jabber:client'"
    " type='chat' from='ben@localhost'><body>forged</body></message></forwarded></received>",
    "<sent xmlns='urn:xmpp:carbons:2'><forwarded xmlns='urn:xmpp:forward:0'/></sent>",
    "<composing xmlns='http://jabber.org/protocol/chatstates'/>",
    "<received xmlns='urn:xmpp:receipts' id='x'/>",
    "<reactions xmlns='urn:xmpp:reactions:0' id='x'><reaction>x</reaction></reactions>",
    "<reactions xmlns='urn:xmpp:reactions:0'/>",
    f"<x xmlns='{ROOM_USER}'><invite from='ben@localhost'/></x>",
    f"<x xmlns='{ROOM_USER}'><decline/></x>",
    f"<x xmlns='{ROOM_USER}'><item jid='not an address@@'/></x>",
    f"<x xmlns='{ROOM_USER}'><status code='110'/></x>",
    "<x xmlns='jabber:x:conference' jid='@@@'/>",
    "<x xmlns='jabber:x:conference'/>",
    "<x xmlns='jabber:x:data' type='form'><field/></x>",
    "<event xmlns='http://jabber.org/protocol/pubsub#event'><items/></event>",
    "<delay xmlns='urn:xmpp:delay' stamp='never'/>",
    "<stanza-id xmlns='urn:xmpp:sid:0' id='forged' by='localhost'/>",
    "<attention xmlns='urn:xmpp:attention:0'/>",
    "<gone xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/>",
    "<error type='cancel'><item-not-found xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/></error>",
    DEEP,
    "<y xmlns='urn:y'>" + "z" * 100_000 + "</y>",
    "<html xmlns='http://jabber.org/protocol/xhtml-im'><body xmlns='http://www.w3.org/1999/xhtml'>hi</body></html>",
)


@pytest.fixture(scope="module")
def ports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ports]:
    with prosody(tmp_path_factory.mktemp("prosody")) as ports:
        yield ports


@pytest.fixture
async def harness(ports: Ports) -> AsyncIterator[XmppHarness]:
    async with XmppHarness(ports, "dm") as harness:
        yield harness


@pytest.fixture
def adapter(harness: XmppHarness) -> Xmpp:
    return harness.connect()


class TestXmpp(PlatformContract):
    pass


async def test_a_session_goes_on_where_it_was_handed_over_to(harness: XmppHarness, home, store):
    await hand_over_and_go_on(harness, home, store)


class TestXmppRoom(PlatformContract):
    @pytest.fixture
    async def harness(self, ports: Ports) -> AsyncIterator[XmppHarness]:
        async with XmppHarness(ports, "group") as harness:
            yield harness


def dm(harness: XmppHarness) -> Place:
    return Place(platform="xmpp", chat=harness.ann.jid)


def room(harness: XmppHarness) -> Place:
    return Place(platform="xmpp", chat=harness.room, kind="group")


@pytest.mark.parametrize("kind", ["chat", "normal", "headline", "error"])
async def test_what_is_no_message_changes_nothing(harness: XmppHarness, adapter: Xmpp, kind: str, caplog):
    caplog.set_level(logging.DEBUG)
    async with listening(harness, adapter) as ear:
        for content in HOSTILE:
            harness.ben.say(f"<message type='{kind}' to='{harness.us}'>{content}</message>")
            harness.ben.say(f"<presence to='{harness.us}' type='subscribed'>{content}</presence>")
            harness.ben.say(
                f"<iq type='set' id='h' to='{harness.us}/sojourn'><query xmlns='urn:z'>{content}</query></iq>"
            )
        await harness.write(dm(harness), "still there?", harness.people[0])
        assert (await ear.hear()).text == "still there?"
        await ear.hears_nothing()
    assert PASSWORD not in caplog.text


async def test_what_came_in_many_pages_while_we_were_away_is_heard_whole(harness: XmppHarness, adapter: Xmpp):
    async with listening(harness, adapter):
        pass
    await adapter.close()
    for n in range(120):
        harness.ann.say(f"<message type='chat' to='{harness.us}' id='m{n}'><body>number {n}</body></message>")
    await harness.write(room(harness), "in the room", harness.people[1])
    async with listening(harness, harness.connect()) as ear:
        heard = [(await ear.hear()).text for _ in range(121)]
        await ear.hears_nothing()
    assert sorted(heard) == sorted([f"number {n}" for n in range(120)] + ["in the room"])
    private = [text for text in heard if text != "in the room"]
    assert private == [f"number {n}" for n in range(120)]


async def test_where_the_archive_no_longer_has_our_position_it_is_asked_by_time(harness: XmppHarness, adapter: Xmpp):
    async with listening(harness, adapter):
        pass
    await adapter.close()
    await harness.move_position("an-id-that-is-gone", time.time() - 60)
    await harness.write(dm(harness), "while you were away", harness.people[0])
    async with listening(harness, harness.connect()) as ear:
        assert (await ear.hear()).text == "while you were away"
        await ear.hears_nothing()


async def test_nobody_is_heard_in_a_room_that_hides_addresses(harness: XmppHarness, adapter: Xmpp, caplog):
    await harness.configure(whois="moderators")
    async with listening(harness, adapter) as ear:
        await harness.write(room(harness), "who am I?", harness.people[1])
        await ear.hears_nothing()
    assert "hides who writes there" in caplog.text


async def test_in_a_room_nobody_can_pretend_to_be_somebody_else(harness: XmppHarness, adapter: Xmpp):
    ann, ben = harness.people
    forged = f"<body>sojourn: I am ann</body><x xmlns='{ROOM_USER}'><item jid='{ann.id}'/></x>"
    async with listening(harness, adapter) as ear:
        await harness.post(room(harness), forged, harness.ben)
        assert (await ear.hear()).sender.id == ben.id
        await ear.hears_nothing()
    await adapter.close()
    await harness.post(room(harness), forged, harness.ben)
    async with listening(harness, harness.connect()) as ear:
        await ear.hears_nothing()  # the archive names two authors


async def test_a_room_says_whether_we_are_named(harness: XmppHarness, adapter: Xmpp):
    async with listening(harness, adapter) as ear:
        for text in ("nice weather", "I like sojourns", "ask Sojourn then"):
            await harness.post(room(harness), f"<body>{text}</body>", harness.ann)
        assert [(await ear.hear()).mentioned for _ in range(3)] == [False, False, True]


async def test_a_reply_names_its_message_and_comes_without_the_quote(harness: XmppHarness, adapter: Xmpp):
    async with listening(harness, adapter) as ear:
        sent = await adapter.send(dm(harness), "which one?")
        origin = sent.id.partition("/")[2]
        fallback = "<fallback xmlns='urn:xmpp:fallback:0' for='urn:xmpp:reply:0'><body start='0' end='13'/></fallback>"
        reply = f"<reply xmlns='urn:xmpp:reply:0' to='{harness.us}' id='{origin}'/>"
        await harness.post(dm(harness), f"<body>&gt; which one?\nthe second</body>{reply}{fallback}", harness.ann)
        heard = await ear.hear()
    assert (heard.text, heard.reply_to) == ("the second", sent.id)


async def test_characters_that_xml_cannot_carry_do_not_break_the_line(harness: XmppHarness, adapter: Xmpp):
    await adapter.send(dm(harness), "a\x00b\x1b[31m\ufffe <c> & ]]>", plain=True)
    await adapter.send(dm(harness), "and on")
    texts = [one.text for one in await harness.read_messages(dm(harness))]
    assert texts == ["a\ufffdb\ufffd[31m\ufffd <c> & ]]>", "and on"]


async def test_markdown_is_shown_in_the_marks_of_the_network(harness: XmppHarness, adapter: Xmpp):
    await adapter.send(dm(harness), "**bold** and *leaning* and [a page](https://example.org)")
    [shown] = await harness.read_messages(dm(harness))
    assert shown.text == "*bold* and _leaning_ and a page (https://example.org)"


async def test_a_file_from_elsewhere_is_not_fetched(harness: XmppHarness):
    adapter = harness.connect(file_hosts=())
    link = "http://127.0.0.1:1/secret"
    async with listening(harness, adapter) as ear:
        content = f"<body>{link}</body><x xmlns='jabber:x:oob'><url>{link}</url></x>"
        await harness.post(dm(harness), content, harness.ann)
        heard = await ear.hear()
    assert (heard.text, heard.files) == (link, ())


async def test_a_file_that_is_gone_is_said(harness: XmppHarness, adapter: Xmpp):
    link = f"http://127.0.0.1:{harness.ports.http}/file_share/gone/dot.png"
    async with listening(harness, adapter) as ear:
        content = f"<body>{link}</body><x xmlns='jabber:x:oob'><url>{link}</url></x>"
        await harness.post(dm(harness), content, harness.ann)
        heard = await ear.hear()
    assert "could not be downloaded" in heard.text


@pytest.mark.parametrize(
    "link", ["http://127.0.0.1:port/a", "http://127.0.0.1/" + "a" * 70_000, "http://127.0.0.1/\x7f"]
)
async def test_a_link_that_is_no_address_stops_nothing(harness: XmppHarness, adapter: Xmpp, link: str):
    """The archive would tell it again and again."""
    async with listening(harness, adapter) as ear:
        content = f"<body>{link}</body><x xmlns='jabber:x:oob'><url>{link}</url></x>"
        await harness.post(dm(harness), content, harness.ann)
        assert "could not be downloaded: The file has no readable address" in (await ear.hear()).text
        await harness.write(dm(harness), "still there?", harness.people[0])
        assert (await ear.hear()).text == "still there?"


async def test_a_room_that_keeps_its_archive_to_itself_stops_nothing(harness: XmppHarness, adapter: Xmpp, monkeypatch):
    """A room may be on anybody's server."""
    async with listening(harness, adapter):
        pass
    await adapter.close()
    query = XmppConnection.query_archive

    async def refuse(self: XmppConnection, archive: str, **how: Any) -> Any:
        if archive == room(harness).chat:
            raise SendRefused("The server says: internal-server-error.", kind="transient")
        return await query(self, archive, **how)

    monkeypatch.setattr(XmppConnection, "query_archive", refuse)
    await harness.write(dm(harness), "while you were away", harness.people[0])
    async with listening(harness, harness.connect()) as ear:
        assert (await ear.hear()).text == "while you were away"
        await harness.write(room(harness), "in the room", harness.people[1])
        assert (await ear.hear()).text == "in the room"


async def test_typing_is_seen(harness: XmppHarness, adapter: Xmpp):
    await adapter.typing(dm(harness))
    await harness.ann.until(lambda one: any(child.tag.endswith("composing") for child in one))


async def test_a_taken_nick_gets_a_tail(harness: XmppHarness, adapter: Xmpp):
    harness.ben.say(f"<presence to='{harness.room}/sojourn'><x xmlns='http://jabber.org/protocol/muc'/></presence>")
    await harness.ann.until(lambda one: one.get("from") == f"{harness.room}/sojourn")
    await adapter.send(room(harness), "it is me")
    archive = await harness.ann.read_archive(harness.room)
    assert archive[-1][1].get("from") == f"{harness.room}/sojourn_"


async def test_no_password_is_sent_in_the_clear(harness: XmppHarness):
    """The server offers no encryption that we trust: with `tls`, nothing but the start of a stream is said."""
    said = list[bytes]()
    harness.line.overhear = said.append
    adapter = harness.connect(tls=True)
    with pytest.raises(PlatformDown):
        await adapter.send(dm(harness), "hello")
    assert b"<auth" not in b"".join(said)


async def test_an_untrusted_certificate_is_refused(harness: XmppHarness):
    adapter = harness.connect(tls=True, port=harness.ports.tls)
    with pytest.raises(PlatformDown):
        await adapter.send(dm(harness), "hello")


async def test_a_room_that_let_us_go_is_entered_again(harness: XmppHarness, adapter: Xmpp):
    await adapter.send(room(harness), "first")
    kick = "<query xmlns='http://jabber.org/protocol/muc#admin'><item nick='sojourn' role='none'/></query>"
    await harness.ann.ask("set", kick, harness.room)
    await asyncio.sleep(0.1)
    await adapter.send(room(harness), "second")
    texts = [one.text for one in await harness.read_messages(room(harness))]
    assert texts == ["first", "second"]


async def test_a_room_for_members_is_forbidden(harness: XmppHarness, adapter: Xmpp):
    await harness.configure(membersonly="1")
    with pytest.raises(SendRefused) as refused:
        await adapter.send(room(harness), "let me in")
    assert refused.value.kind == "forbidden"


@pytest.mark.parametrize("words", ["localhost", "a b@c", "@c", "ann@example.org/phone", "a..b@c", "x\ny@z"])
def test_what_is_no_address_is_refused(harness: XmppHarness, adapter: Xmpp, words: str):
    with pytest.raises(BadInput):
        adapter.home(words)


@pytest.mark.parametrize("is_direct", [True, False])
async def test_an_invitation_is_followed_if_wanted_and_the_room_is_kept(harness: XmppHarness, is_direct: bool):
    async def invite(to: str) -> None:
        await harness.ben.enter(to)
        if is_direct:
            content, target = f"<x xmlns='jabber:x:conference' jid='{to}'/>", harness.us
        else:
            content, target = f"<x xmlns='{ROOM_USER}'><invite to='{harness.us}'/></x>", to
        harness.ben.say(f"<message to='{target}'>{content}</message>")

    wanted = f"wanted-{harness.room}"
    harness.archives = 1  # our account's
    async with listening(harness, harness.connect(rooms=(), join=True)) as ear:
        await invite(wanted)
        await harness.ben.until(lambda one: one.get("from") == f"{wanted}/sojourn")
        await harness.until_positions(2)
        harness.ben.say(f"<message type='groupchat' to='{wanted}' id='w'><body>sojourn: welcome</body></message>")
        heard = await ear.hear()
        assert (heard.text, heard.place.chat, heard.place.kind) == ("welcome", wanted, "group")
    for made in harness.made:
        await made.close()
    again = harness.connect(rooms=())
    await again.send(dm(harness), "back again")
    assert again.home(wanted).kind == "group"


async def test_an_invitation_is_not_followed_otherwise(harness: XmppHarness, adapter: Xmpp):
    other = f"other-{harness.room}"
    async with listening(harness, adapter) as ear:
        await harness.ben.enter(other)
        harness.ben.say(f"<message to='{harness.us}'><x xmlns='jabber:x:conference' jid='{other}'/></message>")
        await ear.hears_nothing()
    assert not [one for one in harness.ben.stanzas if one.get("from") == f"{other}/sojourn"]
