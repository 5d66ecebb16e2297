"""signal, on a server with the daemon's protocol, and on the true daemon as far as it goes without an account."""

import json
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx2
import pytest

from sojourn.core.errors import BadConfig, BadInput, KeyRefused, PlatformDown, SendRefused
from sojourn.core.places import Place
from sojourn.platforms.signal import SignalSettings
from sojourn.platforms.signal.adapter import Signal
from sojourn.ports.platform import File
from sojourn.testing.platform_contract import PlatformContract
from sojourn.testing.platform_harness import InboundListener
from sojourn.testing.platform_steps import listening
from tests.servers.adapter_context import AdapterKit
from tests.servers.signal_daemon import (
    ANN,
    BEN,
    GROUP,
    NUMBER,
    OWN,
    RpcFault,
    SignalHarness,
    signal_cli,
    signal_harness,
)

DM = Place(platform="signal", chat=ANN)
IN_GROUP = {"groupId": GROUP, "groupName": "garden", "type": "DELIVER"}
TEXT = {"timestamp": 5, "message": "forged"}
HOSTILE_DATA: tuple[Any, ...] = (  # what anybody may send; none of it is a message of theirs
    None,
    [],
    "text",
    7,
    {},
    {"message": "no time"},
    {"timestamp": 0, "message": "x"},
    {"timestamp": -1, "message": "x"},
    {"timestamp": True, "message": "x"},
    {"timestamp": "5", "message": "x"},
    {"timestamp": 5.5, "message": "x"},
    {"timestamp": 2**80, "message": "x"},
    {"timestamp": 5, "message": None},
    {"timestamp": 5, "message": ""},
    {"timestamp": 5, "message": ["x"]},
    {"timestamp": 5, "message": {"a": 1}},
    {"timestamp": 5, "message": "\ufffc"},
    TEXT | {"reaction": {"emoji": "x", "targetAuthorUuid": ANN, "targetSentTimestamp": 1}},
    TEXT | {"remoteDelete": {"timestamp": 1}},
    TEXT | {"isExpirationUpdate": True},
    TEXT | {"groupInfo": {"groupId": GROUP, "type": "UPDATE"}},
    TEXT | {"groupInfo": {"groupId": "../../etc", "type": "DELIVER"}},
    TEXT | {"groupInfo": {"groupId": None, "type": "DELIVER"}},
    TEXT | {"groupInfo": {"groupId": 7}},
    TEXT | {"groupInfo": {"groupId": "A" * 5000}},
    {"timestamp": 5, "message": None, "attachments": "file"},
    {"timestamp": 5, "message": None, "attachments": [None, 7, {}, {"id": None}, {"id": 7}]},
)
HOSTILE_SOURCES: tuple[Any, ...] = (None, "", "ann", 7, [], "../x", "+", "+0", "+4" * 40, "x" * 100_000)
HOSTILE_LINES = ("", "junk", "{", "[" * 100_000, '"text"', "null", "7", '{"envelope": 7}', '{"exception": {}}', "\0")


@pytest.fixture(scope="module")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with signal_cli(tmp_path_factory.mktemp("signal")) as url:
        yield url


@pytest.fixture
async def harness() -> AsyncIterator[SignalHarness]:
    async with signal_harness() as harness:
        yield harness


@pytest.fixture
def adapter(harness: SignalHarness) -> Signal:
    return harness.connect()


class TestSignal(PlatformContract):
    pass


async def test_what_is_no_message_changes_nothing(harness: SignalHarness, adapter: Signal):
    async with listening(harness, adapter) as ear:
        for data in HOSTILE_DATA:
            document = harness.envelope({})
            document["envelope"]["dataMessage"] = data
            await harness.server.tell(document)
            document["envelope"] |= {"dataMessage": None, "syncMessage": {"sentMessage": data}}
            await harness.server.tell(document)
        for source in HOSTILE_SOURCES:
            await harness.server.tell(harness.envelope(TEXT, sourceUuid=source, sourceNumber=source))
        for line in HOSTILE_LINES:
            await harness.server.tell(None, raw=line)
        edit = harness.envelope({})
        edit["envelope"] |= {"dataMessage": None, "editMessage": {"targetSentTimestamp": 1, "dataMessage": TEXT}}
        await harness.server.tell(edit)
        await harness.write(DM, "still there?", harness.people[0])
        assert (await ear.hear()).text == "still there?"
        await ear.hears_nothing()


@pytest.mark.parametrize("mentions", [7, [None], [{"start": -1}], [{"start": 10**9}], [{"start": "0", "uuid": 7}]])
async def test_mentions_that_make_no_sense_are_left_out(harness: SignalHarness, adapter: Signal, mentions: Any):
    async with listening(harness, adapter) as ear:
        data = harness.data("\ufffc hello", mentions=mentions, quote={"id": "x", "authorUuid": 7})
        await harness.server.tell(harness.envelope(data))
        heard = await ear.hear()
    assert (heard.text.endswith("hello"), heard.reply_to) == (True, "")


