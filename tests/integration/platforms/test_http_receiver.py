"""The HTTP receiver: several items in a request, time limits, repetitions, one port for several networks."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import httpx2
import pytest

from sojourn.core.errors import PlatformDown
from sojourn.platforms.http_receiver import Delivery, HttpReceiver, IncomingRequest, RequestAnswer
from sojourn.platforms.request_checks import RequestRefused, parse_request_json
from sojourn.platforms.webhook import WebhookSettings
from sojourn.ports.store import RecordStore
from sojourn.testing.hermes_process import free_port
from sojourn.testing.platform_harness import InboundListener
from tests.servers.store import temporary_store

SECRET = "never-in-a-log"


async def read_request(request: IncomingRequest) -> RequestAnswer | Delivery[str]:
    if request.method == "GET":
        return RequestAnswer(body=request.query.get("challenge", "").encode(), media_type="text/plain")
    if request.headers.get("x-secret") != SECRET:
        raise RequestRefused("it does not know the secret")
    items = parse_request_json(request.body)["items"]
    return Delivery(items=tuple((one, one) for one in items), repeated_answer=RequestAnswer(status=208))


class Desk:
    """A receiver, and a program that posts to it."""

    def __init__(self, store: RecordStore, name: str = "parcels", port: int = 0, **options: Any) -> None:
        self.port = port or free_port()
        options = {"timeout_seconds": 5.0} | options
        address = WebhookSettings(host="127.0.0.1", port=self.port)
        self.receiver = HttpReceiver(store, name, address, read_request, **options)
        self.http = httpx2.AsyncClient(base_url=f"http://127.0.0.1:{self.port}/{name}", verify=False, timeout=10)

    async def post(self, *items: str, secret: str = SECRET) -> httpx2.Response:
        return await self.http.post("", json={"items": list(items)}, headers={"X-Secret": secret})


MakeDesk = Callable[..., Desk]


@pytest.fixture
async def desks() -> AsyncIterator[MakeDesk]:
    store, made = temporary_store(), []

    def make(*args: Any, **options: Any) -> Desk:
        made.append(Desk(store, *args, **options))
        return made[-1]

    yield make
    for desk in made:
        await desk.http.aclose()
    await store.close()


@pytest.fixture
def desk(desks: MakeDesk) -> Desk:
    return desks()


@asynccontextmanager
async def taking(desk: Desk) -> AsyncIterator[Any]:
    """Listens; asking for the next item stores the last one."""
    taker = InboundListener(SimpleNamespace(listen=desk.receiver.receive))
    taker.open()
    while True:
        try:
            if (await desk.http.get("?challenge=x")).status_code == 200:
                break
        except httpx2.TransportError:
            await asyncio.sleep(0.01)
    try:
        yield taker
    finally:
        await taker.close()


async def test_several_items_are_answered_when_the_last_is_stored(desk: Desk):
    async with taking(desk) as taker:
        posted = asyncio.create_task(desk.post("a", "b"))
        assert [await taker.hear(), await taker.hear()] == ["a", "b"]
        assert not posted.done()
        taker.open()
        assert (await posted).status_code == 200
        assert (await desk.post("a", "b")).status_code == 208


async def test_what_is_not_stored_in_time_is_to_be_sent_again(desks: MakeDesk):
    desk = desks(timeout_seconds=0.1)
    async with taking(desk) as taker:
        late = await desk.post("a", "b")
        assert (late.status_code, late.headers["retry-after"]) == (503, "5")
        again = asyncio.create_task(post_until_stored(desk, "a", "b"))
        heard = ["", ""]
        while heard[-1] != "b":
            heard.append(await taker.hear())
        taker.open()
        await again
        assert set(heard[2:-1]) == {"a"}  # the gateway knows what comes twice by its id
        assert (await desk.post("a", "b")).status_code == 208


async def post_until_stored(desk: Desk, *items: str) -> None:
    while (await desk.post(*items)).status_code == 503:
        pass


async def test_a_stored_item_is_a_repetition_after_a_restart(desks: MakeDesk):
    for status in (200, 208):
        desk = desks()
        async with taking(desk) as taker:
            posted = asyncio.create_task(desk.post("a"))
            if status == 200:
                await taker.hear()
                taker.open()
            assert (await posted).status_code == status


async def test_two_networks_share_a_port_and_their_ids_do_not_meet(desks: MakeDesk):
    first = desks("parcels")
    second = desks("letters", first.port)
    async with taking(second) as other:
        async with taking(first) as taker:
            for desk, one in ((first, taker), (second, other)):
                posted = asyncio.create_task(desk.post("same"))
                assert await one.hear() == "same"
                one.open()
                assert (await posted).status_code == 200
        assert (await first.post("more")).status_code == 401  # it left, and the other stays
        assert (await second.post("same")).status_code == 208
    with pytest.raises(httpx2.TransportError):
        await second.post("same")


async def test_a_path_is_served_once(desks: MakeDesk):
    desk = desks()
    async with desk.receiver.serve():
        with pytest.raises(PlatformDown, match="served already"):
            await anext(desks("parcels", desk.port).receiver.receive())


async def test_a_handshake_brings_nothing(desk: Desk):
    async with desk.receiver.serve():
        reply = await desk.http.get("?challenge=42")
    assert (reply.text, reply.headers["content-type"]) == ("42", "text/plain; charset=utf-8")


async def test_a_refusal_is_logged_without_what_was_sent(desk: Desk, caplog: pytest.LogCaptureFixture):
    with caplog.at_level(logging.DEBUG):
        async with desk.receiver.serve():
            assert (await desk.post("hidden-words", secret="guessed-secret")).status_code == 401
            assert (await desk.http.post("/below", content=b"x")).status_code == 401
    assert "parcels: a request was refused: it does not know the secret." in caplog.text
    assert not [word for word in (SECRET, "guessed-secret", "hidden-words") if word in caplog.text]


async def test_a_body_without_a_length_is_cut_at_the_limit(desks: MakeDesk):
    async def endless() -> AsyncIterator[bytes]:
        for _ in range(200):
            yield b"x" * 10_000

    desk = desks(max_body_bytes=50_000)
    async with desk.receiver.serve():
        try:
            status = (await desk.http.post("", content=endless())).status_code
        except httpx2.TransportError:
            status = 413  # it was closed while we were still sending
        assert status == 413
        assert (await desk.http.post("", content=b"x" * 50_001)).status_code == 413


@pytest.mark.parametrize(
    "body", [b"", b"[]", b"7", b"{", b'{"a": NaN}', b"\xff\xfe", b'{"a":' + b"[" * 40 + b"]" * 40 + b"}", b"[" * 90_000]
)
def test_other_json_is_refused(body: bytes):
    with pytest.raises(RequestRefused) as refused:
        parse_request_json(body)
    assert refused.value.status == 400


def test_half_a_character_is_replaced():
    assert parse_request_json(rb'{"a": ["\ud83d", "\ud83d\ude00", "\u00e9"]}') == {"a": ["�", "😀", "é"]}
