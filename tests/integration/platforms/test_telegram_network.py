"""Telegram on networks that block it: proxies in their order, and other addresses under the same name."""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest

from sojourn.core.errors import BadConfig, MissingPackage
from sojourn.core.settings import Secret
from sojourn.platforms.telegram import TelegramSettings
from sojourn.platforms.telegram.errors import build_request
from sojourn.platforms.telegram.network import (
    OFFICIAL_HOST,
    FallbackTransport,
    build_request_options,
    find_proxy,
    parse_address,
    resolve_addresses,
)

PROXIES = ("HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY", "NO_PROXY")


def settings(**more) -> TelegramSettings:
    return TelegramSettings(**{"token": Secret("1:x"), **more})


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch):
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


class Script(httpx.AsyncBaseTransport):
    """A network on which some hosts answer; notes who was asked, by which name."""

    def __init__(self, *reachable: str, error: type[httpx.TransportError] = httpx.ConnectError) -> None:
        self.reachable, self.error, self.asked = set(reachable), error, list[str]()

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        self.asked.append(request.url.host)
        assert request.headers["host"] == OFFICIAL_HOST
        assert request.extensions.get("sni_hostname", OFFICIAL_HOST) == OFFICIAL_HOST
        if request.url.host not in self.reachable:
            raise self.error("unreachable")
        return httpx.Response(200)


async def ask(transport: FallbackTransport) -> int:
    async with httpx.AsyncClient(transport=transport) as client:
        return (await client.post(f"https://{OFFICIAL_HOST}/bot1:x/getMe", content=b"{}")).status_code


@pytest.mark.parametrize("error", [httpx.ConnectError, httpx.ConnectTimeout])
async def test_what_worked_is_used_first_and_the_name_again_when_it_fails(error):
    network = Script("2.2.2.2", error=error)
    transport = FallbackTransport(("1.1.1.1", "2.2.2.2", "3.3.3.3"), network)
    assert await ask(transport) == 200
    assert network.asked == [OFFICIAL_HOST, "1.1.1.1", "2.2.2.2"]
    network.asked.clear()
    assert await ask(transport) == 200
    assert network.asked == ["2.2.2.2"]
    network.asked.clear()
    network.reachable = {"3.3.3.3"}
    assert await ask(transport) == 200
    assert network.asked == ["2.2.2.2", OFFICIAL_HOST, "1.1.1.1", "3.3.3.3"]
    network.asked.clear()
    network.reachable = {OFFICIAL_HOST}
    assert [await ask(transport), await ask(transport)] == [200, 200]
    assert network.asked == ["3.3.3.3", OFFICIAL_HOST, OFFICIAL_HOST]


@pytest.mark.parametrize("error", [httpx.ReadTimeout, httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError])
async def test_what_may_have_been_sent_is_not_sent_again(error):
    network = Script(error=error)
    with pytest.raises(error):
        await ask(FallbackTransport(("1.1.1.1",), network))
    assert network.asked == [OFFICIAL_HOST]


async def test_where_nothing_answers_the_first_failure_is_said_and_resolvers_are_asked_once():
    network, asked = Script(), list[int]()

    async def resolve() -> tuple[str, ...]:
        asked.append(1)
        return ("1.1.1.1",)

    transport = FallbackTransport(resolve, network)
    for _ in range(2):
        with pytest.raises(httpx.ConnectError):
            await ask(transport)
    assert (network.asked, asked) == ([OFFICIAL_HOST, "1.1.1.1"] * 2, [1])


@asynccontextmanager
async def server(folder: Path, name: str) -> AsyncIterator[tuple[int, ssl.SSLContext]]:
    """A web server on 127.0.0.1 with a certificate for this name, and a client's context that trusts it."""
    about = f"-x509 -newkey rsa:2048 -nodes -days 2 -subj /CN={name} -addext subjectAltName=DNS:{name}".split()
    files = ["-keyout", str(folder / "key.pem"), "-out", str(folder / "cert.pem")]
    subprocess.run(["openssl", "req", *about, *files], check=True, capture_output=True)
    theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    theirs.load_cert_chain(folder / "cert.pem", folder / "key.pem")

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        text = next(line for line in head.split(b"\r\n") if line.lower().startswith(b"host:"))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(text) + text)
        await writer.drain()
        writer.close()

    listener = await asyncio.start_server(answer, "127.0.0.1", 0, ssl=theirs)
    try:
        yield listener.sockets[0].getsockname()[1], ssl.create_default_context(cafile=str(folder / "cert.pem"))
    finally:
        listener.close()