async def test_a_mention_is_read_by_its_place_in_utf16(harness: SignalHarness, adapter: Signal):
    ben = {"name": "Ben", "number": None, "uuid": BEN, "start": 3, "length": 1}
    us = {"name": "x", "number": None, "uuid": OWN, "start": 5, "length": 1}
    async with listening(harness, adapter) as ear:
        for mentions in ([ben], [ben, us]):
            data = harness.data("\U0001f331 \ufffc \ufffc water it", mentions=mentions, groupInfo=IN_GROUP)
            await harness.server.tell(harness.envelope(data))
        first, second = await ear.hear(), await ear.hear()
    assert (first.mentioned, second.mentioned) == (False, True)
    assert second.text == "\U0001f331 @Ben  water it"


async def test_a_reply_to_us_speaks_to_us(harness: SignalHarness, adapter: Signal):
    sent = await adapter.send(adapter.home(GROUP), "who comes?")
    quote = {"id": int(sent.id.partition("/")[2]), "authorUuid": OWN, "text": "who comes?"}
    async with listening(harness, adapter) as ear:
        await harness.server.tell(harness.envelope(harness.data("I do", quote=quote, groupInfo=IN_GROUP)))
        heard = await ear.hear()
    assert (heard.mentioned, heard.reply_to) == (True, sent.id)


async def test_of_a_persons_own_account_only_notes_to_self_are_read(harness: SignalHarness):
    adapter = harness.connect(linked=True)
    assert adapter.info.owner == NUMBER

    def own(text: str, to: str, **more: Any) -> Any:
        document = harness.envelope({}, OWN, sourceNumber=NUMBER)
        sent = harness.data(text, destinationUuid=to, destination=to, **more)
        document["envelope"] |= {"dataMessage": None, "syncMessage": {"sentMessage": sent}}
        return document

    async with listening(harness, adapter) as ear:
        await harness.write(DM, "for the person, not for us", harness.people[0])
        await harness.server.tell(own("to ann", ANN))
        await harness.server.tell(own("to a group", "", groupInfo=IN_GROUP))
        await harness.server.tell(own("to myself", OWN))
        heard = await ear.hear()
        await ear.hears_nothing()
    assert (heard.text, heard.sender.id, heard.place.chat) == ("to myself", NUMBER, NUMBER)
    await adapter.send(heard.place, "noted")
    assert harness.server.calls[-1]["params"]["recipient"] == [NUMBER]


async def test_an_account_of_ours_does_not_hear_its_other_devices(harness: SignalHarness, adapter: Signal):
    document = harness.envelope({}, OWN, sourceNumber=NUMBER)
    sent = harness.data("from our phone", destinationUuid=ANN)
    document["envelope"] |= {"dataMessage": None, "syncMessage": {"sentMessage": sent}}
    async with listening(harness, adapter) as ear:
        await harness.server.tell(document)
        await ear.hears_nothing()


async def test_markdown_becomes_ranges(harness: SignalHarness, adapter: Signal):
    await adapter.send(DM, "\U0001f331 **bold** and *leaning*, `code`")
    params = harness.server.calls[-1]["params"]
    assert params["message"] == "\U0001f331 bold and leaning, code"
    assert params["textStyle"] == ["3:4:BOLD", "12:7:ITALIC", "21:4:MONOSPACE"]


async def test_a_file_that_is_gone_is_said_and_one_to_be_seen_once_is_not_kept(harness: SignalHarness, adapter: Signal):
    gone = [{"id": "gone", "filename": "dot.png", "contentType": "image/png", "size": 5}]
    async with listening(harness, adapter) as ear:
        await harness.server.tell(harness.envelope(harness.data("look", attachments=gone)))
        large = [{"id": "large", "filename": "film.mp4", "size": 10**12}]
        await harness.server.tell(harness.envelope(harness.data("look", attachments=large)))
        await harness.server.tell(harness.envelope(harness.data("look", attachments=gone, viewOnce=True)))
        heard = [await ear.hear() for _ in range(3)]
    assert heard[0].text.startswith("look\n[dot.png could not be downloaded")
    assert heard[1].text.startswith("look\n[film.mp4 could not be downloaded")
    assert heard[2].text == "look"


async def test_the_name_of_a_file_cannot_change_its_address(harness: SignalHarness, adapter: Signal):
    await adapter.send_file(DM, File(name="a;base64,x/../b.txt", media_type="text/plain", data=b"hi"))
    [uri] = harness.server.calls[-1]["params"]["attachments"]
    assert uri == "data:text/plain;filename=a%3Bbase64%2Cx%2F..%2Fb.txt;base64,aGk="


