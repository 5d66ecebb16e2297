"""Parts that several networks share: files of a message, one connection, times, and buttons of cards."""

import asyncio

import httpx2
import pytest

from sojourn.core.errors import BadInput, KeyRefused, PlatformDown, SendRefused
from sojourn.core.places import Place, Sender
from sojourn.platforms.card_buttons import build_button_data, to_press
from sojourn.platforms.downloads import attach_files
from sojourn.platforms.json_values import parse_date, read_time
from sojourn.platforms.request_checks import is_recent
from sojourn.platforms.result_codes import ResultCodes
from sojourn.platforms.single_connection import SingleConnection
from sojourn.ports.platform import Button, File, Inbound

PLACE = Place(platform="net", chat="ann", kind="dm", thread="7")
FILE = File(name="a.txt", media_type="text/plain", data=b"a")


def message(text=""):
    return Inbound(id="1", place=PLACE, sender=Sender(id="ann"), text=text)


async def give(result):
    if isinstance(result, Exception):
        raise result
    return result


async def test_files_join_their_message_and_lost_ones_are_named():
    lost = SendRefused("Net says: 404.", kind="not_found")
    results = [FILE, None, lost, PlatformDown("It is away.")]
    whole = await attach_files(message("look"), (give(one) for one in results), ["a.txt", "", "b.txt"])
    assert whole is not None
    assert whole.files == (FILE,)
    assert whole.text.splitlines() == [
        "look",
        "[b.txt could not be downloaded: Net says: 404.]",
        "[A file could not be downloaded: It is away.]",
    ]


async def test_a_message_without_text_and_files_is_none():
    assert await attach_files(message(), (give(one) for one in [None])) is None


async def test_no_more_files_are_fetched_than_a_message_may_have():
    whole = await attach_files(message(), (give(FILE) for _ in range(1000)))
    assert whole is not None
    assert 20 <= len(whole.files) <= 21


class Connection:
    def __init__(self):
        self.is_open = True

    async def close(self):
        self.is_open = False


async def test_everybody_gets_the_same_connection_until_it_is_lost():
    opened = []

    async def open():
        await asyncio.sleep(0)
        opened.append(Connection())
        return opened[-1]

    line = SingleConnection(open)
    first, second = await asyncio.gather(line.get(), line.get())
    assert first is second
    first.is_open = False
    assert await line.get() is opened[1]
    await line.close()
    assert (len(opened), opened[1].is_open) == (2, False)


@pytest.mark.parametrize(
    ("value", "per_second", "wanted"),
    [
        (1_700_000_000, 1, 1_700_000_000.0),
        ("1700000000500", 1000, 1_700_000_000.5),
        ("2023-11-14T22:13:20+00:00", 1, 1_700_000_000.0),
        (True, 1, 0.0),
        (-1, 1, 0.0),
        (10**30, 1, 0.0),
        ("9" * 400, 1, 0.0),
        ("T", 1, 0.0),
        (None, 1, 0.0),
    ],
)
def test_a_time_is_read_or_it_is_zero(value, per_second, wanted):
    assert read_time({"at": value}, "at", per_second=per_second) == wanted
    assert parse_date("2023-11-14") == 0.0


def test_a_time_far_from_ours_is_not_recent():
    assert not any(is_recent(one, 60) for one in ("", "0", "-5", "1e9", "९", "9" * 400))


def read_place(chat, thread):
    if chat != "ann":
        raise BadInput("No such chat.")
    return Place(platform="net", chat=chat, kind="dm", thread=thread or None)


def test_a_button_brings_back_where_it_was_pressed():
    data = build_button_data(Button(label="Yes", value="q:0"), PLACE)
    press = to_press(data, read_place, id="5", person="ben", question="card/9")
    assert press is not None
    assert (press.place, press.pressed, press.text, press.reply_to) == (PLACE, "q:0", "Yes", "card/9")
    for wrong in ({"value": ""}, {"chat": "eve"}, {"value": 7}):
        assert to_press(data | wrong, read_place, id="5", person="ben", question="card/9") is None
    assert to_press(data, read_place, id="", person="ben", question="card/9") is None


CODES = ResultCodes(
    label="Net",
    key="SOJOURN_NET_KEY",
    code_field="code",
    message_field="message",
    kinds={"forbidden": (7,)},
    key_codes=frozenset({8}),
    good_codes=frozenset(),
)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (400, {"code": 7}, "forbidden"),
        (429, {}, "rate_limited"),
        (503, {"code": 99}, "transient"),
        (404, [], "unknown"),
    ],
)
def test_the_status_decides_and_a_known_code_says_more(status, body, kind):
    with pytest.raises(SendRefused) as refused:
        CODES.check_reply(httpx2.Response(status, json=body))
    assert refused.value.kind == kind
    assert CODES.check_reply(httpx2.Response(200, json={"id": 1})) == {"id": 1}


@pytest.mark.parametrize("reply", [httpx2.Response(401, json={}), httpx2.Response(200, json={"code": 8})])
def test_a_refused_key_is_told_apart(reply):
    with pytest.raises(KeyRefused):
        CODES.check_reply(reply, None if reply.status_code == 401 else {"code": 8})