async def test_a_real_connection_keeps_the_name(tmp_path):
    """127.0.0.2 refuses, 127.0.0.1 answers; the name itself leads nowhere."""
    async with server(tmp_path, "api.telegram.invalid") as (port, trust):
        inner = httpx.AsyncHTTPTransport(verify=trust)
        transport = FallbackTransport(("127.0.0.2", "127.0.0.1"), inner)
        async with httpx.AsyncClient(transport=transport) as client:
            reply = await client.get(f"https://api.telegram.invalid:{port}/")
    assert reply.text.lower() == f"host: api.telegram.invalid:{port}"


async def test_a_certificate_of_somebody_else_is_refused(tmp_path):
    async with server(tmp_path, "somebody.invalid") as (port, trust):
        transport = FallbackTransport(("127.0.0.1",), httpx.AsyncHTTPTransport(verify=trust))
        async with httpx.AsyncClient(transport=transport) as client:
            with pytest.raises(httpx.ConnectError):
                await client.get(f"https://api.telegram.invalid:{port}/")


@pytest.mark.parametrize(
    ("environment", "given", "expected"),
    [
        ({}, "", ""),
        ({"HTTPS_PROXY": "http://a:1"}, "socks5://mine:9", "socks5://mine:9"),
        ({"HTTPS_PROXY": "http://a:1", "HTTP_PROXY": "http://b:2", "ALL_PROXY": "http://c:3"}, "", "http://a:1"),
        ({"HTTP_PROXY": "http://b:2", "ALL_PROXY": "http://c:3"}, "", "http://b:2"),
        ({"ALL_PROXY": "socks5://c:3"}, "", "socks5://c:3"),
        ({"https_proxy": "a:1"}, "", "http://a:1"),
        ({"HTTPS_PROXY": "http://a:1", "NO_PROXY": "telegram.org"}, "", ""),
        ({"HTTPS_PROXY": "http://a:1", "NO_PROXY": "example.org"}, "", "http://a:1"),
    ],
)
def test_proxies_have_an_order(monkeypatch, environment, given, expected):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert find_proxy(settings(proxy=Secret(given))) == expected
    options = build_request_options(settings(proxy=Secret(given)))
    assert options.get("proxy", "") == expected
    assert ("httpx_kwargs" in options) is (not expected), "with a proxy no address is tried"


def test_a_transport_of_ours_is_only_for_the_official_server():
    for address in ("http://127.0.0.1:1", "https://bots.example.org", "http://api.telegram.org"):
        assert build_request_options(settings(base_url=address)) == {}


@pytest.mark.parametrize("proxy", ["127.0.0.1:3128", "ftp://x", "file:///etc/passwd"])
def test_what_is_no_proxy_is_refused(proxy):
    with pytest.raises(BadConfig):
        build_request_options(settings(proxy=Secret(proxy)))


ADDRESSES = ["10.0.0.1", "127.0.0.1", "169.254.1.1", "192.168.1.1", "0.0.0.0", "224.0.0.1", "255.255.255.255"]


@pytest.mark.parametrize("text", [*ADDRESSES, "100.64.0.1", "::1", "2001:67c:4e8::1", "api.telegram.org", "", "1.2.3"])
def test_an_address_has_to_be_public(text):
    assert parse_address(text) is None
    with pytest.raises(BadConfig):
        build_request_options(settings(addresses=(text,)))


def test_a_socks_proxy_without_its_package_is_said():
    with pytest.raises(MissingPackage) as missing:
        build_request(proxy="socks5://127.0.0.1:1")
    assert "httpx[socks]" in missing.value.hint


@pytest.mark.parametrize("answer", [b"junk", b"[]", b'{"Answer": 7}', b'{"Answer": [7]}', b'{"Answer": [{"type": 1}]}'])
async def test_odd_answers_of_resolvers_leave_the_known_addresses(monkeypatch, answer):
    async def reply(self, url, **options):
        return httpx.Response(200, content=answer, request=httpx.Request("GET", url))

    monkeypatch.setattr(httpx.AsyncClient, "get", reply)
    assert await resolve_addresses() == ("149.154.166.110", "149.154.167.220")


async def test_resolvers_give_public_addresses_only(monkeypatch):
    records = [{"type": 5, "data": "x."}, {"type": 1, "data": "10.0.0.1"}, {"type": 1, "data": "149.154.167.99"}]

    async def reply(self, url, **options):
        return httpx.Response(200, json={"Answer": records}, request=httpx.Request("GET", url))

    monkeypatch.setattr(httpx.AsyncClient, "get", reply)
    assert (await resolve_addresses())[0] == "149.154.167.99"