LIMITED = {"response": {"results": [{"type": "RATE_LIMIT_FAILURE", "token": "t", "retryAfterSeconds": 9}]}}


@pytest.mark.parametrize(
    ("fault", "kind", "wait"),
    [
        (RpcFault(-1, "Failed to send: AttachmentInvalidException: Retry after 42 seconds"), "rate_limited", 42),
        (RpcFault(-1, "Group not found"), "not_found", None),
        (RpcFault(-1, "The user +491 is not registered."), "not_found", None),
        (RpcFault(-1, "User is not allowed to send message to group"), "forbidden", None),
        (RpcFault(-4, "Untrusted identity"), "forbidden", None),
        (RpcFault(-5, "Rate limit"), "rate_limited", None),
        (RpcFault(-5, "Rate limit", LIMITED), "rate_limited", 9),
        (RpcFault(-5, "Rate limit", "odd"), "rate_limited", None),
        (RpcFault(-6, "Captcha"), "forbidden", None),
        (RpcFault(-32603, "Internal"), "transient", None),
        (RpcFault(-32602, "Bad params"), "bad_format", None),
        ({"type": "NETWORK_FAILURE"}, "transient", None),
        ({"type": "IDENTITY_FAILURE"}, "forbidden", None),
        ({"type": "SOMETHING_NEW"}, "unknown", None),
    ],
)
async def test_each_refusal_has_its_kind(harness: SignalHarness, adapter: Signal, fault: Any, kind: str, wait: Any):
    harness.server.faults.append(fault)
    with pytest.raises(SendRefused) as refused:
        await adapter.send(DM, "hello")
    assert (refused.value.kind, refused.value.retry_after) == (kind, wait)


async def test_a_daemon_that_cannot_reach_signal_is_an_outage(harness: SignalHarness, adapter: Signal):
    harness.server.faults.append(RpcFault(-3, "Connection refused"))
    with pytest.raises(PlatformDown):
        await adapter.send(DM, "hello")


@pytest.mark.parametrize("words", ["ann", "+", "../x", "a b", GROUP[:-1], "+0123456"])
def test_what_is_no_chat_is_refused(adapter: Signal, words: str):
    with pytest.raises(BadInput):
        adapter.home(words)


def test_what_is_no_account_is_refused(harness: SignalHarness):
    with pytest.raises(BadConfig):
        harness.connect(account="sojourn")


class TestTrueDaemon:
    """What the rig claims about the daemon, on the daemon itself."""

    async def test_refuses_an_unknown_account_as_the_rig_does(self, url: str):
        kit = AdapterKit(SignalSettings(account=NUMBER, url=url))
        adapter = Signal(kit)
        ear = InboundListener(adapter)
        with pytest.raises(KeyRefused):
            await ear.hear()
        with pytest.raises(KeyRefused):
            await adapter.send(DM, "hello")
        with pytest.raises(KeyRefused):
            await anext(adapter._daemon.events())
        await ear.close()
        await adapter.close()
        await kit.close()

    async def test_answers_odd_requests_as_the_rig_does(self, url: str, harness: SignalHarness):
        harness.server.accounts.clear()
        kind = {"Content-Type": "application/json"}
        calls: list[Any] = [
            {"jsonrpc": "2.0", "id": "1", "method": "version"},
            {"jsonrpc": "2.0", "id": "1", "method": "listAccounts"},
            {"jsonrpc": "2.0", "id": "1", "method": "nonsense"},
            {"jsonrpc": "2.0", "method": "version"},
        ]
        for method in ("send", "sendReaction", "sendTyping", "getAttachment", "getUserStatus"):
            calls.append({"jsonrpc": "2.0", "id": "1", "method": method, "params": {"account": NUMBER}})
        async with httpx2.AsyncClient() as http:
            for call in calls:
                answers = [
                    await http.post(f"{one}/api/v1/rpc", content=json.dumps(call), headers=kind)
                    for one in (url, harness.server.url)
                ]
                assert answers[0].status_code == answers[1].status_code, call
                assert answers[0].content == b"" or answers[0].json() == answers[1].json(), call
            for method, path, headers in (
                ("POST", "/api/v1/rpc", {"Content-Type": "text/plain"}),
                ("GET", "/api/v1/rpc", {}),
                ("GET", "/api/v1/check", {}),
                ("GET", f"/api/v1/events?account=%2B{NUMBER[1:]}", {}),
            ):
                statuses = {
                    (await http.request(method, one + path, headers=headers)).status_code
                    for one in (url, harness.server.url)
                }
                assert len(statuses) == 1, (method, path, statuses)
